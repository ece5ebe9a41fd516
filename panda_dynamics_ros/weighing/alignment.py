# SPDX-License-Identifier: Apache-2.0
"""Runs of one motion, aligned by posture: which moment of one run belongs to which moment of another.

Rows are aligned by dynamic time warping (Sakoe and Chiba, IEEE T-ASSP 26(1), 1978) with free ends: the path that is
monotone in both runs and has the least sum of squared differences of posture and velocity. Between rows the moment is
the one at which the postures are nearest. A pause is one row, its average.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.weighing.run_rows import RunRows

POSTURE, VELOCITY = 0.02, 0.1
"""rad, rad/s: differences that count alike in the alignment."""
LARGEST_POSTURE, LARGEST_VELOCITY = 0.1, 0.3
"""rad, rad/s: beyond these in a joint, moments are not those of one motion. A loaded arm sags by some hundredths."""
LEAST_STEP = 1e-4
"""rad from row to row, below which the arm does not move."""
FAR = 1e3
"""Cost of a pair of rows at most, so that what one of two runs has before and after the motion is passed over."""
MISMATCH_SHARE = 0.2
"""Part of a run that may differ from the motion of another before the pair is refused."""


def warp(first: FloatArray, second: FloatArray, most: float) -> NDArray[np.intp]:
    """For each row of `first` (K, c), the row of `second` (M, c) on the cheapest monotone path with free ends."""
    path, came = np.empty(len(first), dtype=np.intp), np.empty((len(first), len(second)), dtype=np.uint8)
    cheapest_path(first, second, most, came, np.zeros(len(second)), path)
    return path


@compiled
def cheapest_path(first, second, most, came, total, path):
    """`warp` into `path` (K,); came (K, M) is the way to each pair of rows, total (M,) the cost so far, at first 0."""
    K, M = came.shape
    for k in range(K):
        diagonal = 0.0
        for m in range(M):
            cost = 0.0
            for c in range(first.shape[1]):
                cost += (first[k, c] - second[m, c]) ** 2
            cost = min(cost, most)
            best, way = total[m], 1  # from (k - 1, m)
            if m > 0 and k > 0 and diagonal < best:
                best, way = diagonal, 2
            if m > 0 and k > 0 and total[m - 1] < best:
                best, way = total[m - 1], 3
            if k == 0:
                best, way = 0.0, 0
            diagonal = total[m]
            total[m], came[k, m] = best + cost, way
    m, k, nearest = int(np.argmin(total)), K - 1, np.inf
    while True:
        cost = 0.0
        for c in range(first.shape[1]):
            cost += (first[k, c] - second[m, c]) ** 2
        if cost < nearest:
            nearest, path[k] = cost, m
        way = came[k, m]
        if way == 0:
            return
        if way != 1:
            m -= 1
        if way != 3:
            k, nearest = k - 1, np.inf


def aligned(reference: RunRows, other: RunRows) -> tuple[RunRows, NDArray[np.bool_]]:
    """The other run at the moments of the reference's rows (K), and which of these belong to the same motion.

    Raises
    ------
    DataError: the motions differ in more than `MISMATCH_SHARE` of the time; the message names the worst joint.
    """
    features = [np.hstack((run.q / POSTURE, run.dq / VELOCITY)) for run in (reference, other)]
    row = warp(features[0], features[1], FAR)
    place = _nearest_moment(reference, other, row)
    found = other.at(place)
    excess = np.maximum(
        np.abs(reference.q - found.q) / LARGEST_POSTURE, np.abs(reference.dq - found.dq) / LARGEST_VELOCITY
    )
    same = excess.max(axis=1) <= 1.0
    last = len(other.stamp) - 1
    within = (row > 0) & (row < last) | same
    _check(reference, other, found, excess, within)
    return found, same


def _nearest_moment(reference: RunRows, other: RunRows, row: NDArray[np.intp]) -> FloatArray:
    """Row numbers, with a fraction, at which the other run's posture comes nearest to the reference's."""
    last = len(other.stamp) - 1
    place = row.astype(float)
    for _ in range(2):
        there = other.at(place)
        before = np.clip(np.floor(place).astype(np.intp), 0, last - 1)
        slope = other.q[before + 1] - other.q[before]
        size = np.sum(slope * slope, axis=1)
        moves = size > LEAST_STEP**2
        step = np.sum((reference.q - there.q) * slope, axis=1) / np.where(moves, size, 1.0)
        place = np.clip(place + np.where(moves, np.clip(step, -1.0, 1.0), 0.0), 0.0, last)
    return np.maximum.accumulate(place)


def _check(reference: RunRows, other: RunRows, found: RunRows, excess: FloatArray, within: NDArray[np.bool_]) -> None:
    """Refuse a pair whose motions differ for more than a part of the time, or that has next to none in common."""
    differs = (excess.max(axis=1) > 1.0) & within
    if np.mean(differs) <= MISMATCH_SHARE and np.mean(within) >= MISMATCH_SHARE:
        return
    worst = excess.max(axis=1) * (differs if differs.any() else 1.0)
    k = int(np.argmax(worst))
    joint = int(np.argmax(excess[k]))
    far = np.flatnonzero(worst <= 1.0)
    start = far[far < k].max(initial=-1) + 1
    end = far[far > k].min(initial=len(worst)) - 1
    times = reference.stamp[[start, end]] - reference.begin
    raise DataError(
        f"{reference.name} and {other.name}: expected runs of one motion, got motions that differ for "
        f"{100.0 * np.mean(differs | ~within):.0f} % of the first; the worst is joint {joint + 1} from {times[0]:.1f} "
        f"to {times[1]:.1f} s, up to {abs(reference.q[k, joint] - found.q[k, joint]):.2f} rad and "
        f"{abs(reference.dq[k, joint] - found.dq[k, joint]):.2f} rad/s apart"
    )
