# SPDX-License-Identifier: Apache-2.0
"""The payload estimator: mass, centre of mass and inertia from joint torques, sample by sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.change_detector import ChangeDetector, Detection
from panda_dynamics_ros.estimation.payload.consistency import ConsistentBody
from panda_dynamics_ros.estimation.payload.estimate import (
    CHANGED,
    ESTIMATING,
    SETTLING,
    STAMP_RESOLUTION,
    STANDSTILL,
    WAITING,
    ChangeEvent,
    PayloadEstimate,
    PayloadMemory,
)
from panda_dynamics_ros.estimation.payload.kalman_filter import PARAMETERS, Belief, Lesson, correct, forget, predict
from panda_dynamics_ros.estimation.payload.motion_clock import MotionMeter, same_motion
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import published_estimate
from panda_dynamics_ros.estimation.regression import MomentumRegression
from panda_dynamics_ros.robot import RobotDescription

ONE_CHANGE = 0.5
"""s: changes of one kind that are closer together than this are one event."""


@dataclass
class SampleCounts:
    """What became of the samples, for diagnostics.

    `frozen`: the same measurement again under a new stamp, while it says that the arm moves.
    """

    used: int = 0
    duplicate: int = 0
    backward: int = 0
    frozen: int = 0
    gaps: int = 0


class PayloadEstimator:
    """Recursive least squares for the payload of one arm, with the arm's coloured residual beside it.

    Parameters
    ----------
    robot: the arm without the payload, with its friction and its residual model.
    shape: of the payloads, if it is known: their inertia then follows from mass and centre of mass. A `Shape`, or
        its words, such as "box 0.1 0.05 0.2" (m, along flange axes).
    options: see `EstimatorOptions`, as keyword arguments.

    Raises
    ------
    ArgumentError: an option is unknown or not positive, or the shape is none.
    """

    def __init__(self, robot: RobotDescription, *, shape: Shape | str | None = None, **options: float) -> None:
        self.robot, self.options = robot, EstimatorOptions.of(options)
        self._shape = Shape.of(shape)
        o = self.options
        self._prior_mean, self._prior_covariance = np.zeros(PARAMETERS), np.diag(o.spread**2)
        self._regression = MomentumRegression(robot, "flange", o.bandwidth_hz)
        self._lesson = Lesson.blank(robot.n)
        self._detector = ChangeDetector(robot.residual.std, self._prior_covariance, o.max_mass)
        self.reset()

    def reset(self) -> None:
        """Start anew: no payload known, nothing tared."""
        self.counts = SampleCounts()
        self._tare = np.zeros(PARAMETERS)
        self._belief = Belief.start(self._prior_mean, self._prior_covariance, self.robot.residual.std)
        self._body = ConsistentBody()
        self._regression.restart()
        self._detector.restart()
        self._stamp = self._updated = self._last_change = -math.inf
        self._last_kind = ""
        self._sample = np.full((3, self.robot.n), math.nan)
        self._motion, self._unforgotten, self._unjudged = MotionMeter(self.robot.n, self.options), 0.0, False
        self._estimate = self._published(WAITING)

    def tare(self) -> None:
        """Take what is estimated now as no payload (a tool that stays on); later estimates are relative to it."""
        self._tare += self._belief.mean[:PARAMETERS]
        self._belief.mean[:PARAMETERS] = 0.0
        self._detector.restart()
        self._unjudged = False
        self._estimate = self._published(self._estimate.status)

    def restore(self, vector: ArrayLike, covariance: ArrayLike, tare: ArrayLike | None = None) -> None:
        """Start anew from a payload's mean (10,) and covariance (10, 10), and its tare (10,); see `memory`.

        The disturbance starts from its prior.

        Raises
        ------
        ArgumentError: a shape is wrong, or `covariance` is not symmetric and positive definite.
        """
        vector = checks.exactly(vector, (PARAMETERS,), "vector")
        covariance = checks.covariance(covariance, PARAMETERS, "covariance")
        tare = np.zeros(PARAMETERS) if tare is None else checks.exactly(tare, (PARAMETERS,), "tare").copy()
        self.reset()
        self._belief, self._tare = Belief.start(vector, covariance, self.robot.residual.std), tare
        self._estimate = self._published(WAITING)

    @property
    def memory(self) -> PayloadMemory:
        """What `restore` needs to go on from here, in another process or on another day."""
        mean, covariance = self._belief.mean[:PARAMETERS], self._belief.covariance[:PARAMETERS, :PARAMETERS]
        return PayloadMemory(mean, covariance, self._tare)

    @property
    def estimate(self) -> PayloadEstimate:
        """The estimate after the last sample."""
        return self._estimate

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> PayloadEstimate:
        """Take in one sample.

        Parameters
        ----------
        stamp: s, of the sample. A stamp that repeats or steps back a little is left out and counted, as is the same
            measurement again of an arm in motion; a stamp that jumps back by more than `max_gap_s` (a bag in a loop)
            restarts the filters, as a gap does.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the link-side torque, gravity included.

        Raises
        ------
        ArgumentError: not finite, or not of shape (n,). The estimate is as it was before.
        """
        stamp = checks.number(stamp, "stamp")
        shape = (self.robot.n,)
        q, dq, tau = checks.exactly(q, shape, "q"), checks.exactly(dq, shape, "dq"), checks.exactly(tau, shape, "tau")
        dt = stamp - self._stamp
        if self._out_of_order(dt) or self._frozen(q, dq, tau):
            return self._estimate
        change = self._judge()
        if not -self.options.max_gap_s <= dt <= self.options.max_gap_s:
            self._resume(dt)
            dt = 0.0
        self._stamp = stamp
        self.counts.used += 1
        Y, y = self._regression.step(dt, q, dq, tau)
        self._detector.follow(self._regression, dt)
        self._motion.follow(dt, dq)
        if stamp - self._updated >= self.options.update_period_s - STAMP_RESOLUTION:
            self._estimate = self._take_in(Y, y)
            # Looking for changes can wait for the next sample, which the estimate then need not; not for a late one.
            if dt > 0.5 * self.options.update_period_s:
                change = change or self._judge()
        if change is not None:
            self._estimate = self._published(CHANGED, self._announced(change))
        return self._estimate

    def _out_of_order(self, dt: float) -> bool:
        """Count and refuse a stamp that does not advance; a jump back is left to `_resume`."""
        if -self.options.max_gap_s <= dt <= 0.0:
            self.counts.duplicate += dt == 0.0
            self.counts.backward += dt < 0.0
            return True
        return False

    def _frozen(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> bool:
        """Count and refuse what a driver that hangs sends again: measurements of a moving arm never repeat."""
        frozen = bool(same_motion(self._sample, q, dq, tau))
        self.counts.frozen += frozen
        return frozen

    def _resume(self, dt: float) -> None:
        """After silence the payload is what it was; what was learnt about the disturbance has faded."""
        if math.isfinite(dt):
            self.counts.gaps += 1
            residual = self.robot.residual
            predict(self._belief.mean, self._belief.covariance, abs(dt), residual.std, residual.correlation_time)
        self._regression.restart()
        self._detector.restart(unseen=True)
        self._updated = -math.inf
        self._motion.restart()

    def _take_in(self, Y: FloatArray, y: FloatArray) -> PayloadEstimate:
        """One step of the filter: predict, correct, publish. What it tells of changes is still to be judged."""
        dt = self._stamp - self._updated if math.isfinite(self._updated) else self.options.update_period_s
        motion_time = self._motion.motion_time(dt)
        self._updated = self._stamp
        residual, belief = self.robot.residual, self._belief
        predict(belief.mean, belief.covariance, motion_time, residual.std, residual.correlation_time)
        if not self._regression.settled:
            return self._published(SETTLING)
        self._learn(Y, y - Y @ self._tare, motion_time)
        self._unjudged = True
        self._unforgotten += motion_time
        return self._published(ESTIMATING if motion_time > 0.0 else STANDSTILL)

    def _learn(self, Y: FloatArray, y: FloatArray, motion_time: float) -> None:
        """Correct; after a while of standing still, only for the detector to look at."""
        residual, belief, lesson = self.robot.residual, self._belief, self._lesson
        variance, still = self._motion.white_share * residual.std**2, self._motion.nothing_new
        taught = belief.copy() if still else belief
        correct(taught.mean, taught.covariance, Y, y, variance, lesson.gain, lesson.innovation, lesson.spread)
        lesson.decay[:] = np.exp(-motion_time / residual.correlation_time)
        lesson.Y[:] = Y
        if still:
            lesson.gain[:] = 0.0

    def _judge(self) -> ChangeEvent | None:
        """Detect, by the last lesson, once; then go on from what has changed, or forget a little."""
        if not self._unjudged:
            return None
        self._unjudged = False
        self._detector.spawn(self._regression)
        self._detector.learn(self._lesson, self._regression)
        detection = self._detector.verdict(self._belief, -float(self._tare[0]))
        if detection is not None:
            self._change(detection)
            return ChangeEvent(self._stamp, detection.kind, self._stamp - detection.age)
        # In steps of a tenth of a second of motion: the leak is slow, its matrix inverses are not.
        if self._unforgotten > 0.1:
            keep = math.exp(-self._unforgotten / self.options.memory_s)
            forget(self._belief, keep, self._prior_mean, self._prior_covariance)
            self._unforgotten = 0.0
        return None

    def _change(self, detection: Detection) -> None:
        """Go on from what has changed: the disturbance, or the payload and with it the regression."""
        self._belief = detection.belief
        if detection.kind == "contact":
            self._regression.settle(detection.jump, detection.age)
        else:
            self._regression.split(detection.filters, detection.before + self._tare)
            self._motion.listen()
            self._body = ConsistentBody()
        self._detector.restart()

    def _announced(self, change: ChangeEvent) -> ChangeEvent | None:
        """With the stamp of this sample; None where it is the last event going on.

        A push changes while it lasts, and ends, and a load comes on by and by: that is one event.
        """
        goes_on = change.kind == self._last_kind and self._stamp - self._last_change < ONE_CHANGE
        self._last_kind, self._last_change = change.kind, self._stamp
        return None if goes_on else replace(change, stamp=self._stamp)

    def _published(self, status: str, event: ChangeEvent | None = None) -> PayloadEstimate:
        mean, covariance = self._belief.mean[:PARAMETERS], self._belief.covariance[:PARAMETERS, :PARAMETERS]
        return published_estimate(
            mean, covariance, self.options, self._shape, self._body, stamp=self._stamp, status=status, event=event
        )
