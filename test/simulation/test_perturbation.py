# SPDX-License-Identifier: Apache-2.0
"""The true arm: physical bodies, a few percent away, and a torque residual of the real level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.robot.friction import PRESLIDING
from panda_dynamics_ros.simulation import Realism, SensorLevels, exciting_motion
from panda_dynamics_ros.simulation.realism import perturbed_arm, perturbed_body


def test_perturbed_bodies_are_physical_even_from_the_boundary(robot: pdr.RobotModel) -> None:
    """Link 2 of `panda` lies on the boundary of the physical cone, that of `panda_ledezma` just outside."""
    rng = np.random.default_rng(1)
    for link in robot.links:
        for _ in range(50):
            # No tolerance: the projection leaves a millionth of the largest moment, rounding takes 1e-16 of it.
            assert perturbed_body(link, rng, 0.1, 0.2, 0.02).is_physical(tolerance=0.0)


def test_perturbed_bodies_have_the_spread_asked_for(panda: pdr.RobotModel) -> None:
    rng, link = np.random.default_rng(2), panda.links[3]
    bodies = [perturbed_body(link, rng, 0.03, 0.03, 0.003) for _ in range(1000)]
    # 1,000 draws know a std to 2.2 %, 3,000 coordinates to 1.3 %; four of those.
    assert abs(np.std([body.mass / link.mass for body in bodies]) - 0.03) < 0.003
    assert abs(np.std([body.com - link.com for body in bodies]) - 0.003) < 0.0003
    # The trace of the inertia: mass 3 % and, roughly, twice the 3 % of the largest extension.
    assert 0.03 < np.std([np.trace(body.inertia) / np.trace(link.inertia) for body in bodies]) < 0.08
    same = perturbed_body(link, rng, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(same.vector, link.vector, rtol=1e-9, atol=1e-12)  # rounding


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_model_error_fills_what_the_disturbance_leaves(robot: pdr.RobotModel, share: float) -> None:
    motion, sensors = exciting_motion(robot, 1), replace(SensorLevels.ideal(), joint_offset=3e-4)
    realism = Realism(disturbance_share=share, sensors=sensors)
    arm = perturbed_arm(robot, motion, realism, np.random.default_rng(1))
    q, dq, ddq = motion(motion.settled + np.arange(0.0, motion.period, 0.01))
    s, _ = presliding_states(q * (PRESLIDING / arm.presliding))
    true = arm.robot.inverse_dynamics(q, dq, ddq) + arm.robot.friction_torques(dq, s)  # type: ignore[attr-defined]
    model = robot.inverse_dynamics(q + arm.joint_offset, dq, ddq) + robot.friction_torques(dq)
    rms = np.sqrt(np.mean((true - model) ** 2, axis=0))
    expected = np.sqrt(1.0 - share**2) * robot.residual.std
    np.testing.assert_allclose(rms, expected, rtol=0.01)  # here every 10 ms, fitted every 20 ms
    assert arm.joint_offset.any()
    for true_link, link in zip(arm.robot.links, robot.links, strict=True):
        assert abs(true_link.mass / link.mass - 1.0) < 0.12  # a few percent: four std
        assert np.abs(true_link.com - link.com).max() < 0.012


def test_the_true_friction_never_drives_a_joint(robot: pdr.RobotModel) -> None:
    motion = exciting_motion(robot, 0)
    dq = np.linspace(-1.0, 1.0, 101)[:, None] * robot.limits.velocity
    for seed in range(10):
        arm = perturbed_arm(robot, motion, Realism(), np.random.default_rng(seed))
        without_offset = replace(arm.robot.friction, offset=np.zeros(7))
        tau = replace(robot, friction=without_offset).friction_torques(dq)
        assert (tau * dq > -1e-9).all()  # rounding at rest
