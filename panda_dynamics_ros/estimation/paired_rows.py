# SPDX-License-Identifier: Apache-2.0
"""A run as rows of the regression y = Y theta + r, in which a payload is compared with none.

Y is the regressor of the payload, y the torque that the model of the unloaded arm does not explain, both at the motion
that the recording shows (`identification.rows`). Both then pass one zero-phase low-pass, so that the equation
holds on. The motion is known after the fact: velocities are taken from both sides in time, which leaves a fifth of the
noise that the momentum's causal filters leave (`estimation.regression`).

Rows are aligned by dynamic time warping (Sakoe and Chiba, IEEE T-ASSP 26(1), 1978) with free ends: the path that is
monotone in both runs and has the least sum of squared differences of posture and velocity. Between rows the moment is
the one at which the postures are nearest. A pause is one row, its average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics, payload_regressor
from panda_dynamics_ros.dynamics.effort import link_side_torques
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.identification.rows import prepare, without_rotors
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joint_dataset import JointDataset

CUTOFF_HZ = 3.0
"""Of the low-pass: a payload's torque is in the motion's band, below 2 Hz."""
EDGE_S = 0.6
"""Left out at both ends of a piece, where the low-pass knows one side only."""
RATE_HZ, MOST_ROWS = 50.0, 10_000
"""Rows per second; fewer where a run would have more rows than these: the alignment needs a byte for each pair."""
STILL_SPEED, MOVING_SPEED = 0.03, 0.3
"""rad/s, norm of dq below which the arm is at rest, and above which all time counts as motion."""
SLOW_SPEED = 0.05
"""rad/s, of a joint, below which its friction may be anything up to that in motion."""
PAUSE, SHORTEST_PAUSE_S = 0.01, 0.2
"""rad/s, speed of all joints during a pause, and its least length."""
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


@dataclass(frozen=True, eq=False)
class RunRows:
    """K rows of one run, low-passed.

    Attributes
    ----------
    name: of the recording. begin: s, its first stamp.
    stamp: (K,), s. q, dq: (K, n), rad, rad/s. Y: (K, n, 10) and y: (K, n), N m.
    motion: (K,), s in motion since the run's begin; while the arm stands still its error stays the same.
    slowness: (K, n), how near to standstill each joint is, from 0 to 1.
    """

    name: str
    begin: float
    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    Y: FloatArray
    y: FloatArray
    motion: FloatArray
    slowness: FloatArray

    def at(self, place: FloatArray | NDArray[np.intp]) -> RunRows:
        """Rows between rows, by linear interpolation at the row numbers `place` (N,)."""
        before = np.clip(np.floor(place).astype(np.intp), 0, max(len(self.stamp) - 2, 0))
        after = np.minimum(before + 1, len(self.stamp) - 1)
        share = np.clip(place - before, 0.0, 1.0)

        def between(x: FloatArray) -> FloatArray:
            s = share.reshape(-1, *[1] * (x.ndim - 1))
            return (1.0 - s) * x[before] + s * x[after]

        columns = (between(getattr(self, c)) for c in ("stamp", "q", "dq", "Y", "y", "motion", "slowness"))
        return RunRows(self.name, self.begin, *columns)


def rows_of(robot: RobotDescription, data: JointDataset) -> RunRows:
    """The rows of a recording of an arm, whose model has no payload.

    Raises
    ------
    DataError: no piece of the recording is long enough for the filters.
    """
    measured = replace(data, tau=link_side_torques(robot, data.q, data.tau))
    samples = without_rotors(prepare(measured, from_positions=True), robot)
    regressor = payload_regressor(robot, samples.q, samples.dq, samples.ddq)
    left = samples.tau - inverse_dynamics(robot, samples.q, samples.dq, samples.ddq)
    left -= friction_torques(robot, samples.dq)
    slowness = np.exp(-((samples.dq / SLOW_SPEED) ** 2))
    speed = np.linalg.norm(samples.dq, axis=1)
    share = np.clip((speed - STILL_SPEED) / (MOVING_SPEED - STILL_SPEED), 0.0, 1.0)
    size = len(samples)
    table = np.hstack((samples.q, samples.dq, regressor.reshape(size, -1), left, slowness))
    order = signal.butter(2, CUTOFF_HZ, fs=1.0 / samples.period, output="sos")
    every = max(1, round(max(1.0 / RATE_HZ, data.duration_s / MOST_ROWS) / samples.period))
    edge = round(EDGE_S / samples.period)
    motion = np.cumsum(share) * samples.period
    stamps, rows, motions = [], [], []
    for part in np.split(np.arange(size), np.flatnonzero(np.diff(samples.block)) + 1):
        kept = part[edge : len(part) - edge : every]
        if len(kept) > 1:
            filtered = signal.sosfiltfilt(order, table[part], axis=0, padlen=min(edge, len(part) - 1))
            rows.append(filtered[kept - part[0]])
            stamps.append(samples.stamp[kept])
            motions.append(motion[kept])
    if not rows:
        raise DataError(
            f"{data.source}: expected {2.0 * EDGE_S + 0.3:g} s or more in one piece, got {data.duration_s:.2f} s"
        )
    stamp, table, motion = _pauses_averaged(
        np.concatenate(stamps), np.concatenate(rows), np.concatenate(motions), robot.n
    )
    n = robot.n
    q, dq, Y, y, slowness = np.split(table, np.cumsum([n, n, n * PARAMETERS, n]), axis=1)
    Y, slowness = Y.reshape(-1, n, PARAMETERS), np.clip(slowness, 0.0, 1.0)
    return RunRows(data.source, float(data.stamp[0]), stamp, q, dq, Y, y, motion, slowness)


def _pauses_averaged(stamp: FloatArray, table: FloatArray, motion: FloatArray, n: int) -> tuple[FloatArray, ...]:
    """Rows with each stretch at rest replaced by its average."""
    still = np.abs(table[:, n : 2 * n]).max(axis=1) < PAUSE
    rows = []
    for part in np.split(np.arange(len(stamp)), np.flatnonzero(np.diff(still)) + 1):
        whole = np.column_stack((stamp, motion, table))[part]
        pause = still[part[0]] and whole[-1, 0] - whole[0, 0] >= SHORTEST_PAUSE_S
        rows.append(whole.mean(axis=0, keepdims=True) if pause else whole)
    joined = np.concatenate(rows)
    return joined[:, 0], joined[:, 2:], joined[:, 1]


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
