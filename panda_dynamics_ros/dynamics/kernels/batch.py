# SPDX-License-Identifier: Apache-2.0
"""From one state to many: the arguments of shape (..., n) that a public function takes, and its kernels.

A kernel takes states that are stacked along the first axis: q of m states is (m n,), their mass matrices are (m n, n).
One state is a stack of one, so a control loop calls the same kernel. Some algorithms have a second kernel, for `blocks`
of states, which is several times as fast and takes seconds to compile.

`of_states` tests for one state in plain arrays first, since that is what a control loop has: by `is_one_state` before
the compiled call, and with `finite` within it. Other arguments are checked, broadcast and flattened by `joint_rows`,
which raises the error if something is wrong with them.
"""

from collections.abc import Sequence
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


def is_one_state(robot: RobotDescription, arrays: Sequence[Any]) -> bool:
    """Whether each is an array (n,) as the kernels for one state take it: float64, contiguous, aligned, writeable."""
    n = robot.n
    for x in arrays:
        if type(x) is not _NDARRAY or x.dtype is not _FLOAT64 or x.ndim != 1 or len(x) != n or not x.flags.carray:
            return False
    return True


@part
def finite(x):
    """Whether all entries of x are finite. For inf and nan, x - x is nan; else it is 0."""
    total = 0.0
    for xi in x:
        total += xi - xi
    return total == 0.0


def of_states(
    robot: RobotDescription, joints: tuple[Any, ...], kernel: Any, blocks: Any, arguments: tuple[Any, ...]
) -> Any:
    """The result of a kernel, (..., *shape), for joint arrays (..., n), which are checked.

    joints: the joint arrays, as they are among the arguments.
    kernel: for stacked states; returns whether all numbers of the states are finite.
    blocks: for rows of them, from `MANY` on: fewer are not worth its compilation. None where there is none.
    arguments: of both kernels: options, the joint arrays, and, zero, the result for one state, which is written.
    """
    if is_one_state(robot, joints) and kernel(*arguments):
        return arguments[-1]
    first = len(arguments) - 1 - len(joints)
    names, options = kernel.py_func.__code__.co_varnames[first : len(arguments) - 1], arguments[:first]
    leading, rows = joint_rows(robot, **dict(zip(names, joints, strict=True)))
    shape = arguments[-1].shape
    result = np.zeros((len(rows[0]), *shape))
    if blocks is None or len(result) < MANY:
        kernel(*options, *(array.reshape(-1, *array.shape[2:]) for array in (*rows, result)))
    else:
        blocks(*options, *rows, result)
    return result.reshape(*leading, *shape)


def joint_rows(robot: RobotDescription, **named: ArrayLike) -> tuple[tuple[int, ...], list[FloatArray]]:
    """The common leading shape of the `named` joint arrays, and each as contiguous (rows, n).

    Raises ArgumentError: an argument is not a finite (..., n) array, or the leading shapes do not broadcast.
    """
    arrays = [checks.trailing(value, (robot.n,), name) for name, value in named.items()]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(named, arrays, strict=True))
        raise ArgumentError(f"{', '.join(named)}: expected leading shapes that broadcast, got {shapes}") from error
    arrays = [array if array.shape == shape else np.broadcast_to(array, shape) for array in arrays]
    return shape[:-1], [checks.for_kernel(array).reshape(-1, robot.n) for array in arrays]
