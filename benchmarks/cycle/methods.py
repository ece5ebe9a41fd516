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
from benchmarks.payload.methods import CUTOFF, EVERY, MEMORY, least_squares
from panda_dynamics_ros.checks import FloatArray

STILL = 0.02  # rad/s, below which all joints rest
REST = 0.5  # s before a pick, of the rest that is compared with


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

    def _mass(self, Y: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        used = weight > 1e-6
        return least_squares(self.recording.robot, Y[used], y[used], weight[used], Y.shape[-1]).mass


SIMPLE = {
    "least squares since the pick": Rows.since_the_pick,
    "difference of two rests": Rows.two_rests,
    "recursive least squares": Rows.recursive,
}
