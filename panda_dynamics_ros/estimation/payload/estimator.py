# SPDX-License-Identifier: Apache-2.0
"""The payload estimator: mass, centre of mass and inertia from joint torques, sample by sample."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms, SampleRows, SampleTerms
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.announcement import Announcement
from panda_dynamics_ros.estimation.payload.arm_errors import ArmErrors, LearntModel
from panda_dynamics_ros.estimation.payload.change_detector import ChangeDetector, Detection
from panda_dynamics_ros.estimation.payload.consistency import ConsistentBody
from panda_dynamics_ros.estimation.payload.estimate import (
    CHANGED,
    ESTIMATING,
    SETTLING,
    STAMP_RESOLUTION,
    STANDSTILL,
    WAITING,
    ArmMemory,
    ChangeEvent,
    PayloadEstimate,
    PayloadMemory,
)
from panda_dynamics_ros.estimation.payload.payload_filter import PayloadFilter
from panda_dynamics_ros.estimation.payload.plausibility import Declaration, PlausibilityCheck
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import published_estimate
from panda_dynamics_ros.estimation.payload.sample_filters import SampleFilters
from panda_dynamics_ros.estimation.payload.sample_intake import SampleCounts, SampleIntake
from panda_dynamics_ros.estimation.regression import MeanChange
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.libfranka_state import sample_of
from panda_dynamics_ros.robot.residual_map import ResidualMap


class PayloadEstimator:
    """Kalman filter for the payload of one arm and the coloured residual of the arm's model.

    Parameters
    ----------
    robot: the arm without the payload, with its friction and its residual model.
    shape: of the payloads, if known: it gives their inertia. A `Shape`, or "box 0.1 0.05 0.2" (m, along flange axes).
    options: see `EstimatorOptions`, as keyword arguments.

    Raises
    ------
    ArgumentError: an option is unknown or not positive, or the shape is malformed.
    """

    def __init__(self, robot: RobotDescription, *, shape: Shape | str | None = None, **options: float) -> None:
        self.robot, self.options = robot, EstimatorOptions.of(options)
        self._shape, self._terms = Shape.of(shape), MomentumTerms(robot)
        self._period = self.options.update_period_s - STAMP_RESOLUTION
        self._filters = SampleFilters(robot.n, self.options)
        self._change: ChangeEvent | None = None  # found ahead of the sample at which it is announced
        o, has_end_effector = self.options, not np.allclose(robot.T_flange_ee, np.eye(4))
        declared = Declaration(robot.name, o.max_mass, o.known_mass, has_end_effector, robot.effort)
        self._plausibility = PlausibilityCheck(robot.residual.std, declared)
        self._filter = PayloadFilter(robot, self.options, self._filters.regression.pole)
        prior, size = self._filter.prior_covariance, self._filter.errors
        self._detector = ChangeDetector(robot.residual.std, prior, o.max_mass, errors=size)
        self.reset()

    def reset(self) -> None:
        """Start again: the payload is unknown, and the tare is zero."""
        self._intake, self._tare = SampleIntake(self.robot, self.options.max_gap_s), np.zeros(PARAMETERS)
        self._filter.reset()
        self._body = ConsistentBody()
        self._filters.reset()
        self._detector.restart()
        self._plausibility.restart()
        self._stamp = self._updated = -math.inf
        self._announcement, self._jump = Announcement(), 0.0
        self._detection_pending, self._change = False, None
        self._estimate = self._published(WAITING)

    def tare(self) -> None:
        """Count the present payload as none (a tool that stays on); later estimates are relative to it."""
        payload = self._filter.payload[0]
        self._tare += payload
        self._filter.shift(payload)
        self._detector.restart()
        self._detection_pending, self._change = False, None
        self._estimate = self._published(self._estimate.status)

    def restore(
        self, vector: ArrayLike, covariance: ArrayLike, tare: ArrayLike | None = None, arm: ArmMemory | None = None
    ) -> None:
        """Start again from a payload's mean (10,) and covariance (10, 10), and its tare (10,); see `memory`.

        The disturbance starts from its prior, and so does what is known of the arm, unless `arm` brings it along.

        Raises
        ------
        ArgumentError: a shape is wrong, `covariance` is not positive definite, or `arm` belongs to another arm.
        """
        vector = checks.exactly(vector, (PARAMETERS,), "vector")
        covariance = checks.covariance(covariance, PARAMETERS, "covariance")
        tare = np.zeros(PARAMETERS) if tare is None else checks.exactly(tare, (PARAMETERS,), "tare").copy()
        arm = arm and self._filter.checked(arm)
        self.reset()
        self._tare = tare
        self._filter.reset(vector, covariance)
        if arm is not None:
            self._filter.recall(arm)
        self._estimate = self._published(WAITING)

    def use_map(self, residual_map: ResidualMap, unexplained: FloatArray, change: MeanChange) -> None:
        """Go on as if the map had always been this one: see `ResidualLearner`."""
        self._terms.use_map(residual_map)
        self._filters.use_map(unexplained, change)
        self._filter.use_map(residual_map, unexplained, change.second)

    @property
    def memory(self) -> PayloadMemory:
        """What `restore` needs to continue from here, in another process or on another day."""
        return self._filter.memory(self._tare)

    @property
    def arm_errors(self) -> ArmErrors:
        """What the arm's model has wrong, as learnt so far."""
        return self._filter.arm_errors

    @property
    def learnt_model(self) -> LearntModel:
        """The arm with these errors, given that it carries the published payload."""
        return self._filter.learnt_model(self._estimate.vector)

    @property
    def raw_mass(self) -> float:
        """Mass, kg, of the filter: with its sign, before limits and physical consistency are applied."""
        return float(self._filter.state.mean[0])

    @property
    def noise_ratio(self) -> FloatArray:
        """Standard deviation (n,) of what is not explained, in units of the residual model's."""
        return self._filter.noise_ratio

    @property
    def counts(self) -> SampleCounts:
        """How many samples were used, and how many were ignored for which reason."""
        return self._intake.counts

    @property
    def estimate(self) -> PayloadEstimate:
        """The estimate after the last sample."""
        return self._estimate

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> PayloadEstimate:
        """The estimate after one more sample.

        Parameters
        ----------
        stamp: s. A stamp that repeats or steps back a little is ignored and counted, and so is a measurement that
            repeats the last one while the arm moves. A jump back by more than `max_gap_s` restarts the filters.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.

        Raises
        ------
        ArgumentError: an argument is not finite, or not of shape (n,). The estimate is as it was before.
        """
        sample = link_side_sample(self.robot, q, dq, tau)
        return self.update_terms(checks.number(stamp, "stamp"), *sample, self._terms.at(*sample))

    def update_state(self, state: Any) -> PayloadEstimate:
        """`update` with a libfranka RobotState; see `ArmMonitor.update_state`."""
        return self.update(*sample_of(state))

    def update_terms(
        self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray, terms: MomentumTerms | SampleTerms
    ) -> PayloadEstimate:
        """`update` with a sample that was checked before, and its terms."""
        if self._estimate.event is not None:
            self._estimate = replace(self._estimate, event=None)
        dt, problem = self._intake.accept(stamp, q, dq, tau), self._intake.problem
        if problem and problem != self._estimate.problem:
            self._estimate = replace(self._estimate, problem=problem)
        if dt is None:
            return self._estimate
        change, self._change = self._change or self._detect_changes(), None
        if dt == 0.0:
            self._restart_after(stamp - self._stamp)
        self._stamp = stamp
        self._filters.step(dt, dq, tau, terms)
        if dt > 0.0:
            self._detector.follow_sample(self._filters.regression.pole, dt)
        self._finish(dt, q, dq, change)
        return self._estimate

    def update_rows(self, rows: SampleRows, k: int, ahead_until: float = math.inf) -> int:
        """`update_terms` with samples from k on, up to where the estimate may change; the index behind them."""
        usual = not (self._detection_pending or self._change or self._estimate.event)
        steps = self._intake.accept_rows(rows, k, self._updated, self._period) if usual else np.zeros(0)
        if not steps.size:
            self.update_terms(float(rows.stamp[k]), rows.q[k], rows.dq[k], rows.tau[k], rows.terms.at(k))
            return k + 1
        end = k + len(steps)
        self._stamp = float(rows.stamp[end - 1])
        self._filters.steps(steps, rows, k)
        self._detector.follow_samples(self._filters.regression.pole, steps)
        self._finish(float(steps[-1]), rows.q[end - 1], rows.dq[end - 1])
        if end < len(rows.stamp) and self._stamp < ahead_until:  # s; nobody waits for this estimate
            self._change = self._detect_changes()
        return end

    def _finish(self, dt: float, q: FloatArray, dq: FloatArray, change: ChangeEvent | None = None) -> None:
        """What follows after a sample has passed the low-pass filters."""
        if self._stamp - self._updated >= self._period:
            self._estimate = self._update_filter(q, dq)
            if dt > 0.5 * self.options.update_period_s:  # at a low rate; else detection waits for the next sample
                change = change or self._detect_changes()
        if change is not None:
            self._estimate = self._published(CHANGED, self._announcement.event(change, self._jump, self._stamp))

    def _restart_after(self, dt: float) -> None:
        """Restart the filters after a gap of `dt` s: the payload is kept, the disturbance returns to its prior."""
        self._filter.predict(abs(dt) if math.isfinite(dt) else 0.0)
        self._filter.restart()
        self._filters.restart()
        self._detector.restart(after_gap=True)
        self._updated = -math.inf

    def _restart_overflown(self) -> None:
        """Start again, but for the tare: a number in the samples was so large that the filter is no longer finite."""
        self.counts.restarts += 1
        self._filter.reset()
        self._filters.reset()
        self._body = ConsistentBody()
        self._detector.restart()
        self._updated, self._detection_pending = -math.inf, False

    def _update_filter(self, q: FloatArray, dq: FloatArray) -> PayloadEstimate:
        """One step of the filter: predict, correct, publish. Detection of changes is left to `_detect_changes`."""
        Y, y, clock, unexplained = self._filters.Y, self._filters.y, self._filters.clock, self._filters.unexplained
        since = self._stamp - self._updated if math.isfinite(self._updated) else self.options.update_period_s
        motion_time = clock.motion_time(since)
        self._updated = self._stamp
        load = Y @ (self._filter.state.mean[:PARAMETERS] + self._tare)
        self._filter.follow_arm(self._stamp, q, dq, self._filters.torque - y, load, unexplained)
        self._filter.predict(motion_time)
        self._detector.known = 1.0 - float(unexplained.mean()) if self._terms.has_map else 0.0
        if not self._filters.regression.settled:
            return self._published(SETTLING)
        if not self._filter.correct(Y, y - Y @ self._tare, motion_time, clock):
            self._restart_overflown()
            return self._published(SETTLING)
        self._detection_pending = True
        carried = self._filter.state.mean[:PARAMETERS] + self._tare
        if self._plausibility.update(self._filters.torque, y, y - Y @ carried, motion_time):
            mass_std = math.sqrt(self._filter.state.covariance[0, 0])
            is_first = math.isinf(self._announcement.last_change)
            shape = self._filter.shape_problem(self._shape)
            self._plausibility.evaluate(carried[0], mass_std, is_first, self._filter.arm_errors, shape)
        return self._published(ESTIMATING if motion_time > 0.0 else STANDSTILL)

    def _detect_changes(self) -> ChangeEvent | None:
        """The change that the last filter step reveals, if any; without one, forget a little."""
        if not self._detection_pending:
            return None
        self._detection_pending = False
        self._detector.add_hypothesis(self._filters.regression)
        self._detector.follow_filter(self._filter.step, self._filters.regression)
        self._detector.gain = self._filter.possible_gain
        detection = self._detector.detect(self._filter.state, -float(self._tare[0]))
        if detection is None:
            self._filter.forget()
            return None
        self._adopt(detection)
        return ChangeEvent(self._stamp, detection.kind, self._stamp - detection.age)

    def _adopt(self, detection: Detection) -> None:
        """Continue with the changed disturbance, or with the changed payload and its regression."""
        self._filter.adopt(detection.state, detection.kind != "contact")
        self._jump = abs(float(detection.jump[0]))
        if detection.kind == "contact":
            self._filters.regression.complete_step(detection.jump, detection.age)
        else:
            since = self._detector.filters(detection.slot, self._filters.regression)
            self._filters.regression.change_payload(since, detection.before + self._tare)
            self._filters.clock.note_change()
            self._body = ConsistentBody()
        self._detector.restart()

    def _published(self, status: str, event: ChangeEvent | None = None) -> PayloadEstimate:
        mean, covariance = self._filter.payload
        return published_estimate(
            mean, covariance, self.options, self._shape, self._body, stamp=self._stamp, status=status, event=event,
            problem=self._intake.problem or self._plausibility.problem, unlearnt=self._filter.unlearnt,
        )  # fmt: skip
