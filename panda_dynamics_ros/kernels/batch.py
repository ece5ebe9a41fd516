# SPDX-License-Identifier: Apache-2.0
"""Leading dimensions: arguments of shape (..., n) checked, broadcast and flattened for the kernels.

One state in plain arrays, the argument of every control loop, takes a short way: `is_one_state` here, and
`finite` inside the compiled call. Whatever does not pass there goes the long way, which says what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.kernels.compiled import compiled
from panda_dynamics_ros.robot.description import RobotDescription

_FLOAT64, _NDARRAY = np.dtype(np.float64), np.ndarray


def is_one_state(robot: RobotDescription, *arrays: Any) -> bool:
    """Whether each is an array (n,) as the kernels for one state take it: float64, contiguous, aligned, writeable."""
    shape = (robot.n,)
    for x in arrays:
        if type(x) is not _NDARRAY or x.dtype is not _FLOAT64 or x.shape != shape or not x.flags.carray:
            return False
    return True


def is_one_motion(robot: RobotDescription, q: Any, dq: Any, ddq: Any) -> bool:
    """`is_one_state` of position, velocity and acceleration, without its loop, for the innermost calls."""
    return (
        type(q) is type(dq) is type(ddq) is _NDARRAY
        and q.dtype is dq.dtype is ddq.dtype is _FLOAT64
        and q.shape == dq.shape == ddq.shape == (robot.n,)
        and q.flags.carray
        and dq.flags.carray
        and ddq.flags.carray
    )


@compiled
def finite(x):
    """Whether all numbers of x (n,) are: inf - inf and nan - nan are nan."""
    total = 0.0
    for xi in x:
        total += xi - xi
    return total == 0.0


def joint_rows(robot: RobotDescription, **named: ArrayLike) -> tuple[tuple[int, ...], list[FloatArray]]:
    """The common leading shape of the `named` joint arrays, and each as contiguous (rows, n).

    Raises
    ------
    ArgumentError: an argument is not a finite (..., n) array, or the leading shapes do not broadcast.
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
