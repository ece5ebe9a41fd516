# SPDX-License-Identifier: Apache-2.0
"""The payload estimator: mass, centre of mass and inertia from joint torques, sample by sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.change_detector import ChangeDetector, Detection
from panda_dynamics_ros.estimation.consistency import ConsistentBody
from panda_dynamics_ros.estimation.disturbance_filter import PARAMETERS, Belief, correct, forget, predict
from panda_dynamics_ros.estimation.payload_estimate import (
    CHANGED,
    ESTIMATING,
    SETTLING,
    STANDSTILL,
    WAITING,
    ChangeEvent,
    PayloadEstimate,
    PayloadMemory,
)
from panda_dynamics_ros.estimation.regression import MomentumRegression
from panda_dynamics_ros.robot import InertialParameters, RobotDescription

STILL_LESSON = 1.0
"""s: how long an arm that stands still is listened to. After that its samples say nothing new, while the noise
of dq, which the regressor shares, would be taken for motion and draw the payload to zero."""

STAMP_RESOLUTION = 1e-6
"""s: what is left of a stamp since 1970 in a double is 0.24 microseconds."""

ONE_CONTACT = 0.5
"""s: torques that no payload explains, closer together than this, are one contact."""


@dataclass(frozen=True)
class EstimatorOptions:
    """Options of the payload estimator; the defaults suit a Panda.

    Attributes
    ----------
    mass_std: kg, how heavy payloads are, at one sigma about none (the Panda carries 3 kg).
    com_std: m, how far from the flange their centre of mass is; its product with the mass bounds m c.
    inertia_std: kg m^2, of each entry of the inertia about the flange origin.
    bandwidth_hz: pole of the two low-pass filters.
    update_period_s: the filter takes in a sample each such period (samples in between are only filtered).
    memory_s: time in motion after which the payload's information has leaked to 1/e toward the prior.
    white_share: white noise of the filtered torque, as a share of the residual's standard deviation.
    slow_speed: rad/s, speed of a joint below which its friction is anybody's guess: there, and until the filters
        have passed it on, its torque counts with the whole residual's standard deviation as white noise.
    still_speed, moving_speed: rad/s, norm of dq below which the arm stands still, above which it fully moves.
    max_gap_s: a longer silence restarts the filters.
    """

    mass_std: float = 1.5
    com_std: float = 0.1
    inertia_std: float = 0.02
    bandwidth_hz: float = 3.0
    update_period_s: float = 0.01
    memory_s: float = 8.0
    white_share: float = 0.3
    slow_speed: float = 0.05
    still_speed: float = 0.03
    moving_speed: float = 0.3
    max_gap_s: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = checks.number(getattr(self, field.name), field.name)
            if value <= 0.0:
                raise ArgumentError(f"{field.name}: expected a positive number, got {value:g}")


@dataclass
class SampleCounts:
    """What became of the samples, for diagnostics."""

    used: int = 0
    duplicate: int = 0
    backward: int = 0
    gaps: int = 0


class PayloadEstimator:
    """Recursive least squares for the payload of one arm, with the arm's coloured residual beside it.

    Parameters
    ----------
    robot: the arm without the payload, with its friction and its residual model.
    options: see `EstimatorOptions`, as keyword arguments.

    Raises
    ------
    ArgumentError: an option is unknown or not positive.
    """

    def __init__(self, robot: RobotDescription, **options: float) -> None:
        unknown = set(options) - {field.name for field in fields(EstimatorOptions)}
        if unknown:
            known = ", ".join(field.name for field in fields(EstimatorOptions))
            raise ArgumentError(f"options: expected any of {known}, got {', '.join(sorted(unknown))}")
        self.robot = robot
        self.options = EstimatorOptions(**options)
        o = self.options
        spread = np.array([o.mass_std, *[o.mass_std * o.com_std] * 3, *[o.inertia_std] * 6])
        self._prior_mean, self._prior_covariance = np.zeros(PARAMETERS), np.diag(spread**2)
        self._slow_memory = 2.0 / (2.0 * math.pi * o.bandwidth_hz)  # group delay of the two poles
        self._regression = MomentumRegression(robot, "flange", o.bandwidth_hz)
        self._detector = ChangeDetector(robot.residual)
        self.reset()

    def reset(self) -> None:
        """Start anew: no payload known, nothing tared."""
        self.counts = SampleCounts()
        self._tare = np.zeros(PARAMETERS)
        self._belief = Belief.start(self._prior_mean, self._prior_covariance, self.robot.residual.std)
        self._body = ConsistentBody()
        self._regression.restart()
        self._detector.restart()
        self._stamp = self._updated = self._hold_until = self._contact = -math.inf
        self._step, self._path, self._unforgotten, self._still_time = 0.0, 0.0, 0.0, 0.0
        self._slowness = np.zeros(self.robot.n)
        self._estimate = self._published(WAITING)

    def tare(self) -> None:
        """Take what is estimated now as no payload (a tool that stays on); later estimates are relative to it."""
        self._tare += self._belief.mean[:PARAMETERS]
        self._belief.mean[:PARAMETERS] = 0.0
        self._detector.restart()
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
        stamp: s, of the sample. A stamp that repeats or steps back a little is left out and counted; one that
            jumps back by more than `max_gap_s` (a bag in a loop) restarts the filters, as a gap does.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the link-side torque, gravity included.

        Raises
        ------
        ArgumentError: not finite, or not of shape (n,). The estimate is as it was before.
        """
        stamp = checks.number(stamp, "stamp")
        shape = (self.robot.n,)
        q, dq, tau = checks.exactly(q, shape, "q"), checks.exactly(dq, shape, "dq"), checks.exactly(tau, shape, "tau")
        dt = stamp - self._stamp
        if self._out_of_order(dt):
            return self._estimate
        if not -self.options.max_gap_s <= dt <= self.options.max_gap_s:
            self._resume(dt)
            dt = 0.0
        self._stamp, self._step = stamp, dt
        self.counts.used += 1
        Y, y = self._regression.step(dt, q, dq, tau)
        self._path += float(np.sqrt(dq @ dq)) * dt
        self._note_slowness(dt, dq)
        if stamp - self._updated < self.options.update_period_s - STAMP_RESOLUTION:
            return self._estimate
        self._estimate = self._take_in(Y, y)
        return self._estimate

    def _out_of_order(self, dt: float) -> bool:
        """Count and refuse a stamp that does not advance; a jump back is left to `_resume`."""
        if -self.options.max_gap_s <= dt <= 0.0:
            self.counts.duplicate += dt == 0.0
            self.counts.backward += dt < 0.0
            return True
        return False

    def _resume(self, dt: float) -> None:
        """After silence the payload is what it was; what was learnt about the disturbance has faded."""
        if math.isfinite(dt):
            self.counts.gaps += 1
            residual = self.robot.residual
            predict(self._belief.mean, self._belief.covariance, abs(dt), residual.std, residual.correlation_time)
        self._regression.restart()
        self._detector.restart()
        self._updated = self._hold_until = -math.inf
        self._path = 0.0

    def _take_in(self, Y: FloatArray, y: FloatArray) -> PayloadEstimate:
        """One step of the filter: predict, detect, correct, forget, publish."""
        dt = self._stamp - self._updated if math.isfinite(self._updated) else self.options.update_period_s
        motion_time = dt * self._activity(dt)
        self._updated = self._stamp
        residual, belief = self.robot.residual, self._belief
        if not self._regression.settled or self._stamp < self._hold_until:
            predict(belief.mean, belief.covariance, motion_time, residual.std, residual.correlation_time)
            return self._published(CHANGED if self._regression.settled else SETTLING)
        y = y - Y @ self._tare
        self._detector.spawn(belief, dt)
        predict(belief.mean, belief.covariance, motion_time, residual.std, residual.correlation_time)
        variance = self._variance()
        self._still_time = 0.0 if motion_time > 0.0 else self._still_time + dt
        taught = belief if self._still_time < STILL_LESSON else belief.copy()
        log_likelihood = correct(taught.mean, taught.covariance, Y, y, variance)
        detection = self._detector.test(dt, motion_time, Y, y, variance, log_likelihood, -float(self._tare[0]))
        if detection is not None:
            return self._change(detection)
        self._leak(motion_time)
        return self._published(ESTIMATING if motion_time > 0.0 else STANDSTILL)

    def _note_slowness(self, dt: float, dq: FloatArray) -> None:
        """How recently each joint was slow, from 1 (now) to 0."""
        now = np.exp(-((dq / self.options.slow_speed) ** 2))
        self._slowness = np.maximum(now, self._slowness * math.exp(-dt / self._slow_memory))

    def _variance(self) -> FloatArray:
        """Variance (n,) of the white part of the filtered torque.

        A slow stream's noise passes the filters with less averaging: with a share of pole times period.
        """
        unaveraged = min(1.0, 2.0 * math.pi * self.options.bandwidth_hz * self._step)
        return (self.options.white_share**2 + self._slowness + unaveraged) * self.robot.residual.std**2

    def _activity(self, dt: float) -> float:
        """From 0 (standing still) to 1 (moving), by the mean speed since the last update."""
        o = self.options
        speed = self._path / dt
        self._path = 0.0
        return min(1.0, max(0.0, (speed - o.still_speed) / (o.moving_speed - o.still_speed)))

    def _leak(self, motion_time: float) -> None:
        """Forget in steps of a tenth of a second of motion: the leak is slow, its matrix inverses are not."""
        self._unforgotten += motion_time
        if self._unforgotten > 0.1:
            keep = math.exp(-self._unforgotten / self.options.memory_s)
            forget(self._belief, keep, self._prior_mean, self._prior_covariance)
            self._unforgotten = 0.0

    def _change(self, detection: Detection) -> PayloadEstimate:
        """A contact moves the disturbance; a new payload starts from the prior, once the filters show it whole."""
        event: ChangeEvent | None = ChangeEvent(self._stamp, detection.kind)
        if detection.kind == "contact":
            self._belief = detection.contact
            status = ESTIMATING
            # A push changes while it lasts, and ends: all that is one event.
            if self._stamp - self._contact < ONE_CONTACT:
                event = None
            self._contact = self._stamp
        else:
            residual, before = self.robot.residual, detection.before
            predict(before.mean, before.covariance, detection.age, residual.std, residual.correlation_time)
            self._belief = before.with_new_payload(self._prior_mean - self._tare, self._prior_covariance)
            self._hold_until = self._stamp + self._regression.settling_time
            self._still_time = 0.0
            self._body = ConsistentBody()
            status = CHANGED
        self._detector.restart()
        return self._published(status, event)

    def _published(self, status: str, event: ChangeEvent | None = None) -> PayloadEstimate:
        mean, covariance = self._belief.mean[:PARAMETERS], self._belief.covariance[:PARAMETERS, :PARAMETERS]
        vector = self._body.nearest(mean, np.asarray(np.linalg.inv(covariance), dtype=np.float64))
        std, prior_std = np.sqrt(np.diag(covariance)), np.sqrt(np.diag(self._prior_covariance))
        return PayloadEstimate(
            stamp=self._stamp,
            payload=InertialParameters.from_vector(vector),
            covariance=checks.read_only(covariance),
            # Three times tighter than the prior: nine tenths of the information came from the data.
            identifiable=std < prior_std / 3.0,
            status=status,
            event=event,
        )
