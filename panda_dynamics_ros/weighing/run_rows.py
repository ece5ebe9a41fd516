# SPDX-License-Identifier: Apache-2.0
"""A run as rows of the regression y = Y theta + r, in which a payload is compared with none.

Y is the regressor of the payload, y the torque that the model of the unloaded arm does not explain, both at the motion
that the recording shows (`identification.preprocessing`). Both then pass one zero-phase low-pass, so that the equation
holds on. The motion is known after the fact: velocities are taken from both sides in time, which leaves a fifth of the
noise that the momentum's causal filters leave (`estimation.regression`).
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
from panda_dynamics_ros.identification.preprocessing import prepare, without_rotors
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
