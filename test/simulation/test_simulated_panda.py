# SPDX-License-Identifier: Apache-2.0
"""The simulated arm: its torque's identity, payloads, pushes, limits, determinism, bad input; and on a trajectory."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from motion import IDEAL, NO_ERRORS, PAYLOAD, lifting

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.joints import PRESLIDING
from panda_dynamics_ros.simulation import FourierMotion, Realism, SimulatedPanda, exciting_motion
from panda_dynamics_ros.simulation.motion_search import READY
from panda_dynamics_ros.simulation.motions import JointTrajectory, at_rest

pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")

H = SimulatedPanda.timestep


@lru_cache(maxsize=4)
def motion_of(robot: pdr.RobotModel) -> FourierMotion:
    return exciting_motion(robot, seed=1)


def ideal(robot: pdr.RobotModel) -> SimulatedPanda:
    return SimulatedPanda(robot, realism=IDEAL, excitation=motion_of(robot))


def accelerations(recording: pdr.JointDataset) -> np.ndarray:
    """(k-1, n): the engine's step is dq += h ddq, so that first differences of dq are its accelerations exactly."""
    return np.diff(recording.dq, axis=0) / H


def test_torque_is_rigid_inverse_dynamics_with_the_payload_through_pick_and_release(robot):
    """Rotor inertia, gear friction and damping act on this arm, and its torque is free of them."""
    run, loaded = lifting(ideal(robot), PAYLOAD, 1.5, 1.5, 1.0)
    ddq = accelerations(run)
    loaded = loaded[:-1]
    q, dq, tau = run.q[:-1], run.dq[:-1], run.tau[:-1]
    # No integration error is left: rounding of 1e-16 in dq, divided by h = 1e-3 s, times up to 3 kg m^2.
    for rows, arm in ((loaded, robot.with_payload(PAYLOAD)), (~loaded, robot)):
        np.testing.assert_allclose(tau[rows], arm.inverse_dynamics(q[rows], dq[rows], ddq[rows]), rtol=0.0, atol=1e-9)
    assert loaded.sum() == 1500
    assert np.abs(ddq).max() > 0.5  # the arm does move


def test_friction_and_disturbance_are_in_the_torque(panda):
    plant = SimulatedPanda(panda, seed=4, realism=Realism(sensors=NO_ERRORS))
    run = plant.record(6.0)
    true = plant.true_arm.robot
    assert isinstance(true, pdr.RobotModel)
    rigid = true.inverse_dynamics(run.q[:-1], run.dq[:-1], accelerations(run))
    s, _ = presliding_states(run.q[:-1] * (PRESLIDING / plant.true_arm.presliding))
    beyond = (run.tau[:-1] - rigid - true.friction_torques(run.dq[:-1], s))[1000:]  # until then s is not known
    bound = 5.0 * 0.5 * panda.residual.std  # what is left is the disturbance, within 5 std
    assert (np.abs(beyond) < bound).all()
    assert (np.abs(beyond).max(axis=0) > 0.3 * panda.residual.std).all()
    # Coloured: it moves by sqrt(2 h / tau) of its std at a step, 0.07 at the most, with room for five of these.
    assert (np.abs(np.diff(beyond[2000:], axis=0)) < 5.0 * 0.07 * bound).all()


def test_a_push_enters_through_the_jacobian_and_ends(panda):
    plant = ideal(panda)
    force, link = np.array([12.0, -5.0, 8.0]), 5
    plant.record(2.0)
    plant.apply_push(link, force, 0.1)
    run = plant.record(0.2)
    missing = run.tau[:-1] - panda.inverse_dynamics(run.q[:-1], run.dq[:-1], accelerations(run))
    expected = -np.einsum("kji,j->ki", panda.com_jacobian(run.q[:-1], link)[:, :3], force)
    expected[100:] = 0.0
    np.testing.assert_allclose(missing, expected, rtol=0.0, atol=1e-9)  # rounding, as above
    assert np.abs(expected[:100]).max() > 3.0


def test_picking_and_releasing_do_not_jump(panda):
    run, _ = lifting(ideal(panda), pdr.InertialParameters(3.0, PAYLOAD.com, 3.0 * PAYLOAD.inertia), 5.5, 1.5, 1.0)
    # Weight of 30 N on light wrists with a rotor inertia of 0.2 kg m^2 accelerates by some 20 rad/s^2 at the most.
    assert np.abs(accelerations(run)).max() < 40.0
    for k in (5500, 7000):
        assert np.abs(run.q[k] - 2.0 * run.q[k - 1] + run.q[k - 2]).max() < 40.0 * H**2
    assert np.abs(run.tau[5500] - run.tau[5499]).max() > 1.5  # the torque does


def test_limits_are_respected_under_load_and_the_path_is_kept(panda):
    heavy = pdr.InertialParameters(3.0, np.array([0.03, 0.02, 0.08]), np.diag([0.01, 0.01, 0.008]))
    plant = SimulatedPanda(panda, seed=5, realism=Realism(sensors=NO_ERRORS))
    run, loaded = lifting(plant, heavy, 6.0, 9.0, 5.0)
    limits = panda.limits
    assert (run.q > limits.lower).all()
    assert (run.q < limits.upper).all()
    assert (np.abs(run.dq) < limits.velocity).all()
    assert (np.abs(run.tau) < limits.effort).all()
    wanted = plant.excitation(run.stamp)[0]
    # 2.5 N m of the unknown load on the stiffness of a wrist, 0.2 kg m^2 * (40/s)^2 = 320 N m/rad: 8 mrad, and
    # as much for gear friction; the bare arm has only the latter.
    assert np.abs(run.q - wanted)[~loaded][:6000].max() < 0.012
    assert np.abs(run.q - wanted).max() < 0.03
    assert panda.pose(run.q)[:, 2, 3].min() > 0.15


def test_the_same_seed_gives_the_same_samples(panda):
    first, again, other = (lifting(SimulatedPanda(panda, seed=seed), PAYLOAD, 0.5, 0.5, 0.5)[0] for seed in (7, 7, 8))
    for name in ("stamp", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert np.abs(first.tau - other.tau).max() > 0.1


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (pdr.InertialParameters.zero(), r"mass=0\.0"),
        (pdr.InertialParameters(50.0, np.zeros(3), np.eye(3)), r"mass=50\.0"),
        (pdr.InertialParameters(1.0, np.zeros(3), np.diag([1.0, 0.1, 0.1])), r"inertia=array\(\[\[1\."),
    ],
)
def test_bad_payloads(panda, payload, message):
    plant = ideal(panda)
    with pytest.raises(ArgumentError, match=f"expected a body that can exist, of up to 10 kg, got .*{message}"):
        plant.attach(payload)
    assert plant.truth.mass == 0.0  # the plant is as it was


def test_bad_input(panda):
    plant = ideal(panda)
    with pytest.raises(ArgumentError, match=r"link: expected a number from 1 to 7, got 5\.5"):
        plant.apply_push(5.5, np.zeros(3), 0.1)  # type: ignore[arg-type]
    plant.apply_push(np.float64(5.0), np.zeros(3), 0.1)  # a whole number, as any other
    with pytest.raises(ArgumentError, match=r"force: expected shape \(3,\), got \(2,\)"):
        plant.apply_push(3, np.zeros(2), 0.1)
    with pytest.raises(ArgumentError, match="duration: expected a number"):
        plant.apply_push(3, np.zeros(3), -0.1)
    with pytest.raises(ArgumentError, match="seed: expected a number"):
        SimulatedPanda(panda, seed=-1)
    motion = motion_of(panda)
    six = replace(motion, **{name: getattr(motion, name)[:6] for name in ("rest", "centre", "cosine", "sine")})
    with pytest.raises(ArgumentError, match="robot, excitation: expected 7 joints, got 7 and 6"):
        SimulatedPanda(panda, excitation=six)


def motion() -> FourierMotion:
    sine = at_rest(np.zeros((7, 3)), 0.3 * np.random.default_rng(0).normal(size=(7, 3)))[1]
    away = FourierMotion(np.zeros(7), np.zeros((7, 3)), sine, 4.0)
    return FourierMotion(np.array(READY) - away(0.0)[0], np.zeros((7, 3)), sine, 4.0)


def trajectory(step: float = 0.02) -> JointTrajectory:
    times: FloatArray = np.arange(4.0 / step + 1.0) * step
    return JointTrajectory(times, *motion()(times))


def test_the_curve_goes_through_the_motion_between_the_points():
    curve, exact = trajectory(), motion()
    for t in (0.013, 1.111, 3.987):
        for found, expected in zip(curve(t), exact(t), strict=True):
            # Quintics through points 20 ms apart, of a motion below 1 Hz: the sixth derivative leaves less than that.
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_arm_is_at_rest_before_and_after():
    curve = trajectory()
    for t, end in ((-1.0, 0), (5.0, -1)):
        q, dq, ddq = curve(t)
        np.testing.assert_array_equal(q, curve.q[end])
        assert not dq.any()
        assert not ddq.any()


def standing() -> SimulatedPanda:
    at_ready = FourierMotion(np.array(READY), np.zeros((7, 1)), np.zeros((7, 1)))
    return SimulatedPanda(pdr.load_robot("panda"), realism=IDEAL, excitation=at_ready)


def test_the_simulated_arm_follows():
    plant, curve = standing(), trajectory()
    plant.record(0.3)
    plant.follow(curve)
    run = plant.record(4.5)
    # Gear friction and damping, which the controller does not know, hold it back by some milliradians.
    assert np.abs(run.q - curve(run.stamp - 0.3)[0]).max() < 0.02
    assert np.abs(run.q[-1] - curve.q[-1]).max() < 0.005
    assert np.ptp(curve.q, axis=0).max() > 0.3


def test_trajectories_that_cannot_be_followed_are_refused():
    curve = trajectory()
    shifted = JointTrajectory(curve.times, curve.q + 0.1, curve.dq, curve.ddq)
    with pytest.raises(ArgumentError, match=r"expected a start within 0\.02 rad of where the arm is, got 0\.100"):
        standing().follow(shifted)
    six = JointTrajectory(curve.times, curve.q[:, :6], curve.dq[:, :6], curve.ddq[:, :6])
    with pytest.raises(ArgumentError, match="expected 7 joints, got 6"):
        standing().follow(six)
    with pytest.raises(ArgumentError, match="times: expected two or more that increase"):
        JointTrajectory(curve.times[::-1], curve.q, curve.dq, curve.ddq)
    with pytest.raises(ArgumentError, match="dq: expected a motion that begins and ends at rest, got 1 rad/s"):
        JointTrajectory(curve.times, curve.q, curve.dq + 1.0, curve.ddq)
