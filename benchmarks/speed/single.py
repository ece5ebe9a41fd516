# SPDX-License-Identifier: Apache-2.0
"""One state: each public call beside Pinocchio's, and `robot_state` beside the four calls it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.speed.pinocchio_arm import PinocchioArm
from benchmarks.speed.states import agree, random_states
from benchmarks.speed.timing import Comparison, compare
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.dynamics import robot_state

FUNCTIONS = {
    "inverse_dynamics": 3,
    "gravity_torques": 1,
    "coriolis_torques": 2,
    "mass_matrix": 1,
    "pose": 1,
    "jacobian": 1,
    "forward_dynamics": 3,
    "coriolis_matrix": 2,
    "regressor": 3,
    "payload_regressor": 3,
}
"""Function: how many joint arrays it takes."""


def comparisons(robot: RobotModel, turns: int) -> Iterator[Comparison]:
    """Time of one call of each function, its arguments checked."""
    arm = PinocchioArm(robot)
    motion = [x[0].copy() for x in random_states(robot, 1)]
    for name, count in FUNCTIONS.items():
        ours, theirs, arguments = getattr(robot, name), getattr(arm, name), motion[:count]
        if name != "coriolis_matrix":  # Pinocchio's is another factorisation: only C dq is the same
            agree(name, ours(*arguments), np.array(theirs(*arguments)))
        yield compare(name, partial(ours, *arguments), partial(theirs, *arguments), turns=turns, calls=2000)


def control_loop(robot: RobotModel, turns: int) -> Comparison:
    """Pose, gravity, Coriolis and payload regressor of one state."""
    arm = PinocchioArm(robot)
    q, dq, ddq = (x[0].copy() for x in random_states(robot, 1))

    def theirs() -> None:
        arm.pose(q)
        arm.gravity_torques(q)
        arm.coriolis_torques(q, dq)
        arm.payload_regressor(q, dq, ddq)

    name = "robot_state: pose, gravity, Coriolis, payload regressor"
    return compare(name, lambda: robot_state(robot, q, dq, ddq), theirs, turns=turns, calls=2000)
