# SPDX-License-Identifier: Apache-2.0
"""From one state to many: the arguments of shape (..., n) that a public function takes, and its kernels.

A kernel takes states that are stacked along the first axis: q of m states is (m n,), their mass matrices are (m n, n).
One state is a stack of one, so a control loop calls the same kernel. Some algorithms have a second kernel, for `blocks`
of states, which is several times as fast and takes seconds to compile.

A public function tests for one state in plain arrays first, since that is what a control loop has: `is_one_state`
before the compiled call, and `finite` within it. Other arguments are checked, broadcast and flattened by `joint_rows`,
which raises the error if something is wrong with them.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.compiled import part
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription

MANY = 1000  # rows
_FLOAT64, _NDARRAY = np.dtype(np.float64), np.ndarray


def is_one_state(robot: RobotDescription, *arrays: Any) -> bool:
    """Whether each is an array (n,) as the kernels for one state take it: float64, contiguous, aligned, writeable."""
    shape = (robot.n,)
    for x in arrays:
        if type(x) is not _NDARRAY or x.dtype is not _FLOAT64 or x.shape != shape or not x.flags.carray:
            return False
    return True


@part
def finite(x):
    """Whether all entries of x are finite. For inf and nan, x - x is nan; else it is 0."""
    total = 0.0
    for xi in x:
        total += xi - xi
    return total == 0.0


class RowsKernel:
    """A kernel for rows of states: (table, *options, *states (rows, n), result (rows, ...)), the result in place.

    stacked: the kernel for stacked states.
    blocks: that for blocks of rows, where there is one: for `MANY`, since fewer are not worth seconds of compilation.
    """

    def __init__(self, stacked: Any, blocks: Any = None) -> None:
        self.stacked, self.blocks = stacked, blocks

    def __call__(
        self, robot: RobotDescription, shape: tuple[int, ...], *options: Any, **named: ArrayLike | None
    ) -> FloatArray:
        """An array (..., *shape) for the `named` joint arrays (..., n), checked; zero where the kernel writes nothing.

        None stands for zeros.
        """
        leading, rows = joint_rows(robot, **{name: value for name, value in named.items() if value is not None})
        given = iter(rows)
        rows = [np.zeros_like(rows[0]) if value is None else next(given) for value in named.values()]
        result = np.zeros((len(rows[0]), *shape))
        if self.blocks is None or len(rows[0]) < MANY:
            stacked = (array.reshape(-1, *array.shape[2:]) for array in (*rows, result))
            self.stacked(robot.table, *options, *stacked)
        else:
            self.blocks(robot.table, *options, *rows, result)
        return result.reshape(*leading, *shape)


def joint_rows(robot: RobotDescription, **named: ArrayLike) -> tuple[tuple[int, ...], list[FloatArray]]:
    """The common leading shape of the `named` joint arrays, and each as contiguous (rows, n).

    Raises ArgumentError: an argument is not a finite (..., n) array, or the leading shapes do not broadcast.
    """
    arrays = [robot.joint_array(value, name) for name, value in named.items()]
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        try:
            arrays = [np.array(array, order="C") for array in np.broadcast_arrays(*arrays)]
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(named, arrays, strict=True))
            raise ArgumentError(f"{', '.join(named)}: expected leading shapes that broadcast, got {shapes}") from error
        shape = arrays[0].shape
    return shape[:-1], [checks.for_kernel(array).reshape(-1, robot.n) for array in arrays]
