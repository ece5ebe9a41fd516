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

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import median_filter
from scipy.signal import butter, sosfiltfilt

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.errors import ArgumentError, DataError
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

    recordings: the name of the first joint in each recording, by where that came from.
    stamp: (N,), s. q, dq, ddq, tau: (N, n).
    s: (N, n), direction of dry friction (`dynamics.presliding_states`), through the same filter.
    block: (N,), the number of the piece of recording.
    period: s, between rows. outliers: recorded samples that were replaced.
    """

    recordings: dict[str, str]
    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    tau: FloatArray
    s: FloatArray
    block: NDArray[np.intp]
    period: float
    outliers: int

    def __len__(self) -> int:
        return len(self.stamp)

    def rows(self, which: NDArray[Any]) -> "MotionSamples":
        """The chosen rows."""
        names = ("stamp", "q", "dq", "ddq", "tau", "s", "block")
        return replace(self, **{name: getattr(self, name)[which] for name in names})


def prepare(recordings: Iterable[JointDataset], *, from_positions: bool = False) -> MotionSamples:
    """The rows of recordings, of which one at a time need be in memory, piece by piece where they have gaps.

    from_positions: take velocities from the positions: their noise is larger above 5 Hz and smaller below.
    Raises ArgumentError: there is no recording.
    Raises DataError: no piece of a recording is long enough to be filtered.
    """
    first_joints, pieces, replaced = dict[str, str](), list[tuple[FloatArray, ...]](), 0
    for each in recordings:
        stamp, (q, tau, outliers) = each.stamp, _without_outliers(each)
        measured = np.stack([q, each.dq, tau])
        cuts = np.flatnonzero(np.diff(stamp) > max(LONGEST_GAP_S, 2.5 * each.period_s)) + 1
        parts = [part for part in np.split(np.arange(len(stamp)), cuts) if np.ptp(stamp[part]) >= 4 * EDGE_S]
        if not parts:
            raise DataError(f"{each.source}: expected at least {4 * EDGE_S:g} s of samples without a gap, got none")
        pieces += [_piece(stamp[part], measured[:, part], each.rate_hz, from_positions) for part in parts]
        first_joints[each.source] = each.names[0]
        replaced += outliers
    if not pieces:
        raise ArgumentError("data: expected at least one recording, got none")
    period = float(np.median([np.median(np.diff(piece[0])) for piece in pieces]))
    block = np.repeat(np.arange(len(pieces)), [len(piece[0]) for piece in pieces])
    stamp, q, dq, ddq, tau, s = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return MotionSamples(first_joints, stamp, q, dq, ddq, tau, s, block, period, replaced)


def _piece(stamp: FloatArray, measured: FloatArray, rate: float, from_positions: bool) -> tuple[FloatArray, ...]:
    """stamp, q, dq, ddq, tau, s of one piece without gaps, on an even grid.

    measured: (3, N, n), q, dq, tau at the stamps (N,).
    """
    # What is coarser than the filter's own scale is refined first: derivatives on the grid then cost no accuracy.
    dt = 1.0 / max(rate, 4.0 * RATE_HZ)
    grid = np.arange(stamp[0], stamp[-1], dt)
    order = butter(4, min(CUTOFF_HZ, HIGHEST_CUTOFF * rate), fs=1.0 / dt, output="sos")
    # The filter rings at the ends for about a period of the cutoff: it is given that much, mirrored, to ring in.
    q, dq, tau = CubicSpline(stamp, measured, axis=1)(grid)
    # The direction of friction has corners, which a spline would round.
    direction, _ = presliding_states(measured[0])
    s = np.column_stack([np.interp(grid, stamp, column) for column in direction.T])
    signals = np.stack([q, dq, np.gradient(q, dt, axis=0), tau, s])
    q, dq, derived, tau, s = sosfiltfilt(order, signals, axis=1, padlen=min(len(grid) - 1, int(PADDING_S / dt)))
    dq = derived if from_positions else joint_velocities(dq, derived, dt)
    edge = int(np.ceil(EDGE_S / dt))
    keep = slice(edge, len(grid) - edge, max(1, round(1.0 / (dt * min(RATE_HZ, rate)))))
    return tuple(values[keep] for values in (grid, q, dq, np.gradient(dq, dt, axis=0), tau, s))


def _without_outliers(recording: JointDataset) -> tuple[FloatArray, FloatArray, int]:
    """q and tau with single outliers replaced by the median of five neighbours, and how many there were."""
    values = np.stack([recording.q, recording.tau])
    median = median_filter(values, size=(1, 5, 1), mode="mirror")
    away = np.abs(values - median)
    # 1.4826 MAD is the sigma of a normal distribution; a still signal has a floor of its own.
    outside = away > _OUTLIER * (1.4826 * np.median(away, axis=1) + 0.02 * values.std(axis=1) + 1e-9)[:, None]
    q, tau = np.where(outside, median, values)
    return q, tau, int(outside.any(axis=(0, 2)).sum())


def joint_velocities(measured: FloatArray, derived: FloatArray, dt: float) -> FloatArray:
    """(N, n), rad/s: measured velocities moved forward by their lag; of joints that contradict, the derived ones.

    derived: (N, n), of the positions, filtered as the measured ones are, which lag behind them.
    """
    acceleration = np.gradient(derived, dt, axis=0)
    power = float((acceleration**2).sum())
    lag = -float(((measured - derived) * acceleration).sum()) / power if power > 0.0 else 0.0
    time = dt * np.arange(len(measured))
    aligned = CubicSpline(time, measured)(np.clip(time + np.clip(lag, -LONGEST_LAG_S, LONGEST_LAG_S), 0.0, time[-1]))
    difference = np.sqrt(((aligned - derived) ** 2).mean(axis=0))
    return np.where(difference <= CONTRADICTION * np.sqrt((derived**2).mean(axis=0)), aligned, derived)
