# SPDX-License-Identifier: Apache-2.0
"""Identification of arms whose truth is known, and of a real one."""

import sys
import weakref
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import PLAIN, other_arm, record

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.motion_samples import prepare
from panda_dynamics_ros.errors import MissingDependencyError
from panda_dynamics_ros.identification import regression
from panda_dynamics_ros.identification.procedure import folds_of, held_out_residual
from panda_dynamics_ros.identification.regression import STRIBECK_VELOCITY, TRANSITION, LinearModel, PriorScale, rms
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.simulation import SimulatedPanda


def test_exact_torques_give_the_exact_base_parameters(panda, rng):
    arm = other_arm(panda, rng)
    fit = pdr.identify(record(arm), robot=panda, prior_scale=PLAIN)
    truth = panda.base_parameters().mapping @ arm.inertial_vector
    # Differences of a 10 Hz low-pass reproduce motion below 1 Hz to 1e-3; the base parameters are 0.01 to 4.
    assert np.abs(fit.base_values - truth).max() < 0.02
    assert np.abs(fit.friction.offset - arm.friction.offset).max() < 0.01
    assert fit.torque_rms.max() < 0.01


@pytest.mark.slow
def test_sigmas_cover_the_truth(panda, rng):
    """Of the true base parameters, 90 to 99 % are in the 95 % intervals, though the torque's error is coloured."""
    inside = []
    for _ in range(5):
        arm = other_arm(panda, rng)
        fit = pdr.identify(record(arm, 30.0, rng, scale=1.0), robot=panda)
        truth = panda.base_parameters().mapping @ arm.inertial_vector
        inside.append(np.abs(fit.base_values - truth) < 1.96 * fit.base_std)
    assert 0.90 <= np.mean(inside) <= 0.99


def test_a_tilted_base_is_found(panda, rng):
    leaning = replace(panda, gravity=np.array([9.81 * 0.006, -9.81 * 0.004, -9.81]))
    fit = pdr.identify(record(leaning, 40.0, rng, scale=0.1), robot=panda)
    # 0.03 N m of disturbance on the 60 N m that a whole tilt would give; the bodies take the rest.
    assert fit.tilt == pytest.approx([0.006, -0.004], abs=0.0025)
    wall = panda.mounted((1.5708, 0.0, 0.0))
    fit = pdr.identify(record(wall.mounted((0.0, 0.0, 0.006)), 40.0, rng, scale=0.1), robot=wall)
    assert np.abs(fit.tilt).max() == pytest.approx(0.006, abs=0.0025)
    askew = panda.mounted((0.0, 0.6, 0.3))  # no tilt, though gravity leans to the base's axes
    assert np.abs(pdr.identify(record(askew, 40.0, rng, scale=0.1), robot=askew).tilt).max() < 0.0025
    floating = replace(panda, gravity=np.zeros(3))
    assert pdr.identify(record(floating, 15.0, rng), robot=floating).tilt.tolist() == [0.0, 0.0]


def test_bodies_that_are_kept_stay_as_they_are(panda, rng):
    fit = pdr.identify(record(other_arm(panda, rng), 15.0, rng), robot=panda, prior_scale=PriorScale(bodies=0.0))
    np.testing.assert_allclose(fit.robot.inertial_vector, panda.inertial_vector, rtol=0.0, atol=1e-9)


def test_the_result_is_an_arm_that_can_exist_and_be_saved(panda, rng, tmp_path):
    fit = pdr.identify(record(other_arm(panda, rng), 15.0, rng), robot=panda)
    assert all(link.is_physical() for link in fit.robot.links)
    loaded = pdr.load_robot(fit.save(tmp_path / "mine.yaml"))
    assert np.array_equal(loaded.table, fit.robot.table)
    assert np.array_equal(loaded.friction.table, fit.robot.friction.table)


def test_the_held_out_figure_is_that_of_arms_that_can_exist(panda, rng):
    """Least squares finds links that cannot exist, above all from parts of a recording."""
    data = record(other_arm(panda, rng), 15.0, rng, scale=1.0)
    fit = pdr.identify(data, robot=panda, prior_scale=PLAIN)
    model = LinearModel(panda, prepare([data]))
    free = rms(held_out_residual(model, folds_of(model), 1.0 / fit.robot.residual.std**2, PLAIN))
    # What can exist is nearer to the truth: 0.9 of the held-out error and less.
    assert np.linalg.norm(fit.cross_validated_rms) < 0.95 * np.linalg.norm(free)


def test_without_the_solver_it_says_what_to_install(panda, rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'panda_dynamics_ros\[identification\]'"):
        pdr.identify(record(other_arm(panda, rng), 15.0, rng, scale=1.0), robot=panda, prior_scale=PLAIN)


def test_stribeck_friction_is_found(panda, rng):
    stribeck = 2.0 * panda.residual.std
    sticky = replace(panda.friction, stribeck=stribeck, stribeck_velocity=np.full(7, STRIBECK_VELOCITY))
    sticky = replace(sticky, transition=np.full(7, TRANSITION))
    fit = pdr.identify(record(replace(panda, friction=sticky), 30.0, rng, scale=0.1), robot=panda)
    # The disturbance is a twentieth of it; slow rows, which show it, count for less, and the prior draws it to zero.
    # Joint 7 is slow in one row of fourteen only.
    assert fit.friction.stribeck[:6] == pytest.approx(stribeck[:6], rel=0.4)


def test_a_real_arm_is_predicted_better_than_by_the_published_model(panda_1khz_log):
    fit = pdr.identify(pdr.load_dataset(panda_1khz_log))
    # 0.356 N m was measured; 0.40 with friction as a function of velocity, the published model 0.80.
    assert np.linalg.norm(fit.cross_validated_rms) < 0.36
    assert np.linalg.norm(fit.torque_rms) < 0.37 < np.linalg.norm(fit.prior_torque_rms)
    assert all(link.is_physical() for link in fit.robot.links)
    assert fit.not_identified == ()


def test_recordings_are_read_one_by_one_and_their_rows_in_parts(panda, rng, monkeypatch):
    """Of recordings that an iterator gives, one at a time is in memory; the result is that of all at once."""
    arm = other_arm(panda, rng)
    made = [record(arm, 6.0, rng) for _ in range(6)]
    whole = pdr.identify(made, robot=panda, prior_scale=PriorScale())
    alive: list[weakref.ref[JointDataset]] = []
    most = []

    def one_by_one() -> Iterator[JointDataset]:
        for each in made:
            recording = replace(each)
            alive.append(weakref.ref(recording))
            yield recording
            del recording
            most.append(sum(ref() is not None for ref in alive))

    model = LinearModel(panda, prepare([made[0]]))
    in_one = model.gram()
    monkeypatch.setattr(regression, "AT_ONCE", 100)  # rows; a recording has some 580
    in_parts = model.gram()
    # The information matrix is well conditioned: sums of 580 products in another order differ by 580 eps of the norms.
    norms = np.sqrt(np.diagonal(in_one, axis1=1, axis2=2))
    assert (np.abs(in_parts - in_one) <= 1e-12 * norms[:, :, None] * norms[:, None, :]).all()
    parts = pdr.identify(one_by_one(), robot=panda, prior_scale=PriorScale())
    assert max(most) <= 2  # this one, and the one before until it is replaced
    # Parameters are not. The search for links that can exist ends once its cost is within 1e-8, which may move them by
    # 1e-4 of their standard deviation, and the residual by less than that.
    assert (np.abs(parts.base_values - whole.base_values) < 1e-4 * whole.base_std).all()
    np.testing.assert_allclose(parts.base_std, whole.base_std, rtol=1e-6)
    np.testing.assert_allclose(parts.torque_rms, whole.torque_rms, rtol=1e-4)
    np.testing.assert_allclose(parts.cross_validated_rms, whole.cross_validated_rms, rtol=1e-4)


def test_the_simulated_plant_is_found_within_its_sigmas(panda):
    pytest.importorskip("mujoco", reason="the simulated Panda needs mujoco")
    plant = SimulatedPanda(panda, seed=3)
    fit = pdr.identify(plant.record(30.0))
    truth = panda.base_parameters().mapping @ plant.true_arm.robot.inertial_vector
    inside = np.abs(fit.base_values - truth) < 2.0 * fit.base_std
    # 42 of 43 were measured; nine in ten are asked for.
    assert inside.mean() >= 0.9
    # The disturbance is half of the prior's residual (Realism): what no model explains. 0.49 was measured.
    assert np.linalg.norm(fit.torque_rms) < 0.6 * np.linalg.norm(fit.prior_torque_rms)
    assert fit.not_identified == ()
