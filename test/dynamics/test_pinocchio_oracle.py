# SPDX-License-Identifier: Apache-2.0
"""Every dynamics function against Pinocchio on 1,000 random states of each arm.

The chains turn and slide at arbitrary placements under gravity from an arbitrary direction, so nothing can hide
behind the Panda's right angles. Tolerance: the issue asks for 1e-9 of a sample's largest entry; both sides are
exact up to rounding, seen up to 6e-12, and forward dynamics may lose the condition number of M (4e4) of that.
"""

from typing import NamedTuple

import numpy as np
import pytest
from arms import States, random_chain, random_states, transform
from oracles import Pinocchio, assert_agrees

import panda_dynamics_ros as pdr

RELATIVE = 1e-9
ARMS = ["panda", "panda_ledezma", "fr3", 1, 2, 3, 5, 9]  # a number is a random chain with so many joints


class Case(NamedTuple):
    robot: pdr.RobotModel
    oracle: Pinocchio
    states: States


@pytest.fixture(scope="module", params=ARMS)
def case(request):
    rng = np.random.default_rng(1)
    if isinstance(request.param, int):
        robot = random_chain(request.param, seed=2)
    else:
        robot = pdr.load_robot(request.param)
        robot = robot.with_end_effector(transform(rng.normal(size=3), rng.normal(scale=0.1, size=3)))
    return Case(robot, Pinocchio(robot), random_states(robot, rng))


def test_frames_and_their_jacobians(case):
    robot, oracle, (q, _, _) = case
    for frame in robot.frames:
        assert_agrees(robot.pose(q, frame), oracle.pose(q, frame), RELATIVE, axes=2)
        assert_agrees(robot.jacobian(q, frame), oracle.jacobian(q, frame), RELATIVE, axes=2)
    for link in range(1, robot.n + 1):
        assert_agrees(robot.com_jacobian(q, link), oracle.com_jacobian(q, link), RELATIVE, axes=2)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *[("gravity_torques", 1), ("mass_matrix", 1), ("coriolis_torques", 2), ("coriolis_matrix", 2)],
        *[("inverse_dynamics", 3), ("regressor", 3)],
    ],
)
def test_dynamics(case, function, arguments):
    states = case.states[:arguments]
    want = getattr(case.oracle, function)(*states)
    assert_agrees(getattr(case.robot, function)(*states), want, RELATIVE, axes=want.ndim - 1)


def test_forward_dynamics(case):
    robot, oracle, (q, dq, _) = case
    tau = np.random.default_rng(3).uniform(-robot.limits.effort, robot.limits.effort, q.shape)
    assert_agrees(robot.forward_dynamics(q, dq, tau), oracle.forward_dynamics(q, dq, tau), RELATIVE)
