# SPDX-License-Identifier: Apache-2.0
"""The inertial parameters in generated code: fewer numbers, the same torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import Array, random_chain, random_states
from oracles import assert_agrees

import panda_dynamics_ros as pdr
from panda_dynamics_ros.codegen.representative import cheapest_parameters


def torques_of(robot: pdr.RobotModel, parameters: Array) -> tuple[Array, Array]:
    """Torques of the robot and of these inertial vectors (n, 10), at the same states."""
    states = random_states(robot, np.random.default_rng(95), samples=100)
    return robot.regressor(*states) @ parameters.ravel(), robot.inverse_dynamics(*states)


@pytest.mark.parametrize("seed", range(5))
def test_torques_are_those_of_the_robot(seed: int) -> None:
    """Tolerance: masses carried over several links make sums of some hundred kg m^2."""
    robot = random_chain(6, seed=95 + seed)
    assert_agrees(*torques_of(robot, cheapest_parameters(robot)), 1e-12)


def test_library_s_links_have_seven_numbers_at_most(robot: pdr.RobotModel) -> None:
    """XX + YY = ZZ, no mass, no mZ; of link 1 only ZZ is left."""
    parameters = cheapest_parameters(robot)
    assert_agrees(*torques_of(robot, parameters), 1e-13)
    assert not parameters[:, 0].any()
    assert not parameters[:, 3].any()
    np.testing.assert_array_equal(parameters[0].nonzero()[0], [9])
    np.testing.assert_allclose(parameters[1:, 4] + parameters[1:, 7], parameters[1:, 9], rtol=1e-14)


def test_a_sum_that_is_zero_but_for_rounding_is_zero(panda: pdr.RobotModel) -> None:
    """Of a ball whose moments of inertia differ in the last bit, XX - YY is 1e-18 before and zero after."""
    ball = pdr.InertialParameters(1.0, np.zeros(3), np.diag([0.004, np.nextafter(0.004, 1.0), 0.004]))
    last = cheapest_parameters(replace(panda, links=(*panda.links[:6], ball)))[6]
    assert last[4] == last[7] != 0.0
