# SPDX-License-Identifier: Apache-2.0
"""Many states by several threads: the same bits as by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.kernels.batch import LEAST_ROWS
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix_kernel
from panda_dynamics_ros.errors import ArgumentError

ROWS = 5 * LEAST_ROWS + 3  # neither a multiple of the threads nor of eight


def functions(robot: pdr.RobotModel, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    q, dq, ddq = (rng.normal(size=(ROWS, robot.n)) for _ in range(3))
    return {
        "pose": lambda: robot.pose(q),
        "inverse_dynamics": lambda: robot.inverse_dynamics(q, dq, ddq),
        "forward_dynamics": lambda: robot.forward_dynamics(q, dq, ddq),
        "mass_matrix": lambda: robot.mass_matrix(q),
        "regressor": lambda: robot.regressor(q, dq, ddq),
        "momentum": lambda: robot.momentum(q, dq),
    }


def test_threads_give_the_same_bits(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    for name, function in functions(panda, rng).items():
        alone = function()
        for count in (2, 3, 16):
            with pdr.threads(count):
                together = function()
            for one, other in zip(np.atleast_1d(alone), np.atleast_1d(together), strict=True):
                np.testing.assert_array_equal(one, other, err_msg=name)


def test_a_batch_does_not_hold_the_interpreter() -> None:
    """Otherwise threads would wait for each other; whether they do is a matter of time, which no test measures."""
    assert mass_matrix_kernel.blocks.targetoptions["nogil"]


def test_the_number_of_threads_is_checked_and_given_back(panda: pdr.RobotModel) -> None:
    for count in (0, -1, 1.5, "2"):
        with pytest.raises(ArgumentError, match="count: expected a positive integer"), pdr.threads(count):  # type: ignore[arg-type]
            pass
    with pdr.threads(), pdr.threads(2):
        assert panda.mass_matrix(np.zeros((1000, 7))).shape == (1000, 7, 7)
