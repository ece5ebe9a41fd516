# SPDX-License-Identifier: Apache-2.0
"""From one state to many: the arguments of shape (..., n) that a public function takes, and its kernels.

A kernel takes states that are stacked along the first axis: q of m states is (m n,), their mass matrices are (m n, n).
One state is a stack of one, so a control loop calls the same kernel. Some algorithms have a second kernel, for blocks
of states, which is several times as fast and takes seconds to compile.

A public function tests for one state in plain arrays first, since that is what a control loop has: `is_one_state`
before the compiled call, and `finite` within it. Other arguments are checked, broadcast and flattened by `joint_rows`,
which raises the error if something is wrong with them.

In a block, each number of a state stands beside the same number of the other states. Its workspace W (n + 1, NUMBERS,
BLOCK) has a row of numbers for each link, and one more. A driver goes through the links, and for each link through the
states of the block: that innermost loop has no branches and reads and writes neighbours, so that LLVM's vectoriser
computes four or eight states with one instruction. It does not do this with a loop over states around a recursion over
links. The functions of one state (`step_outward`, ...) are the same, and so are their results, to the last bit.

Everything is in one array because LLVM has to show at run time that arrays do not overlap, and gives up at many.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import (
    LARGEST,
    add,
    column,
    cos_sin,
    fixed_rotation,
    part,
    reduced_cos_sin,
    scale,
    slides,
    translation,
    turned,
)
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription

BLOCK, NUMBERS = 16, 32
PLACED, ORIGIN, POSITION, COSINE, SINE = 0, 9, 12, 13, 14  # rotation and translation of a joint; its position
FREE = 15  # from here on, each driver has its own numbers


@part
def workspace(n):
    """W of an arm with n joints."""
    return np.empty((n + 1, NUMBERS, BLOCK))


@part
def get(V, k, b):
    """The vector of state b whose first number is in row k of V (NUMBERS, BLOCK)."""
    return (V[k, b], V[k + 1, b], V[k + 2, b])


@part
def put(V, k, b, a):
    """Write the vector of state b that begins in row k of V."""
    V[k, b] = a[0]
    V[k + 1, b] = a[1]
    V[k + 2, b] = a[2]


@part
def get_rotation(V, k, b):
    """The rotation of state b that begins in row k of V."""
    return (
        V[k, b], V[k + 1, b], V[k + 2, b],
        V[k + 3, b], V[k + 4, b], V[k + 5, b],
        V[k + 6, b], V[k + 7, b], V[k + 8, b],
    )  # fmt: skip


@part
def put_rotation(V, k, b, R):
    """Write the rotation of state b that begins in row k of V."""
    put(V, k, b, (R[0], R[1], R[2]))
    put(V, k + 3, b, (R[3], R[4], R[5]))
    put(V, k + 6, b, (R[6], R[7], R[8]))


@part
def load(W, k, states):
    """Copy joint values (count, n) into row k of each link."""
    for i in range(states.shape[1]):
        V = W[i]
        for b in range(states.shape[0]):
            V[k, b] = states[b, i]


@part
def place_block(table, W, q, joints):
    """Place the first joints of the states q (count, n): as `place_joints`, into PLACED and ORIGIN."""
    count = q.shape[0]
    load(W, POSITION, q)
    for i in range(joints):
        V, R, p = W[i], fixed_rotation(table, i), translation(table, i)
        if slides(table, i):
            for b in range(count):
                put_rotation(V, PLACED, b, R)
                put(V, ORIGIN, b, add(p, scale(V[POSITION, b], column(R, 2))))
            continue
        ordinary = True
        for b in range(count):
            ordinary &= abs(V[POSITION, b]) <= LARGEST
        if ordinary:
            for b in range(count):
                V[COSINE, b], V[SINE, b] = reduced_cos_sin(V[POSITION, b])
        else:
            for b in range(count):
                V[COSINE, b], V[SINE, b] = cos_sin(V[POSITION, b])
        for b in range(count):
            put_rotation(V, PLACED, b, turned(R, V[COSINE, b], V[SINE, b]))
            put(V, ORIGIN, b, p)


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
    """A kernel for rows of states: (table, *options, *states (rows, n), *results (rows, ...)), results in place.

    Parameters
    ----------
    stacked: the kernel for stacked states.
    blocks: that for blocks of rows, where there is one. It is compiled for many rows only; see `one_at_a_time`.
    shared: how many arguments, table and options, belong to all rows.
    """

    one_at_a_time = False

    def __init__(self, stacked: Any, blocks: Any = None, shared: int = 1) -> None:
        self.stacked, self.blocks, self._shared = stacked, blocks, shared

    def __call__(self, *arguments: Any) -> None:
        """Fill the results, the last arguments, in place."""
        shared, arrays = arguments[: self._shared], arguments[self._shared :]
        rows = len(arrays[0])
        if self.blocks is None or rows < BLOCK or RowsKernel.one_at_a_time:
            self.stacked(*shared, *(array.reshape(-1, *array.shape[2:]) for array in arrays))
            return
        self.blocks(*shared, *arrays)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """A context in which rows are computed one by one: for set-up work that is not worth seconds of compilation."""
    before, RowsKernel.one_at_a_time = RowsKernel.one_at_a_time, True
    try:
        yield
    finally:
        RowsKernel.one_at_a_time = before


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


def over_rows(
    robot: RobotDescription, kernel: Any, shape: tuple[int, ...], *options: Any, **named: ArrayLike
) -> FloatArray:
    """The kernel's result (..., *shape) for `named` joint arrays (..., n), checked by `joint_rows`."""
    return results_over_rows(robot, kernel, [shape], *options, **named)[0]


def results_over_rows(
    robot: RobotDescription, kernel: Any, shapes: Sequence[tuple[int, ...]], *options: Any, **named: ArrayLike
) -> list[FloatArray]:
    """The kernel's results (..., *shape), as `over_rows`; entries that the kernel leaves out are zero."""
    leading, rows = joint_rows(robot, **named)
    results = [np.zeros((len(rows[0]), *shape)) for shape in shapes]
    kernel(robot.table, *options, *rows, *results)
    return [result.reshape(*leading, *shape) for result, shape in zip(results, shapes, strict=True)]
