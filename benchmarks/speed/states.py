# SPDX-License-Identifier: Apache-2.0
"""Many states: one call of ours against a Python loop over Pinocchio; both leave their results in one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.speed.pinocchio_arm import FROM_PINOCCHIO, PinocchioArm
from benchmarks.speed.timing import Comparison, compare
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray

FUNCTIONS = {"inverse_dynamics": 3, "regressor": 3, "mass_matrix": 1, "pose": 1}
"""Function: how many of q, dq, ddq it takes."""


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


def in_our_order(name: str, results: FloatArray) -> FloatArray:
    """Pinocchio's columns of a regressor in our order."""
    if not name.endswith("regressor"):
        return results
    blocks = results.reshape(*results.shape[:-1], -1, 10)[..., list(FROM_PINOCCHIO)]
    return blocks.reshape(results.shape)


def agree(name: str, ours: Any, theirs: FloatArray) -> None:
    """Raises AssertionError unless both computed the same: torques to 1e-9 of the largest."""
    np.testing.assert_allclose(ours, in_our_order(name, theirs), rtol=0.0, atol=1e-9 * float(np.abs(ours).max()))


def comparisons(robot: RobotModel, rows: int, turns: int) -> Iterator[Comparison]:
    """Time per state of each function, for `rows` states in one call."""
    arm, states = PinocchioArm(robot), random_states(robot, rows)
    for name, count in FUNCTIONS.items():
        ours, theirs = getattr(robot, name), getattr(arm, name)
        some = tuple(x[:100] for x in states[:count])
        entry = ours(*some).shape[1:]
        agree(name, ours(*some), loop(theirs, some, entry))

        def here(ours: Any = ours, count: int = count) -> None:
            ours(*states[:count])

        def there(theirs: Any = theirs, count: int = count, entry: tuple[int, ...] = entry) -> None:
            loop(theirs, states[:count], entry)

        found = compare(name, here, there, turns=turns, calls=1)
        yield Comparison(name, found.ours / rows, found.theirs / rows, found.ratio)
