# SPDX-License-Identifier: Apache-2.0
"""What drivers call effort: without gravity, of the actuators, motor currents; and what does not fit is named."""

from dataclasses import replace

import numpy as np
import pytest
from motion import PAYLOAD, coloured, followed, sinusoids, torques
from oracles import Pinocchio

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

ROTORS = np.array([0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.2])  # kg m^2, as large as Franka's
CONSTANTS = np.array([8.0, 8.0, 7.0, 7.0, 3.0, -3.0, 3.0])  # N m/A; a motor may be mounted the other way round
MASS = 0.06  # kg: as accurate as with measured torques over the same 3 s (0.03 to 0.04 kg)
EXACT = 1e-9


@pytest.fixture(scope="module")
def recording():
    """A loaded Panda for 6 s."""
    panda, motion = pdr.load_robot("panda"), sinusoids(6.0)
    tau = torques(panda, motion, PAYLOAD) + coloured(panda, motion.stamp, np.random.default_rng(3))
    return pdr.JointDataset(motion.stamp, motion.q, motion.dq, tau, panda.joint_names, "a motion")


def efforts(kind: str, panda: pdr.RobotModel, recording: pdr.JointDataset) -> FloatArray:
    """What a driver of this kind publishes."""
    if kind == "without_gravity":  # the driver knows the arm, and no payload
        return recording.tau - Pinocchio(panda).gravity_torques(recording.q)
    tau = recording.tau + ROTORS * sinusoids(6.0).ddq
    return tau / CONSTANTS if kind == "current" else tau


def arm_of(kind: str) -> pdr.RobotModel:
    """The arm that says so."""
    rotors = None if kind in ("measured", "without_gravity") else ROTORS
    return pdr.load_robot(
        "panda", effort=kind, rotor_inertia=rotors, motor_constants=CONSTANTS if kind == "current" else None
    )


@pytest.mark.parametrize("kind", ["without_gravity", "actuator", "current"])
def test_a_payload_is_found_in_efforts_of_each_kind(panda, recording, kind):
    estimate = followed(arm_of(kind), recording, efforts(kind, panda, recording))[0].estimate
    assert estimate.problem == ""
    assert estimate.mass == pytest.approx(PAYLOAD.mass, abs=MASS)
    measured = followed(panda, recording, recording.tau)[0].estimate
    assert estimate.mass == pytest.approx(measured.mass, abs=0.01)  # rounding may choose another onset
    np.testing.assert_allclose(estimate.com, measured.com, atol=2e-3)


@pytest.mark.parametrize("kind", ["without_gravity", "current"])
def test_replay_smoothing_and_identification_take_them(panda, recording, kind):
    other = replace(recording, tau=efforts(kind, panda, recording))
    robot = replace(arm_of(kind), rotor_inertia=np.zeros(7)) if kind == "current" else arm_of(kind)
    same = panda
    if kind == "current":  # whose friction may grow with the load
        other, same = replace(other, tau=recording.tau / CONSTANTS), replace(robot, motor_constants=np.ones(7))
    wanted, found = pdr.replay(recording, same), pdr.replay(other, robot)
    # The observer's filters amplify the rounding of the conversion.
    np.testing.assert_allclose(found.measured_torques, recording.tau, atol=EXACT)
    np.testing.assert_allclose(found.external_torques, wanted.external_torques, atol=1e-6)
    assert found.last.mass == pytest.approx(wanted.last.mass, abs=1e-6)
    maps = [pdr.learn_residual(*each).residual_map for each in ((other, robot), (recording, panda))]
    np.testing.assert_allclose(maps[0].square, maps[1].square, rtol=1e-6)


def test_identification_accounts_for_rotors_and_refuses_torques_without_gravity(panda):
    motion = sinusoids(12.0)
    tau = torques(panda, motion) + ROTORS * motion.ddq
    data = pdr.JointDataset(motion.stamp, motion.q, motion.dq, tau, panda.joint_names, "a motion")
    fit = pdr.identify(data, arm_of("actuator"))
    # What is left comes from filters, derivatives and turns of the friction. Without the rotors it is 0.1 N m and more.
    assert fit.torque_rms.max() < 0.06
    assert fit.robot.effort == "actuator"
    with pytest.raises(ArgumentError, match="expected an arm whose effort has gravity in it, got effort without_grav"):
        pdr.identify(data, arm_of("without_gravity"))


@pytest.mark.parametrize(
    ("said", "is_really", "words"),
    [
        ("measured", "without_gravity", "unless effort is without_gravity"),
        ("without_gravity", "measured", "set effort to measured"),
        ("measured", "current", "set effort to current"),
    ],
)
def test_an_effort_that_does_not_fit_is_named(panda, recording, said, is_really, words):
    effort = {"without_gravity": efforts("without_gravity", panda, recording), "current": recording.tau / 8.0}
    assert words in followed(arm_of(said), recording, effort.get(is_really, recording.tau))[0].estimate.problem


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"effort": "torque"}, "effort: expected one of measured, without_gravity, actuator, current, got 'torque'"),
        ({"effort": "current"}, "motor_constants: expected 7 numbers other than zero for effort current"),
        ({"motor_constants": [1.0] * 7}, "motor_constants: expected none for effort measured"),
        ({"rotor_inertia": [-1.0] * 7}, "rotor_inertia: expected no negative number"),
        ({"rotor_inertia": [1.0] * 6}, "rotor_inertia: expected shape"),
    ],
)
def test_what_does_not_fit_together_is_refused(given, words):
    with pytest.raises(ArgumentError, match=words):
        pdr.load_robot("panda", **given)


def test_a_robot_file_keeps_it(tmp_path):
    read = pdr.load_robot(pdr.write_robot(arm_of("current"), tmp_path / "arm.yaml"))
    assert (read.effort, [*read.motor_constants], [*read.rotor_inertia]) == ("current", [*CONSTANTS], [*ROTORS])
