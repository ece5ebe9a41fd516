# SPDX-License-Identifier: Apache-2.0
"""From one state to many: the driver of every algorithm, and the arguments of shape (..., n) that it takes.

`batched` turns the compiled function that computes one state into two kernels: one for a control loop, and one for rows
of states, which takes eight at a time and then the rest.

A public function tests for one state in plain arrays first, since that is what a control loop has: `is_one_state`
before the compiled call, and `finite` within it. Other arguments are checked, broadcast and flattened by `joint_rows`,
which raises the error if something is wrong with them.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.dynamics.kernels.lanes import LANES, state_lanes, work_lanes
from panda_dynamics_ros.dynamics.kernels.scratch import scratch
from panda_dynamics_ros.dynamics.kernels.vectors import place_joints
from panda_dynamics_ros.errors import ArgumentError
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
    """Whether all entries of x (n,) are finite. For inf and nan, x - x is nan; else it is 0."""
    total = 0.0
    for xi in x:
        total += xi - xi
    return total == 0.0


_DRIVERS = """
def {name}_of_one({parameters}):
    n = q.shape[0]
    {one.space}
    {one.place}
    {one.call}
    return {finite}

def {name}_of_rows({parameters}):  # without Python's lock
    n = q.shape[1]
    {row.space}
    for k in range(q.shape[0]):
        {row.place}
        {row.call}

def {name}_of_eights({parameters}):  # without Python's lock
    rows, n = q.shape
    eights = rows - rows % LANES
    if eights > 0:
        {eight.space}
        for k in range(0, eights, LANES):
            {eight.place}
            {eight.call}
    {row.space}
    for k in range(eights, rows):
        {row.place}
        {row.call}
"""


class RowsKernel:
    """Computes rows of states: eight at a time, or one after the other; the results are equal.

    Eight at a time is up to ten times as fast, but takes seconds to compile. Fewer rows than eight are computed one
    after the other, and all within `one_at_a_time`.
    """

    one_at_a_time = False

    def __init__(self, of_eights: Any, of_rows: Any, shared: int) -> None:
        self.of_eights, self.of_rows, self._shared = of_eights, of_rows, shared

    def __call__(self, *arguments: Any) -> None:
        """Fill the results, the last arguments, in place. The first `shared` arguments are the same for all rows."""
        rows = len(arguments[self._shared])
        kernel = self.of_rows if RowsKernel.one_at_a_time or rows < LANES else self.of_eights
        count = min(_THREADS.get(), rows // LEAST_ROWS)
        if count < 2:
            kernel(*arguments)
            return
        # Whole eights to each, so that every row is computed as it would be by one thread.
        length = LANES * -(-rows // (LANES * count))
        shared, arrays = arguments[: self._shared], arguments[self._shared :]
        parts = [slice(first, first + length) for first in range(0, rows, length)]
        jobs = [_pool(count).submit(kernel, *shared, *(array[part] for array in arrays)) for part in parts]
        for job in jobs:
            job.result()


LEAST_ROWS = 256
"""Rows that are worth a thread: some 25 us of inverse dynamics."""
_THREADS = ContextVar("threads", default=1)
_pool = cache(ThreadPoolExecutor)


@contextlib.contextmanager
def threads(count: int | None = None) -> Iterator[None]:
    """A context in which functions of many states use `count` threads; the results are the same to the last bit.

    Parameters
    ----------
    count: of threads; left out, as many as there are cores that this process may use.

    Raises
    ------
    ArgumentError: the count is not a positive integer.
    """
    if count is None:
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(count, int) or count < 1:
        raise ArgumentError(f"count: expected a positive integer, got {count!r}")
    before = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(before)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """A context in which rows are computed one by one: for set-up work that is not worth seconds of compilation."""
    before, RowsKernel.one_at_a_time = RowsKernel.one_at_a_time, True
    try:
        yield
    finally:
        RowsKernel.one_at_a_time = before


class _Lines(NamedTuple):
    """The lines of a driver that name the states: allocate the workspace, place the joints, call the sample."""

    space: str
    place: str
    call: str


def batched(sample: Any, columns: int = 0) -> tuple[Any, RowsKernel]:
    """The kernels for one state and for rows of states of a compiled function, which computes one state or eight.

    Parameters
    ----------
    sample: its name ends with `_sample`. Its parameters are, in this order and by these names: `table`; options;
        `frames`, or `q`, then `dq`, `ddq`, as many as it needs; with `frames` a workspace (n, columns); results. Where
        it takes `frames` (n, 12), `place_joints` has been called.
    columns: of the workspace; 0 for a sample that takes `q`.

    Returns
    -------
    Both take (table, options, states, results). The first takes one state, arrays (n,), and returns whether they are
    finite; the second takes arrays (rows, n) and results with a leading dimension.

    The kernels are written out from the parameters' names. A function that passes tuples of arrays on would do, too,
    but numba counts references to each array in a tuple, which makes batches 10 to 20 % slower.
    """
    function = sample.py_func
    parameters = list(inspect.signature(function).parameters)
    first = parameters.index("frames" if columns else "q")
    states = ["q", *(name for name in parameters if name in ("dq", "ddq"))]
    work = ["frames", parameters[first + len(states)]] if columns else []
    results = [name for name in parameters[first:] if name not in (*states, *work)]

    def lines(form: str, allocate: str) -> _Lines:
        entries = (form.format(name) if name in (*states, *results) else name for name in parameters)
        call = f"{function.__name__}({', '.join(entries)})"
        if not columns:
            return _Lines("pass", "pass", call)
        space = f"{work[0]}, {work[1]} = {allocate}((n, 12)), {allocate}((n, {columns}))"
        return _Lines(space, f"place_joints(table, {form.format('q')}, frames)", call)

    name = function.__name__.removesuffix("_sample")
    text = _DRIVERS.format(
        name=name,
        parameters=", ".join(["table", *parameters[1:first], *states, *results]),
        finite=" and ".join(f"finite({name})" for name in states),
        one=lines("{}", "scratch"),
        eight=lines("state_lanes({}, k)", "work_lanes"),
        row=lines("{}[k]", "scratch"),
    )
    names = {
        "__name__": function.__module__,
        function.__name__: sample,
        "scratch": scratch,
        "LANES": LANES,
        "finite": finite,
    }
    names |= {"place_joints": place_joints, "state_lanes": state_lanes, "work_lanes": work_lanes}
    # As code of the sample's file, since that is where numba puts a kernel's cache; beyond its end, since numba reads
    # the lines that it is said to have, and Python 3.13 fails where they begin within a docstring.
    exec(compile("\n" * 10_000 + text, function.__code__.co_filename, "exec"), names)
    of_one = compiled(names[f"{name}_of_one"], text)
    of_rows, of_eights = (compiled(names[f"{name}_of_{what}"], text, nogil=True) for what in ("rows", "eights"))
    return of_one, RowsKernel(of_eights, of_rows, first)


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
    """The kernel's one result (..., *shape) for `named` joint arrays (..., n), checked by `joint_rows`."""
    leading, rows = joint_rows(robot, **named)
    result = np.empty((len(rows[0]), *shape))
    kernel(robot.table, *options, *rows, result)
    return result.reshape(*leading, *shape)
