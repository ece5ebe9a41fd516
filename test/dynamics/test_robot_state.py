# SPDX-License-Identifier: Apache-2.0
"""One compiled call of the inner loop against the functions that it stands for."""

import numpy as np
from arms import random_states, transform

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import robot_state


def test_robot_state_is_pose_gravity_coriolis_and_payload_regressor(
    robot: pdr.RobotModel, rng: np.random.Generator
) -> None:
    robot = robot.with_end_effector(transform((0.3, -0.5, 0.8), (0.02, -0.05, 0.1)))
    for q, dq, ddq in zip(*random_states(robot, rng, samples=20), strict=True):
        state = robot_state(robot, q, dq, ddq)
        # The same product of nine placements in another order: each adds a rounding of 1e-16.
        np.testing.assert_allclose(state.T_base_ee, robot.pose(q, "ee"), rtol=0.0, atol=2e-15)
        # The same kernels on the same numbers: equal to the last bit.
        assert np.array_equal(state.gravity_torques, robot.gravity_torques(q))
        assert np.array_equal(state.coriolis_torques, robot.coriolis_torques(q, dq))
        assert np.array_equal(state.payload_regressor, robot.payload_regressor(q, dq, ddq))


def test_without_an_acceleration_it_is_zero(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    q, dq = rng.normal(size=(2, 7))
    regressor = robot_state(panda, q.tolist(), dq.tolist()).payload_regressor
    assert np.array_equal(regressor, panda.payload_regressor(q, dq, np.zeros(7)))
