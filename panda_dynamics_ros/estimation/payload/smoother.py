# SPDX-License-Identifier: Apache-2.0
"""The payloads of a whole recording, each from all samples while it was carried: the estimator's offline counterpart.

Once the onsets of the changes are known (`PayloadEstimator` detects them), the payload is constant in between, so that
nothing is forgotten. Every payload has a regressor that starts at its onset and ends with it (the filters are linear:
a difference of two `onset_regressors`), and the arm's residual runs through all of them. `generalised_least_squares`
then gives the same answer as a forward-backward smoother.
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
from panda_dynamics_ros.dynamics.effort import link_side_torques
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.low_pass import TwoPoleFilter
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms
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
from panda_dynamics_ros.estimation.payload.generalised_least_squares import GeneralisedLeastSquares, payload_posteriors
from panda_dynamics_ros.estimation.payload.motion_clock import MotionClock
from panda_dynamics_ros.estimation.payload.noise_level import NoiseLevel
from panda_dynamics_ros.estimation.payload.onset_regressors import OnsetRegressors
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import published_estimate
from panda_dynamics_ros.estimation.regression import MomentumRegression
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS

LEAST_MOTION = 0.5
"""s in motion, below which a segment is too short: about one correlation time of the arm's residual."""
GUARD = 0.1
"""s after a change that are excluded: its onset is known to a few hundredths of a second."""
CONTACT = 0.8
"""s after the onset of a contact that are excluded: the contact, and its transient in the filters."""
ONE_CONTACT = 5.0
"""s: two contacts that are closer together than this may be the begin and end of one; all in between is excluded."""
NEGLIGIBLE = 1e-6
"""N m per unit of the inertial vector, below which the torque of a payload that was put down counts as zero."""


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
    q, dq, tau: (N, n), rad, rad/s, N m; tau is the torque on the links with gravity, or what `robot.effort` says.
    events: what `PayloadEstimator` has detected over the same samples.
    unloaded: s, times at which the arm is known to have carried nothing. The model's error in their segments is
        subtracted from all others, weighted as in `generalised_least_squares`.
    shape: of the payloads, if it is known, as for `PayloadEstimator`.
    options: see `EstimatorOptions`.

    Returns
    -------
    A segment for each payload, that of no payload included, in the order of the recording.

    Raises
    ------
    ArgumentError: a shape or a number is wrong, stamps do not increase, a moment is outside the recording, an
        option is unknown, or the shape is malformed.
    """
    stamp = checks.real_array(stamp, "stamp")
    if stamp.ndim != 1 or len(stamp) == 0 or (np.diff(stamp) <= 0.0).any():
        raise ArgumentError(f"stamp: expected increasing stamps, at least one, got an array of shape {stamp.shape}")
    size = (len(stamp), robot.n)
    q, dq, tau = checks.exactly(q, size, "q"), checks.exactly(dq, size, "dq"), checks.exactly(tau, size, "tau")
    tau = link_side_torques(robot, q, tau)
    for moment in unloaded:
        checks.number(moment, "unloaded", minimum=float(stamp[0]), maximum=float(stamp[-1]))
    smoother = _Smoother(robot, EstimatorOptions.of(options), Shape.of(shape), stamp, events)
    for k in range(len(stamp)):
        smoother.update(k, q[k], dq[k], tau[k])
    return smoother.segments(unloaded)


def _onsets(stamp: FloatArray, events: Sequence[ChangeEvent], max_gap_s: float) -> list[int]:
    """Samples at which the payload changes. A change within a gap counts as at the gap's end."""
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
    """Times (start, end) whose samples are excluded."""
    onsets = sorted(e.onset if math.isfinite(e.onset) else e.stamp for e in events if e.kind == "contact")
    ends = [after if after - onset < ONE_CONTACT else onset for onset, after in pairwise([*onsets, math.inf])]
    return [(onset, end + CONTACT) for onset, end in zip(onsets, ends, strict=True)]


class _Smoother:
    """One pass over the samples, with a block of ten unknowns for each payload."""

    def __init__(
        self,
        robot: RobotDescription,
        options: EstimatorOptions,
        shape: Shape | None,
        stamp: FloatArray,
        events: Sequence[ChangeEvent],
    ) -> None:
        self._options, self._shape, self._stamp = options, shape, stamp
        self._noise = NoiseLevel(robot.residual, options, robot.residual_map)
        self._starts = _onsets(stamp, events, options.max_gap_s)
        self._excluded = _contacts(events)
        count = len(self._starts)
        self._terms, self._regression = MomentumTerms(robot), MomentumRegression(robot.n, options.bandwidth_hz)
        self._low_pass_map = TwoPoleFilter(robot.n, self._regression.pole)
        self._onset_regressors = OnsetRegressors(robot.n, count)
        self._clock = MotionClock(robot.n, options)
        self._fit = GeneralisedLeastSquares(PARAMETERS * count, robot.residual.std, robot.residual.correlation_time)
        # Blocks from the oldest payload whose torque has not died out to the one that is carried.
        self._oldest = self._current = 0
        self._motion_s = np.zeros(count)
        self._updated = self._excluded_until = -math.inf

    def update(self, k: int, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Follow sample k."""
        now = self._stamp[k]
        dt = now - self._stamp[k - 1] if k else 0.0
        starts = k == 0 or dt > self._options.max_gap_s
        if starts:
            self._fit.predict(dt)
            self._regression.restart()
            self._clock.restart()
            self._updated, dt = -math.inf, 0.0
        _, y = self._regression.step(dt, self._terms.at(q, dq, tau))
        self._noise.unexplained = self._low_pass_map.step(dt, self._terms.unexplained)
        self._follow_changes(k, dt, starts)
        self._clock.update(dt, dq)
        if now - self._updated < self._options.update_period_s - STAMP_RESOLUTION:
            return
        since = now - self._updated if math.isfinite(self._updated) else self._options.update_period_s
        self._updated = now
        motion_time = self._clock.motion_time(since)
        self._fit.sigma = self._noise.std
        self._fit.predict(motion_time)
        if self._regression.settled and now >= self._excluded_until and not self._clock.stands_still:
            self._motion_s[self._current] += motion_time
            self._correct(y)

    def _follow_changes(self, k: int, dt: float, starts: bool) -> None:
        """Follow with the onset regressors, start that of a payload that appears, and exclude the samples around it."""
        now = self._stamp[k]
        if not starts:
            self._onset_regressors.step(self._regression.pole, dt)
        if k in self._starts[self._current + 1 : self._current + 2]:
            self._current += 1
            self._onset_regressors.start(self._current, self._regression)
            self._clock.note_change()
            self._excluded_until = max(self._excluded_until, now + GUARD)
        if starts:
            # The filters start as if this payload had always been there, and those before it never.
            for slot in range(self._oldest, self._current + 1):
                self._onset_regressors.start_settled(slot)
        while self._excluded and now >= self._excluded[0][0]:
            self._excluded_until = max(self._excluded_until, self._excluded.pop(0)[1])

    def _correct(self, y: FloatArray) -> None:
        onset_regressors = self._onset_regressors.regressors(self._regression)[self._oldest : self._current + 1].copy()
        onset_regressors[:-1] -= onset_regressors[1:]
        H = onset_regressors.transpose(1, 0, 2).reshape(len(y), -1)
        first = PARAMETERS * self._oldest
        self._fit.update(first, H, y, self._noise.white_variance(self._clock.white_variance_ratio))
        if self._oldest < self._current:
            left = max(float(np.abs(onset_regressors[0]).max()), self._fit.trace(first, first + PARAMETERS))
            self._oldest += left < NEGLIGIBLE

    def segments(self, unloaded: Sequence[float]) -> tuple[PayloadSegment, ...]:
        """The estimates from all samples together."""
        starts, prior_std = self._stamp[self._starts], self._options.prior_std
        empty = {int(np.searchsorted(starts, moment, side="right")) - 1 for moment in unloaded}
        means, covariances = payload_posteriors(
            self._fit.information, self._fit.vector, self._motion_s, prior_std, empty
        )
        ends = [*starts[1:], self._stamp[-1]]
        return tuple(
            PayloadSegment(
                start=float(starts[s]),
                end=float(ends[s]),
                motion_s=float(self._motion_s[s]),
                estimate=self._estimate(s in empty, float(ends[s]), self._motion_s[s], means[s], covariances[s]),
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
