# SPDX-License-Identifier: Apache-2.0
"""From recorded samples to the rows of a regression: zero-phase filters, derivatives, decimation.

Velocities are the measured ones without their lag, accelerations their derivatives (De Luca,
document 003, slide 11). Positions, velocities and torques go through one and the same filter ("parallel filtering"), so
that a linear model holds for the filtered signals too.

A Panda's measured velocity lags by some 5 ms, but is much less noisy than the derivative of its positions, above all
after another derivative: on a public 1 kHz log, accelerations of the positions make a third of the torque residual
below 10 Hz. The lag shows in the recording itself: for dq_measured(t) = dq(t - lag), to first order

    dq_measured - dq = -lag ddq.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import median_filter
from scipy.signal import butter, sosfiltfilt

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.robot.joint_dataset import JointDataset

LONGEST_LAG_S = 0.03
CONTRADICTION = 0.2
"""Share of a joint's velocity (RMS) by which the measured one may differ from the derivative of the positions."""


CUTOFF_HZ = 10.0
"""Of the zero-phase low-pass; motions of an excitation are below 1 Hz, torque sensors vibrate above 10 Hz."""
HIGHEST_CUTOFF = 0.1
"""Of the recording's rate: stamps of a slow topic jitter, and two derivatives make accelerations of that."""
RATE_HZ = 100.0  # of the rows after decimation
EDGE_S = 0.1  # left out at both ends of each piece: one period of the cutoff, where the filter knows one side only
PADDING_S = 0.3  # what the filter gets beyond the ends, by odd reflection
LONGEST_GAP_S = 0.05  # gaps up to this are bridged by interpolation; a longer one cuts the recording in pieces
_OUTLIER = 10.0  # robust sigmas of a sample's distance to the median of its neighbours


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """Rows of a regression.

    stamp: (N,), s. q, dq, ddq, tau: (N, n).
    s: (N, n), direction of dry friction (`dynamics.PreslidingState`), through the same filter.
    block: (N,), the number of the piece of recording.
    """

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    tau: FloatArray
    s: FloatArray
    block: FloatArray
    period: float
    outliers: int

    def __len__(self) -> int:
        return len(self.stamp)


def prepare(*recordings: JointDataset, from_positions: bool = False) -> MotionSamples:
    """The rows of one or several recordings.

    from_positions: take velocities from the positions, not the measured ones. Their noise is larger above 5 Hz and
        smaller below.
    Raises DataError: no piece of a recording is long enough to be filtered.
    """
    return joined([pieces_of(recording, from_positions) for recording in recordings])


class Pieces(NamedTuple):
    """The rows of a recording, (stamp, q, dq, ddq, tau, s) for each of its pieces without a gap."""

    source: str
    pieces: list[tuple[FloatArray, ...]]
    outliers: int


def pieces_of(recording: JointDataset, from_positions: bool = False) -> Pieces:
    """The rows of one recording, of which recordings can come one by one and need not be in memory together."""
    q, tau, outliers = _without_outliers(recording)
    cuts = np.flatnonzero(np.diff(recording.stamp) > max(LONGEST_GAP_S, 2.5 * recording.period_s)) + 1
    pieces = []
    for part in np.split(np.arange(len(recording.stamp)), cuts):
        measured = np.stack([q[part], recording.dq[part], tau[part]])
        piece = _piece(recording.stamp[part], measured, recording.rate_hz, from_positions)
        pieces += [piece] if piece is not None else []
    return Pieces(recording.source, pieces, outliers)


def joined(recordings: Sequence[Pieces]) -> MotionSamples:
    """All rows.

    Raises DataError: there are none.
    """
    pieces = [piece for recording in recordings for piece in recording.pieces]
    if not pieces:
        names = ", ".join(recording.source for recording in recordings)
        raise DataError(f"{names}: expected at least {4 * EDGE_S:g} s of samples without a gap, got none")
    period = float(np.median([np.median(np.diff(piece[0])) for piece in pieces]))
    block = np.concatenate([np.full(len(piece[0]), float(i)) for i, piece in enumerate(pieces)])
    stamp, q, dq, ddq, tau, s = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    outliers = sum(recording.outliers for recording in recordings)
    return MotionSamples(stamp, q, dq, ddq, tau, s, block, period, outliers)


def _piece(stamp: FloatArray, measured: FloatArray, rate: float, from_positions: bool) -> tuple[FloatArray, ...] | None:
    """stamp, q, dq, ddq, tau, s of one piece without gaps, on an even grid; None where it is too short.

    measured: (3, N, n), q, dq, tau at the stamps (N,).
    """
    if len(stamp) < 2 or stamp[-1] - stamp[0] < 4 * EDGE_S:
        return None
    # What is coarser than the filter's own scale is refined first: derivatives on the grid then cost no accuracy.
    dt = 1.0 / max(rate, 4.0 * RATE_HZ)
    grid = np.arange(stamp[0], stamp[-1], dt)
    order = butter(4, min(CUTOFF_HZ, HIGHEST_CUTOFF * rate), fs=1.0 / dt, output="sos")
    # The filter rings at the ends for about a period of the cutoff: it is given that much, mirrored, to ring in.
    padding = min(len(grid) - 1, int(PADDING_S / dt))
    q, dq, tau = CubicSpline(stamp, measured, axis=1)(grid)
    # The direction of friction has corners, which a spline would round.
    direction, _ = presliding_states(measured[0])
    s = np.column_stack([np.interp(grid, stamp, column) for column in direction.T])
    signals = q, dq, np.gradient(q, dt, axis=0), tau, s
    q, dq, derived, tau, s = (sosfiltfilt(order, values, axis=0, padlen=padding) for values in signals)
    dq = derived if from_positions else joint_velocities(dq, derived, dt)
    ddq = np.gradient(dq, dt, axis=0)
    edge = int(np.ceil(EDGE_S / dt))
    keep = slice(edge, len(grid) - edge, max(1, round(1.0 / (dt * min(RATE_HZ, rate)))))
    # Copies, so that what is left out need not stay in memory.
    return tuple(values[keep].copy() for values in (grid, q, dq, ddq, tau, s))


def _without_outliers(recording: JointDataset) -> tuple[FloatArray, FloatArray, int]:
    """q and tau with single outliers replaced by the median of five neighbours, and how many there were."""
    values = np.stack([recording.q, recording.tau])
    median = median_filter(values, size=(1, 5, 1), mode="mirror")
    away = np.abs(values - median)
    # 1.4826 MAD is the sigma of a normal distribution; a still signal has a floor of its own.
    sigma = 1.4826 * np.median(away, axis=1) + 0.02 * values.std(axis=1) + 1e-9
    outside = away > _OUTLIER * sigma[:, None]
    q, tau = np.where(outside, median, values)
    return q, tau, int(outside.any(axis=(0, 2)).sum())


def velocity_lag(measured: FloatArray, derived: FloatArray, dt: float) -> float:
    """By how much (s) the measured velocities (N, n) lag behind the positions' derivative, both filtered alike."""
    acceleration = np.gradient(derived, dt, axis=0)
    power = float((acceleration**2).sum())
    lag = -float(((measured - derived) * acceleration).sum()) / power if power > 0.0 else 0.0
    return float(np.clip(lag, -LONGEST_LAG_S, LONGEST_LAG_S))


def joint_velocities(measured: FloatArray, derived: FloatArray, dt: float) -> FloatArray:
    """(N, n), rad/s: measured velocities moved forward by their lag; of joints that contradict, the derived ones."""
    lag = velocity_lag(measured, derived, dt)
    time = dt * np.arange(len(measured))
    aligned = CubicSpline(time, measured)(np.clip(time + lag, 0.0, time[-1]))
    difference = np.sqrt(((aligned - derived) ** 2).mean(axis=0))
    trusted = difference <= CONTRADICTION * np.sqrt((derived**2).mean(axis=0))
    return np.where(trusted, aligned, derived)
