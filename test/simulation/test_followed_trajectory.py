# SPDX-License-Identifier: Apache-2.0
"""A trajectory of points: the curve through them, and the simulated arm on it."""

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.simulation import Realism, SimulatedPanda
from panda_dynamics_ros.simulation.motion_search import READY
from panda_dynamics_ros.simulation.motions import FourierMotion, JointTrajectory, at_rest

pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")


def motion() -> FourierMotion:
    sine = at_rest(np.zeros((7, 3)), 0.3 * np.random.default_rng(0).normal(size=(7, 3)))[1]
    away = FourierMotion(np.zeros(7), np.zeros((7, 3)), sine, 4.0)
    return FourierMotion(np.array(READY) - away(0.0)[0], np.zeros((7, 3)), sine, 4.0)


def trajectory(step: float = 0.02) -> JointTrajectory:
    times: FloatArray = np.arange(4.0 / step + 1.0) * step
    return JointTrajectory(times, *motion()(times))


def test_the_curve_goes_through_the_motion_between_the_points() -> None:
    curve, exact = trajectory(), motion()
    for t in (0.013, 1.111, 3.987):
        for found, expected in zip(curve(t), exact(t), strict=True):
            # Quintics through points 20 ms apart, of a motion below 1 Hz: the sixth derivative leaves less than that.
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_arm_is_at_rest_before_and_after() -> None:
    curve = trajectory()
    for t, end in ((-1.0, 0), (5.0, -1)):
        q, dq, ddq = curve(t)
        np.testing.assert_array_equal(q, curve.q[end])
        assert not dq.any()
        assert not ddq.any()


def standing() -> SimulatedPanda:
    at_ready = FourierMotion(np.array(READY), np.zeros((7, 1)), np.zeros((7, 1)))
    return SimulatedPanda(pdr.load_robot("panda"), realism=Realism.ideal(), excitation=at_ready)


def test_the_simulated_arm_follows() -> None:
    plant, curve = standing(), trajectory()
    for _ in range(300):
        plant.step()
    begin = plant.time
    plant.follow(curve)
    away = 0.0
    for _ in range(4500):
        sample = plant.step()
        away = max(away, float(np.abs(sample.q - curve(sample.stamp - begin)[0]).max()))
    # Gear friction and damping, which the controller does not know, hold it back by some milliradians.
    assert away < 0.02
    assert np.abs(sample.q - curve.q[-1]).max() < 0.005
    assert np.ptp(curve.q, axis=0).max() > 0.3


def test_a_trajectory_that_starts_elsewhere_is_refused() -> None:
    curve = trajectory()
    shifted = JointTrajectory(curve.times, curve.q + 0.1, curve.dq, curve.ddq)
    with pytest.raises(ArgumentError, match=r"expected a start within 0\.02 rad of where the arm is, got 0\.100"):
        standing().follow(shifted)
    six = JointTrajectory(curve.times, curve.q[:, :6], curve.dq[:, :6], curve.ddq[:, :6])
    with pytest.raises(ArgumentError, match="expected 7 joints, got 6"):
        standing().follow(six)


def test_what_is_no_trajectory_is_refused() -> None:
    curve = trajectory()
    with pytest.raises(ArgumentError, match="times: expected two or more that increase"):
        JointTrajectory(curve.times[::-1], curve.q, curve.dq, curve.ddq)
    with pytest.raises(ArgumentError, match="dq: expected a motion that begins and ends at rest, got 1 rad/s"):
        JointTrajectory(curve.times, curve.q, curve.dq + 1.0, curve.ddq)
