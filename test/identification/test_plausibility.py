# SPDX-License-Identifier: Apache-2.0
"""Recordings of loaded, mixed or other arms are named and not saved; those of unloaded arms pass.

Thresholds were chosen on simulated arms of seeds 0 to 5 and on hand-guided recordings 1 and 2; those below are others.
"""

from dataclasses import replace

import numpy as np
import pytest
from conftest import public_log, some
from motion import PAYLOAD, lifting
from simulated_arm import PLAIN, other_arm, record

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.identification.problems import ImplausibleRecordingWarning
from panda_dynamics_ros.identification.regression import PriorScale

QUICK = PriorScale()  # given, and not chosen by cross-validation, which takes most of the time


def simulated(
    robot: pdr.RobotModel, seed: int, payload: pdr.InertialParameters | None = None, pick_at: float | None = None
) -> pdr.JointDataset:
    """18 s of the simulated arm, with the payload all the time or from `pick_at` s on."""
    pytest.importorskip("mujoco", reason="the simulated Panda needs mujoco")
    from panda_dynamics_ros.simulation import SimulatedPanda

    plant = SimulatedPanda(robot, seed=seed)
    if payload is None or pick_at is None:
        if payload is not None:
            plant.attach(payload)
        run = plant.record(18.0)
    else:
        run, _ = lifting(plant, payload, pick_at, 18.0 - pick_at)
    return run


def test_an_unloaded_arm_passes(panda):
    assert pdr.identify(simulated(panda, 11), panda).problems == ()


def test_a_loaded_arm_is_named_and_saved_by_force_only(panda, tmp_path):
    load = pdr.InertialParameters(0.5, PAYLOAD.com, 0.5 * PAYLOAD.inertia)
    with pytest.warns(
        ImplausibleRecordingWarning, match=r"carries about .* record it unloaded, or name what is mounted"
    ):
        fit = pdr.identify(simulated(panda, 15, load), panda, prior_scale=QUICK)
    told = float(fit.problems[0].split("about ")[1].split(" kg")[0])
    assert told == pytest.approx(0.5, abs=0.2)  # 0.07 kg of standard deviation, three times
    with pytest.raises(DataError, match=r"carries about .*nothing is written without force"):
        fit.save(tmp_path / "mine.yaml")
    assert list(tmp_path.iterdir()) == []
    assert fit.save(tmp_path / "mine.yaml", force=True).is_file()


@pytest.mark.slow
def test_a_load_for_a_part_of_the_time_is_named(panda):
    with pytest.warns(ImplausibleRecordingWarning, match="parts of the recording differ by"):
        assert pdr.identify(simulated(panda, 16, PAYLOAD, pick_at=6.0), panda, prior_scale=QUICK).problems


@pytest.mark.parametrize("sigma", [0.1, 10.0])
def test_noise_in_place_of_torques_is_refused(panda, rng, sigma):
    data = record(panda, 15.0)
    with pytest.raises(DataError, match="that no such arm explains"):
        pdr.identify(replace(data, tau=sigma * rng.normal(size=data.tau.shape)), panda, prior_scale=PLAIN)


def test_the_error_is_that_of_the_joints_that_are_named(panda, rng):
    """White noise, of which a third is below 10 Hz: 1 N m of joint 7, which has little else; 4 beside 25 of joint 2."""
    data = record(panda, 15.0)
    noise = np.array([0.0, 12.0, 0.0, 0.0, 0.0, 0.0, 3.0]) * rng.normal(size=data.tau.shape)
    with pytest.raises(DataError, match=r"got (0\.\d\d|1\.0\d) N m RMS .* at joints \[7\];.*another order"):
        pdr.identify(replace(data, tau=data.tau + noise), panda, prior_scale=PLAIN)


def test_torques_without_gravity_are_named(panda):
    """Also where parts of the recording, in other postures, seem to carry different loads."""
    data = record(panda, 8.0)
    q = data.q + np.outer(np.sin(0.375 * data.stamp), [0.0, 0.8, 0.0, -0.3, 0.0, 0.5, 0.0])
    dq = np.gradient(q, data.stamp, axis=0)
    tau = panda.inverse_dynamics(q, dq, np.gradient(dq, data.stamp, axis=0)) - panda.gravity_torques(q)
    other = replace(data, q=q, dq=dq, tau=tau + panda.friction_torques(dq))
    with pytest.warns(ImplausibleRecordingWarning, match=r"kg less at the flange than panda: is gravity missing"):
        assert pdr.identify(other, panda, prior_scale=PLAIN).problems


def test_joints_of_another_kind_of_arm_are_named(panda, rng):
    data = record(other_arm(panda, rng), 15.0, rng)
    other = replace(data, names=tuple(f"left_fr3_joint{i}" for i in range(1, 8)))
    with pytest.warns(ImplausibleRecordingWarning, match=r"joints are those of fr3, .*: set robot to fr3"):
        pdr.identify(other, panda, prior_scale=QUICK)
    same = replace(data, names=tuple(f"fer_joint{i}" for i in range(1, 8)))
    assert pdr.identify(same, panda, prior_scale=QUICK).problems == ()


def test_a_fit_that_predicts_worse_than_the_prior_is_not_saved(panda, rng, tmp_path):
    """The prior is the truth: whatever a fit changes is fitted to the disturbance."""
    fit = pdr.identify(record(panda, 6.0, rng, scale=1.0), panda, prior_scale=PLAIN)
    assert any("keep panda" in problem for problem in fit.problems)
    with pytest.raises(DataError, match="by panda itself with"):
        fit.save(tmp_path / "mine.yaml")


def test_real_unloaded_arms_pass(panda, panda_1khz_log, panda_30hz_bag):
    assert pdr.identify(pdr.load_dataset(panda_1khz_log), panda).problems == ()
    assert pdr.identify(pdr.load_dataset(panda_30hz_bag), panda).problems == ()


@some("part", ["a", "b"])
def test_the_hand_of_a_real_fr3_is_a_load_unless_it_is_named(part):
    bare, with_hand = pdr.load_robot("fr3"), pdr.load_robot("fr3", end_effector="hand")
    data = pdr.load_dataset(public_log(f"fr3_hand_teleop/teleop_1khz_{part}.csv"), bare)
    assert pdr.identify(data, with_hand).problems == ()
    with pytest.warns(ImplausibleRecordingWarning, match=r"carries about 0\.7\d kg more than fr3"):
        pdr.identify(data, bare, prior_scale=QUICK)


@some("part", [3, 4])
def test_an_arm_that_a_person_guides_is_named(panda, part):
    data = pdr.load_dataset(public_log(f"panda_hand_guided/hand_guided_100hz_{part}.csv"), panda)
    with pytest.warns(ImplausibleRecordingWarning, match="did something touch it"):
        pdr.identify(data, panda, prior_scale=QUICK)
