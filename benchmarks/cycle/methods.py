# SPDX-License-Identifier: Apache-2.0
"""The estimator on a recording, and the simple ways to weigh an object beside it.

The estimator is told nothing. The others are told when loads change, except for recursive least squares, and look at
torques through one zero-phase filter, so 30 ms ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import signal

import panda_dynamics_ros as pdr
from benchmarks.cycle.recordings import STEP, Recording
from panda_dynamics_ros.checks import FloatArray

CUTOFF, EVERY = 10.0, 10  # Hz; samples for each row
STILL = 0.02  # rad/s, below which all joints rest
REST = 0.5  # s before a pick, of the rest that is compared with
MEMORY = 4.0  # s, of recursive least squares
TRANSITION = 0.05  # rad/s, of the Coulomb friction that least squares fits
WIDE = np.array([10.0, *[3.0] * 3, *[1.0] * 6])  # kg, kg m, kg m^2: makes few rows solvable, and no more
WIDE_FRICTION = 10.0  # N m, N m s/rad


@dataclass(frozen=True, eq=False)
class Track:
    """What the estimator said at each sample: mass (N,), kg; com (N, 3), m; std of both; flags; events: stamp, kind."""

    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray
    com_known: FloatArray
    events: list[tuple[float, str]]


def estimated(recording: Recording) -> Track:
    """The estimator; a load that turns out to be a weight is one event."""
    r, N = recording, len(recording.stamp)
    monitor = pdr.ArmMonitor(r.robot)
    said = [(0, monitor.payload_estimator.estimate)]
    for first in range(0, N, 5000):
        part = slice(first, first + 5000)
        found = monitor.update_rows(r.stamp[part], r.q[part], r.dq[part], r.tau[part])
        said += [(first + k, estimate) for k, estimate, _ in found.estimates]
    held = np.searchsorted([k for k, _ in said], np.arange(N), side="right") - 1
    columns = (
        [e.mass for _, e in said], [e.std[0] for _, e in said], [e.com for _, e in said], [e.com_std for _, e in said],
        [e.identifiable[1:4] for _, e in said],
    )  # fmt: skip
    mass, mass_std, com, com_std, known = (np.array(column, dtype=np.float64)[held] for column in columns)
    events: list[tuple[float, str]] = []
    undecided = -np.inf
    for event in (estimate.event for _, estimate in said if estimate.event is not None):
        if not (event.kind in ("pick", "contact") and event.onset <= undecided):
            events.append((event.stamp, event.kind))
        elif event.kind == "contact":
            events[-1] = (event.stamp, event.kind)
        undecided = event.stamp if event.kind == "load" else undecided
    return Track(mass, mass_std, com, com_std, known, events)


@dataclass(frozen=True, eq=False)
class Rows:
    """Filtered rows of a recording at 100 Hz, and the masses that least squares finds in them."""

    recording: Recording

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """stamp (k,), dq (k, n), unexplained torque y (k, n), payload regressor Y (k, n, 10)."""
        r = self.recording
        sections = signal.butter(4, CUTOFF, fs=1.0 / STEP, output="sos")
        q, dq, tau = (signal.sosfiltfilt(sections, x, axis=0) for x in (r.q, r.dq, r.tau))
        ddq = np.gradient(dq, STEP, axis=0)
        q, dq, ddq, tau = (x[::EVERY] for x in (q, dq, ddq, tau))
        y = tau - r.robot.inverse_dynamics(q, dq, ddq) - r.robot.friction_torques(dq)
        return r.stamp[::EVERY], dq, y, r.robot.payload_regressor(q, dq, ddq)

    def since_the_pick(self, since: float, time: float) -> float:
        """Least squares over the rows since the load is complete."""
        stamp, _, y, Y = self._rows
        return self._mass(Y, y, np.asarray((stamp > since) & (stamp <= time), dtype=np.float64))

    def recursive(self, since: float, time: float) -> float:
        """Recursive least squares: as weighted, with weights that fade within `MEMORY`; nobody tells it `since`."""
        stamp, _, y, Y = self._rows
        return self._mass(Y, y, np.exp(np.minimum(stamp - time, 0.0) / MEMORY) * (stamp <= time))

    def two_rests(self, since: float, time: float) -> float:
        """Torque at rest after the pick less that at rest before it: what friction holds is in both."""
        stamp, dq, y, Y = self._rows
        still = (np.abs(dq) < STILL).all(axis=1)
        begin = max(h.begin for h in self.recording.happenings if h.end <= since + 1e-9)
        before, after = still & (stamp > begin - REST) & (stamp < begin), still & (stamp > since) & (stamp <= time)
        if not before.any() or not after.any():
            return 0.0
        return self._mass(Y[..., :4], y - y[before].mean(axis=0), after.astype(np.float64))

    def whole(self, since: float, time: float) -> float:
        """Least squares over all rows until `time` for each joint's offset, viscous and Coulomb friction, and loads."""
        stamp, dq, y, Y = self._rows
        loads = [
            h.end for h in self.recording.happenings if h.end <= since + 1e-9 and h.kind not in ("pulled", "lifted")
        ]
        n, use = y.shape[1], np.flatnonzero(stamp <= time)[::5]
        load = np.searchsorted(loads, stamp[use])  # 0 before the first
        A = np.zeros((len(use), n, 3 * n + 10 * (len(loads) + 1)))
        for j in range(n):
            column = dq[use, j]
            A[:, j, 3 * j : 3 * j + 3] = np.stack([np.ones_like(column), column, np.tanh(column / TRANSITION)], axis=1)
        for k in range(1, len(loads) + 1):
            A[load == k, :, 3 * n + 10 * k : 3 * n + 10 * k + 10] = Y[use][load == k]
        wide = np.concatenate([np.full(3 * n, WIDE_FRICTION), *[WIDE] * (len(loads) + 1)])
        return float(_solve(A, y[use] / self._std, self._std, wide)[3 * n + 10 * len(loads)])

    @property
    def _std(self) -> FloatArray:
        return self.recording.robot.residual.std

    def _mass(self, Y: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        root = np.sqrt(weight)[:, None]
        used = root[:, 0] > 1e-3
        return float(
            _solve((root[..., None] * Y)[used], (root * y / self._std)[used], self._std, WIDE[: Y.shape[-1]])[0]
        )


def _solve(A: FloatArray, b: FloatArray, std: FloatArray, wide: FloatArray) -> FloatArray:
    """x (p,) of A x = b (k, n), rows weighted by 1 / std, with a prior of standard deviations `wide`."""
    M = (A / std[:, None]).reshape(-1, A.shape[-1])
    return np.linalg.solve(np.diag(wide**-2.0) + M.T @ M, M.T @ b.ravel())


SIMPLE = {
    "least squares since the pick": Rows.since_the_pick,
    "difference of two rests": Rows.two_rests,
    "least squares over all, with friction": Rows.whole,
    "recursive least squares": Rows.recursive,
}
