# SPDX-License-Identifier: Apache-2.0
"""Functions of one state, and of many in one call, beside Pinocchio's; both sides must agree to 1e-9 of the largest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed.pinocchio_arm import FROM_PINOCCHIO, PinocchioArm
from benchmarks.speed.timing import Comparison, compare
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import robot_state

FUNCTIONS = {
    "inverse_dynamics": 3, "gravity_torques": 1, "coriolis_torques": 2, "mass_matrix": 1, "pose": 1, "jacobian": 1,
    "forward_dynamics": 3, "coriolis_matrix": 2, "regressor": 3, "payload_regressor": 3,
}  # fmt: skip
"""Function: how many of q, dq, ddq it takes."""
OF_MANY = ("inverse_dynamics", "regressor", "mass_matrix", "pose")
CALLS = 2000


def random_states(robot: RobotModel, rows: int) -> tuple[FloatArray, ...]:
    """q, dq, ddq (rows, n) within the joints' limits."""
    rng, limits = np.random.default_rng(0), robot.limits
    shape = (rows, robot.n)
    q = rng.uniform(limits.lower, limits.upper, shape)
    return q, rng.uniform(-1.0, 1.0, shape) * limits.velocity, rng.uniform(-1.0, 1.0, shape) * limits.acceleration


def loop(function: Callable[..., FloatArray], states: tuple[FloatArray, ...], entry: tuple[int, ...]) -> FloatArray:
    """Results (rows, *entry) of a function of one state, row by row."""
    results = np.empty((len(states[0]), *entry))
    for k, row in enumerate(zip(*states, strict=True)):
        results[k] = function(*row)
    return results


def agree(name: str, ours: Any, theirs: FloatArray) -> None:
    """Raises AssertionError unless both computed the same."""
    if name.endswith("regressor"):  # Pinocchio's columns in our order
        blocks = theirs.reshape(*theirs.shape[:-1], -1, 10)[..., list(FROM_PINOCCHIO)]
        theirs = blocks.reshape(theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-9 * float(np.abs(ours).max()))


def of_many(robot: RobotModel, rows: int, turns: int) -> Iterator[Comparison]:
    """Time per state of each function, for `rows` states in one call, and in a loop over Pinocchio."""
    arm, states = PinocchioArm(robot), random_states(robot, rows)
    for name in OF_MANY:
        ours, theirs, given = getattr(robot, name), getattr(arm, name), states[: FUNCTIONS[name]]
        some = tuple(x[:100] for x in given)
        entry = ours(*some).shape[1:]
        agree(name, ours(*some), loop(theirs, some, entry))
        found = compare(name, partial(ours, *given), partial(loop, theirs, given, entry), turns=turns, calls=1)
        yield Comparison(name, found.ours / rows, found.theirs / rows, found.ratio)


def of_one(robot: RobotModel, turns: int) -> Iterator[Comparison]:
    """Time of one call of each function, its arguments checked."""
    arm, motion = PinocchioArm(robot), [x[0].copy() for x in random_states(robot, 1)]
    for name, count in FUNCTIONS.items():
        ours, theirs, arguments = getattr(robot, name), getattr(arm, name), motion[:count]
        if name != "coriolis_matrix":  # Pinocchio's is another factorisation: only C dq is the same
            agree(name, ours(*arguments), np.array(theirs(*arguments)))
        yield compare(name, partial(ours, *arguments), partial(theirs, *arguments), turns=turns, calls=CALLS)


def control_loop(robot: RobotModel, turns: int) -> Comparison:
    """Pose, gravity and Coriolis torques of one state."""
    arm = PinocchioArm(robot)
    q, dq, _ = (x[0].copy() for x in random_states(robot, 1))

    def theirs() -> None:
        arm.pose(q)
        arm.gravity_torques(q)
        arm.coriolis_torques(q, dq)

    name = "robot_state: pose, gravity, Coriolis"
    return compare(name, lambda: robot_state(robot, q, dq), theirs, turns=turns, calls=CALLS)
