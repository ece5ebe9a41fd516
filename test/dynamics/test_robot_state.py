# SPDX-License-Identifier: Apache-2.0
"""One compiled call of the inner loop against the functions that it stands for."""

from __future__ import annotations

import numpy as np
from arms import random_states, transform

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.robot_state import robot_state


def test_robot_state_is_pose_gravity_and_coriolis(robot: pdr.RobotModel, rng: np.random.Generator) -> None:
    robot = robot.with_end_effector(transform((0.3, -0.5, 0.8), (0.02, -0.05, 0.1)))
    for q, dq, _ in zip(*random_states(robot, rng, samples=20), strict=True):
        state = robot_state(robot, q, dq)
        # The same kernels on the same numbers: equal to the last bit.
        assert np.array_equal(state.T_base_ee, robot.pose(q, "ee"))
        assert np.array_equal(state.gravity_torques, robot.gravity_torques(q))
        assert np.array_equal(state.coriolis_torques, robot.coriolis_torques(q, dq))
