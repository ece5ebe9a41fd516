# SPDX-License-Identifier: Apache-2.0
"""The payloads of a whole recording, each from all samples while it was carried: the estimator's offline twin.

Once it is known when the payload changed (`PayloadEstimator` says so, with the onset), it is constant in between,
and so there is nothing to forget and nothing to wait for: every payload has a regressor that is gated at its onset
and at its end (the filters are linear: a difference of two `gated_regressors`), the arm's residual runs through all
of them, and `coloured_least_squares` has the answer that a forward-backward smoother would have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.consistency import ConsistentBody
from panda_dynamics_ros.estimation.payload.estimate import (
    SHORT,
    SMOOTHED,
    STAMP_RESOLUTION,
    STOOD_STILL,
    UNLOADED,
    ChangeEvent,
    PayloadEstimate,
    PayloadSegment,
)
from panda_dynamics_ros.estimation.payload.generalised_least_squares import ColouredLeastSquares, payloads_given
from panda_dynamics_ros.estimation.payload.motion_clock import MotionMeter
from panda_dynamics_ros.estimation.payload.onset_regressors import GatedRegressors
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import published_estimate
from panda_dynamics_ros.estimation.regression import PARAMETERS, MomentumRegression
from panda_dynamics_ros.robot import RobotDescription

LEAST_MOTION = 0.5
"""s in motion, below which a segment says little: about one correlation time of the arm's residual."""
GUARD = 0.1
"""s after a change that are left out: its onset is known to a few hundredths of a second."""
CONTACT = 0.8
"""s after the onset of a contact that are left out: the contact, and what the filters keep of it."""
ONE_CONTACT = 5.0
"""s: two contacts that are closer together than this may be one, and its end; all in between is left out."""
NEGLIGIBLE = 1e-6
"""N m per unit of the inertial vector: what is left of a payload that was put down long ago."""


def smooth_payloads(
    robot: RobotDescription,
    stamp: ArrayLike,
    q: ArrayLike,
    dq: ArrayLike,
    tau: ArrayLike,
    events: Sequence[ChangeEvent] = (),
    unloaded: Sequence[float] = (),
    *,
    shape: Shape | str | None = None,
    **options: float,
) -> tuple[PayloadSegment, ...]:
    """The payloads of a recording of N samples.

    Parameters
    ----------
    robot: the arm without the payload, with its friction and its residual model.
    stamp: (N,), s, increasing.
    q, dq, tau: (N, n), rad, rad/s, N m; tau is the link-side torque, gravity included.
    events: what `PayloadEstimator` has detected over the same samples.
    unloaded: s, moments at which the arm is known to have carried nothing. What the model gets wrong in their
        segments is taken off all others, as far as `common_error` trusts it.
    shape: of the payloads, if it is known, as for `PayloadEstimator`.
    options: see `EstimatorOptions`.

    Returns
    -------
    A segment for each payload, that of no payload included, in the order of the recording.

    Raises
    ------
    ArgumentError: a shape or a number is wrong, stamps do not increase, a moment is outside the recording, an
        option is unknown, or the shape is none.
    """
    stamp = checks.real_array(stamp, "stamp")
    if stamp.ndim != 1 or len(stamp) == 0 or (np.diff(stamp) <= 0.0).any():
        raise ArgumentError(f"stamp: expected increasing stamps, at least one, got an array of shape {stamp.shape}")
    size = (len(stamp), robot.n)
    q, dq, tau = checks.exactly(q, size, "q"), checks.exactly(dq, size, "dq"), checks.exactly(tau, size, "tau")
    for moment in unloaded:
        checks.number(moment, "unloaded", minimum=float(stamp[0]), maximum=float(stamp[-1]))
    listener = _Listener(robot, EstimatorOptions.of(options), Shape.of(shape), stamp, events)
    for k in range(len(stamp)):
        listener.hear(k, q[k], dq[k], tau[k])
    return listener.segments(unloaded)


def _onsets(stamp: FloatArray, events: Sequence[ChangeEvent], max_gap_s: float) -> list[int]:
    """Samples at which the payload changes. What changed in a gap has done so at the gap's end."""
    gaps = np.flatnonzero(np.diff(stamp) > max_gap_s) + 1
    onsets = {0}
    for event in events:
        if event.kind != "contact":
            noticed = int(np.searchsorted(stamp, event.stamp))
            onset = event.onset if math.isfinite(event.onset) else event.stamp
            last_gap = max((int(gap) for gap in gaps if gap <= noticed), default=0)
            onsets.add(min(max(int(np.searchsorted(stamp, onset)), last_gap), len(stamp) - 1))
    return sorted(onsets)


def _contacts(events: Sequence[ChangeEvent]) -> list[tuple[float, float]]:
    """From when to when not to listen."""
    onsets = sorted(e.onset if math.isfinite(e.onset) else e.stamp for e in events if e.kind == "contact")
    ends = [after if after - onset < ONE_CONTACT else onset for onset, after in pairwise([*onsets, math.inf])]
    return [(onset, end + CONTACT) for onset, end in zip(onsets, ends, strict=True)]


class _Listener:
    """One pass over the samples, with a block of ten unknowns for each payload."""

    def __init__(
        self,
        robot: RobotDescription,
        options: EstimatorOptions,
        shape: Shape | None,
        stamp: FloatArray,
        events: Sequence[ChangeEvent],
    ) -> None:
        self._residual, self._options, self._shape, self._stamp = robot.residual, options, shape, stamp
        self._starts = _onsets(stamp, events, options.max_gap_s)
        self._deaf = _contacts(events)
        count = len(self._starts)
        self._regression = MomentumRegression(robot, "flange", options.bandwidth_hz)
        self._gates = GatedRegressors(robot.n, count)
        self._meter = MotionMeter(robot.n, options)
        self._fit = ColouredLeastSquares(PARAMETERS * count, robot.residual.std, robot.residual.correlation_time)
        # Blocks from the oldest payload whose torque has not died out to the one that is carried.
        self._oldest = self._current = 0
        self._motion = np.zeros(count)
        self._updated = self._deaf_until = -math.inf

    def hear(self, k: int, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Take in sample k."""
        now = self._stamp[k]
        dt = now - self._stamp[k - 1] if k else 0.0
        starts = k == 0 or dt > self._options.max_gap_s
        if starts:
            self._fit.wait(dt)
            self._regression.restart()
            self._meter.restart()
            self._updated, dt = -math.inf, 0.0
        _, y = self._regression.step(dt, q, dq, tau)
        self._follow_changes(k, dt, starts)
        self._meter.follow(dt, dq)
        if now - self._updated < self._options.update_period_s - STAMP_RESOLUTION:
            return
        since = now - self._updated if math.isfinite(self._updated) else self._options.update_period_s
        self._updated = now
        motion_time = self._meter.motion_time(since)
        self._fit.wait(motion_time)
        if self._regression.settled and now >= self._deaf_until and not self._meter.nothing_new:
            self._motion[self._current] += motion_time
            self._learn(y)

    def _follow_changes(self, k: int, dt: float, starts: bool) -> None:
        """Step the gates, open that of a payload that comes on now, and stop listening for a moment."""
        now = self._stamp[k]
        if starts:
            self._gates.start(self._regression)
        else:
            self._gates.step(np.arange(self._oldest, self._current + 1), self._regression, dt)
        if k in self._starts[self._current + 1 : self._current + 2]:
            self._current += 1
            self._gates.open(self._current, self._regression)
            self._meter.listen()
            self._deaf_until = max(self._deaf_until, now + GUARD)
        if starts:
            # The filters start as if this payload had been there for ever, and those before it never.
            for slot in range(self._oldest, self._current + 1):
                self._gates.open_whole(slot, self._regression)
        while self._deaf and now >= self._deaf[0][0]:
            self._deaf_until = max(self._deaf_until, self._deaf.pop(0)[1])

    def _learn(self, y: FloatArray) -> None:
        gated = self._gates.regressors[self._oldest : self._current + 1].copy()
        gated[:-1] -= gated[1:]
        H = gated.transpose(1, 0, 2).reshape(len(y), -1)
        first = PARAMETERS * self._oldest
        self._fit.learn(first, H, y, self._meter.white_share * self._residual.std**2)
        if self._oldest < self._current:
            left = max(float(np.abs(gated[0]).max()), self._fit.trace(first, first + PARAMETERS))
            self._oldest += left < NEGLIGIBLE

    def segments(self, unloaded: Sequence[float]) -> tuple[PayloadSegment, ...]:
        """What all samples together say."""
        starts, spread = self._stamp[self._starts], self._options.spread
        empty = {int(np.searchsorted(starts, moment, side="right")) - 1 for moment in unloaded}
        means, covariances = payloads_given(self._fit.information, self._fit.vector, self._motion, spread, empty)
        ends = [*starts[1:], self._stamp[-1]]
        return tuple(
            PayloadSegment(
                start=float(starts[s]),
                end=float(ends[s]),
                motion_s=float(self._motion[s]),
                estimate=self._estimate(s in empty, float(ends[s]), self._motion[s], means[s], covariances[s]),
            )
            for s in range(len(starts))
        )

    def _estimate(
        self, empty: bool, stamp: float, motion_s: float, mean: FloatArray, covariance: FloatArray
    ) -> PayloadEstimate:
        status = SMOOTHED if motion_s >= LEAST_MOTION else SHORT if motion_s > 0.0 else STOOD_STILL
        shape, status = (None, UNLOADED) if empty else (self._shape, status)
        estimate = published_estimate(
            mean, covariance, self._options, shape, ConsistentBody(), stamp=stamp, status=status
        )
        return replace(estimate, vector=np.zeros(PARAMETERS)) if empty else estimate
