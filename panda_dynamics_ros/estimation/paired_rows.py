# SPDX-License-Identifier: Apache-2.0
"""Runs of one motion as rows of the regression y = Y theta + r, at the same moments of the motion.

Y is the regressor of the payload, y the torque that the model of the unloaded arm does not explain, both at the motion
that the recording shows (`dynamics.motion_samples`). Both then pass one zero-phase low-pass, so that the equation
holds on. The motion is known after the fact: velocities are taken from both sides in time, which leaves a fifth of the
noise that the momentum's causal filters leave. A pause is one row, its average.

Rows of different runs are aligned by dynamic time warping (Sakoe and Chiba, IEEE T-ASSP 26(1), 1978) with free ends:
the path that is monotone in both runs and has the least sum of squared differences of posture and velocity. Between
rows the moment is the one at which the postures are nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics, link_side_torques, payload_regressor
from panda_dynamics_ros.dynamics.motion_samples import prepare
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joint_dataset import JointDataset

CUTOFF_HZ = 3.0  # of the low-pass: a payload's torque is in the motion's band, below 2 Hz
EDGE_S = 0.6  # left out at both ends of a piece, where the low-pass knows one side only
RATE_HZ, MOST_ROWS = 50.0, 7_000
"""Rows per second; fewer where a run would have more rows than these: the alignment needs two bytes for each pair."""
ROW_S, LEAST_ROWS = 0.2, 5
"""s between the rows that are compared, and how many there must be. Nearer ones share what the low-pass spreads."""
STILL_SPEED, MOVING_SPEED = 0.03, 0.3  # rad/s, norm of dq below which the arm rests, above which all time is motion
SLOW_SPEED = 0.05  # rad/s, of a joint, below which its friction may be anything up to that in motion
PAUSE, SHORTEST_PAUSE_S = 0.01, 0.2  # rad/s, speed of all joints during a pause, and its least length
POSTURE, VELOCITY = 0.02, 0.1  # rad, rad/s: differences that count alike in the alignment
LARGEST_POSTURE, LARGEST_VELOCITY = 0.1, 0.3
"""rad, rad/s: beyond these in a joint, moments are not those of one motion. A loaded arm sags by some hundredths."""
LEAST_STEP = 1e-4  # rad from row to row, below which the arm does not move
FAR = 1e3  # cost of a pair of rows at most, so that what one of two runs has before and after the motion is passed over
MISMATCH_SHARE = 0.2  # part of a run that may differ from the motion of another before the pair is refused


class RunRows:
    """K rows of one run, low-passed.

    table: (K, ..), the columns of what follows, side by side; n: joints.

    name: of the recording. begin: s, its first stamp.
    stamp: (K,), s. motion: (K,), s in motion since the run's begin: at standstill the arm's error stays the same.
    q, dq: (K, n), rad, rad/s. Y: (K, n, 10) and y: (K, n), N m.
    slowness: (K, n), how near to standstill each joint is, from 0 to 1.
    still: (K,), whether a row is a pause.
    """

    def __init__(self, name: str, begin: float, table: FloatArray, n: int) -> None:
        self.name, self.begin, self._table = name, begin, table
        self.stamp, self.motion = table[:, :2].T
        places = np.cumsum([2, n, n, n * PARAMETERS, n])
        self.q, self.dq, Y, self.y, self.slowness = np.split(table, places, axis=1)[1:]
        self.Y, self.still = Y.reshape(-1, n, PARAMETERS), np.abs(self.dq).max(axis=1) < PAUSE

    def at(self, place: FloatArray | NDArray[np.intp]) -> RunRows:
        """Rows between rows, by linear interpolation at the row numbers `place` (N,)."""
        before = np.clip(np.floor(place).astype(np.intp), 0, max(len(self.stamp) - 2, 0))
        after = np.minimum(before + 1, len(self.stamp) - 1)
        share = np.clip(place - before, 0.0, 1.0)[:, None]
        table = (1.0 - share) * self._table[before] + share * self._table[after]
        return RunRows(self.name, self.begin, table, self.q.shape[1])


def rows_of(robot: RobotDescription, data: JointDataset) -> RunRows:
    """The rows of a recording of an arm, whose model has no payload.

    Raises DataError: no piece of the recording is long enough for the filters.
    """
    n, measured = robot.n, replace(data, tau=link_side_torques(robot, data.q, data.tau))
    samples = prepare([measured], from_positions=True)
    q, dq, ddq, period = samples.q, samples.dq, samples.ddq, samples.period
    of_arm = inverse_dynamics(robot, q, dq, ddq) + friction_torques(robot, dq) + robot.felt_rotor_inertia * ddq
    left, gain = samples.tau - of_arm, float(np.vdot(samples.tau, of_arm) / np.vdot(of_arm, of_arm))
    if not 0.2 < gain < 5.0:  # as no payload changes it
        raise DataError(f"{data.source}: torques are {gain:.2g} times those of {robot.name}: check robot and effort")
    regressor = payload_regressor(robot, q, dq, ddq).reshape(len(q), -1)
    moving = np.clip((np.linalg.norm(dq, axis=1) - STILL_SPEED) / (MOVING_SPEED - STILL_SPEED), 0.0, 1.0)
    times = np.column_stack((samples.stamp, np.cumsum(moving) * period))
    table = np.hstack((q, dq, regressor, left, np.exp(-((dq / SLOW_SPEED) ** 2))))
    order = signal.butter(2, CUTOFF_HZ, fs=1.0 / period, output="sos")
    every, edge = max(1, round(max(1.0 / RATE_HZ, data.duration_s / MOST_ROWS) / period)), round(EDGE_S / period)
    rows = []
    for part in np.split(np.arange(len(q)), np.flatnonzero(np.diff(samples.block)) + 1):
        kept = slice(edge, len(part) - edge, every)
        if len(part[kept]) > 1:
            filtered = signal.sosfiltfilt(order, table[part], axis=0, padlen=min(edge, len(part) - 1))
            rows.append(np.hstack((times[part][kept], filtered[kept])))
    if not rows:
        raise DataError(
            f"{data.source}: expected {2.0 * EDGE_S + 0.3:g} s or more in one piece, got {data.duration_s:.2f} s"
        )
    table = _pauses_averaged(np.concatenate(rows), slice(2 + n, 2 + 2 * n))
    table[:, -n:] = np.clip(table[:, -n:], 0.0, 1.0)
    return RunRows(data.source, float(data.stamp[0]), table, n)


def _pauses_averaged(table: FloatArray, velocities: slice) -> FloatArray:
    """Rows, stamps first, with each stretch at rest replaced by its average."""
    still = np.abs(table[:, velocities]).max(axis=1) < PAUSE
    starts = np.flatnonzero(np.diff(still, prepend=~still[0]))  # of stretches at rest and in motion, in turn
    parts = np.split(table, starts[1:])
    for k in np.flatnonzero(still[starts]):
        if parts[k][-1, 0] - parts[k][0, 0] >= SHORTEST_PAUSE_S:
            parts[k] = parts[k].mean(axis=0, keepdims=True)
    return np.concatenate(parts)


def same_moments(runs: Sequence[RunRows]) -> list[RunRows]:
    """All runs at those moments of the first that they have in common, `ROW_S` apart, and in each pause.

    Raises DataError: the motions differ, or have next to nothing in common; the message names the worst joint.
    """
    first, places, last = runs[0], [], -np.inf
    others, same = zip(*(aligned(first, run) for run in runs[1:]), strict=True)
    for k in np.flatnonzero(np.all(same, axis=0)):
        if first.still[k] or first.stamp[k] - last >= ROW_S - 1e-6:
            places.append(k)
            last = first.stamp[k]
    if len(places) < LEAST_ROWS:
        names = ", ".join(run.name for run in runs)
        raise DataError(
            f"{names}: expected {LEAST_ROWS * ROW_S:g} s of one motion in all runs, got {ROW_S * len(places):.1f} s"
        )
    return [run.at(np.array(places)) for run in (first, *others)]


def aligned(reference: RunRows, other: RunRows) -> tuple[RunRows, NDArray[np.bool_]]:
    """The other run at the moments of the reference's rows (K), and which of these belong to the same motion."""
    features = [np.hstack((run.q / POSTURE, run.dq / VELOCITY)) for run in (reference, other)]
    row, last = warp(*features), len(other.stamp) - 1
    place = row.astype(float)
    for _ in range(2):  # to the moment between rows at which the postures are nearest
        before = np.clip(np.floor(place).astype(np.intp), 0, last - 1)
        slope = other.q[before + 1] - other.q[before]
        size = np.sum(slope * slope, axis=1)
        step = np.sum((reference.q - other.at(place).q) * slope, axis=1) / np.maximum(size, LEAST_STEP**2)
        place = np.clip(place + np.where(size > LEAST_STEP**2, np.clip(step, -1.0, 1.0), 0.0), 0.0, last)
    found = other.at(np.maximum.accumulate(place))
    excess = np.maximum(
        np.abs(reference.q - found.q) / LARGEST_POSTURE, np.abs(reference.dq - found.dq) / LARGEST_VELOCITY
    )
    same = excess.max(axis=1) <= 1.0
    within = (row > 0) & (row < last) | same
    if np.mean(~same & within) > MISMATCH_SHARE or np.mean(within) < MISMATCH_SHARE:
        raise DataError(_difference(reference, other.name, found, excess, within))
    return found, same


def warp(first: FloatArray, second: FloatArray) -> NDArray[np.intp]:
    """For each row of `first` (K, c), the row of `second` (M, c) on the cheapest monotone path with free ends.

    A pair costs the square of its difference, `FAR` at most. A path enters row k from row k - 1 at the same or the
    next m, and goes on within it: with C the sum of the costs up to m, total_m = C_m + min_j<=m (entered_j - C_j-1).
    """
    K, M = len(first), len(second)
    diagonal, within = np.zeros((2, K, M), dtype=bool)

    def costs(k: int, m: slice | int) -> FloatArray:
        return np.asarray(np.minimum(((first[k] - second[m]) ** 2).sum(axis=-1), FAR))

    total = costs(0, slice(None))
    for k in range(1, K):
        cost, before = costs(k, slice(None)), np.concatenate(([np.inf], total[:-1]))
        diagonal[k] = before < total
        entered, upto = np.minimum(total, before) + cost, np.cumsum(cost)
        least = np.minimum.accumulate(entered - upto)
        within[k], total = entered - upto > least, upto + least
    k, m, nearest, path = K - 1, int(np.argmin(total)), np.inf, np.empty(K, dtype=np.intp)
    while True:
        if (cost_here := float(costs(k, m))) < nearest:
            nearest, path[k] = cost_here, m
        if within[k, m]:
            m -= 1
        elif k == 0:
            return path
        else:
            m, k, nearest = m - int(diagonal[k, m]), k - 1, np.inf


def _difference(reference: RunRows, name: str, found: RunRows, excess: FloatArray, within: NDArray[np.bool_]) -> str:
    """How far motions differ, in words: in the worst joint and time."""
    worst, differs = excess.max(axis=1), (excess.max(axis=1) > 1.0) & within
    worst *= differs if differs.any() else 1.0
    k = int(np.argmax(worst))
    joint, near = int(np.argmax(excess[k])), np.flatnonzero(worst <= 1.0)
    ends = [near[near < k].max(initial=-1) + 1, near[near > k].min(initial=len(worst)) - 1]
    start, end = reference.stamp[ends] - reference.begin
    return (
        f"{reference.name} and {name}: expected runs of one motion, got motions that differ for "
        f"{100.0 * np.mean(differs | ~within):.0f} % of the first; the worst is joint {joint + 1} from {start:.1f} "
        f"to {end:.1f} s, up to {abs(reference.q[k, joint] - found.q[k, joint]):.2f} rad and "
        f"{abs(reference.dq[k, joint] - found.dq[k, joint]):.2f} rad/s apart"
    )
