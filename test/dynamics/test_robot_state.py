# SPDX-License-Identifier: Apache-2.0
"""One compiled call of the inner loop against the functions that it stands for."""

from typing import Any

import numpy as np
import pytest
from arms import random_states, transform

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import robot_state
from panda_dynamics_ros.errors import ArgumentError


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


@pytest.mark.parametrize("argument", ["q", "dq", "ddq"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(6), "expected shape (7,), got (6,)"),
        (np.zeros((2, 7)), "expected shape (7,), got (2, 7)"),
        (np.array([0, 0, np.nan, 0, 0, 0, 0]), "expected finite numbers, got nan at index (2,)"),
        ("zero", "expected an array of real numbers, got 'zero'"),
    ],
)
def test_a_wrong_array_is_named(argument: str, wrong: Any, message: str, panda: pdr.RobotModel) -> None:
    motion: dict[str, Any] = dict.fromkeys(("q", "dq", "ddq"), np.zeros(7)) | {argument: wrong}
    with pytest.raises(ArgumentError) as caught:
        robot_state(panda, **motion)
    assert str(caught.value) == f"{argument}: {message}"
