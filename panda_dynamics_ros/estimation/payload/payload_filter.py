# SPDX-License-Identifier: Apache-2.0
"""The Kalman filter of one arm: payload, coloured disturbance and the arm's errors, with the level of the noise."""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.arm_errors import COMMON_GAIN, OWN, ArmErrorRegression, ArmErrors, LearntModel
from panda_dynamics_ros.estimation.payload.estimate import ArmMemory, PayloadMemory
from panda_dynamics_ros.estimation.payload.kalman_filter import (
    FilterStep,
    GaussianState,
    correct,
    forget,
    predict,
)
from panda_dynamics_ros.estimation.payload.motion_clock import MotionClock
from panda_dynamics_ros.estimation.payload.noise_level import NoiseLevel
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.residual_map import ResidualMap


SLIDE, TOUCH, TOUCH_TIME = 0.5, 20.0, 0.3


class PayloadFilter:
    """Filter of one arm.

    Parameters
    ----------
    robot: the arm without the payload.
    options: of the estimator.
    pole: rad/s, of the low-pass filters that y and Y have passed.

    Attributes
    ----------
    state: what is known.
    step: the last step, for change detection.
    prior_covariance: (10, 10), of an unknown payload.
    """

    def __init__(self, robot: RobotDescription, options: EstimatorOptions, pole: float) -> None:
        self._n, self._options = robot.n, options
        self.prior_covariance = np.diag(options.prior_std**2)
        self._noise = NoiseLevel(robot.residual, options, robot.residual_map)
        self._arm = ArmErrorRegression(robot, pole, options.arm_error_ratio)
        self.step = FilterStep.zeros(robot.n, self._arm.shared, OWN)
        self._disturbance = slice(PARAMETERS, PARAMETERS + robot.n)
        self.reset()

    @property
    def errors(self) -> int:
        """How many errors of the arm's model the state has."""
        return self._arm.size

    def reset(self, vector: FloatArray | None = None, covariance: FloatArray | None = None) -> None:
        """Start again: with a payload of this mean (10,) and covariance (10, 10), or an unknown one; nothing learnt."""
        self._noise.restart()
        mean = np.zeros(PARAMETERS) if vector is None else vector
        P = self.prior_covariance if covariance is None else covariance
        self.state = GaussianState.prior(mean, P, self._noise.std, self.errors)
        self._since_forgetting, self.touched, self._quiet = 0.0, False, 0.0
        self._s, self._slid = np.zeros(self._n), np.zeros(self._n)
        self.restart()

    def restart(self) -> None:
        """Start the columns of the arm's errors again, after a gap."""
        self._arm.restart()
        self._stamp = -math.inf

    def predict(self, motion_time: float, dt: float) -> None:
        """Let `dt` s pass, of them `motion_time` s of motion."""
        std, slid = self._noise.std, self._slid
        if self.touched:
            std = TOUCH * self._noise.std
            self.step.decay[:] = math.exp(-dt / TOUCH_TIME)
        else:
            self.step.decay[:] = np.exp(-motion_time / self._noise.correlation_time - SLIDE * slid)
        predict(self.state.mean, self.state.covariance, self.step.decay, std)
        if not self.touched:
            self._since_forgetting += motion_time
        else:
            d = self.state.mean[self._disturbance]
            self._d += (1.0 - math.exp(-dt / 0.5)) * (d - self._d)
            z = (d - self._d) / self._noise.std
            quiet = float(z @ z) / self._n < 1.0
            self._quiet = self._quiet + dt if quiet else 0.0
            self.touched = self._quiet < 1.0

    def follow_arm(
        self, stamp: float, q: FloatArray, dq: FloatArray, s: FloatArray, arm: FloatArray, load: FloatArray,
        unexplained: FloatArray,
    ) -> None:  # fmt: skip
        """Follow the arm to a sample."""
        self._noise.unexplained = unexplained
        over = np.abs(s - self._s) - 0.25
        self._slid = np.maximum(over, 0.0)
        self._s += np.sign(s - self._s) * self._slid
        self._arm.step(stamp - self._stamp, q, dq, s, arm, load, self._noise.share)
        self._stamp = stamp

    def use_map(self, residual_map: ResidualMap, unexplained: FloatArray, change: FloatArray) -> None:
        """Leave to a new residual map what it explains: y becomes smaller by `change` (n,), N m."""
        noise, known = self._noise, PARAMETERS + self._n
        before = noise.share
        noise.use_map(residual_map)
        noise.unexplained = unexplained
        A, phi, shared = self._arm.A, self.state.mean[known:], self._arm.shared
        errors = A[:, :shared] @ phi[:shared] + np.sum(A[:, shared:] * phi[shared:].reshape(self._n, OWN), axis=1)
        self.state.mean[self._disturbance] += (1.0 - noise.share / before) * errors - change

    def correct(self, Y: FloatArray, y: FloatArray, motion_time: float, clock: MotionClock) -> bool:
        """Correct the state, and leave in `step` what change detection needs; whether all numbers are finite."""
        state, step, noise = self.state, self.step, self._noise
        corrected = state.copy() if clock.stands_still else state
        log_likelihood = correct(
            corrected.mean, corrected.covariance, Y, self._arm.A, step.shared, True, y,
            noise.white_variance(clock.not_averaged), step.gain, step.innovation, step.innovation_variance,
        )  # fmt: skip
        step.Y[:], step.A[:] = Y, self._arm.A
        if clock.stands_still:
            step.gain[:] = 0.0
        return math.isfinite(log_likelihood + float(corrected.mean.sum()))

    def forget(self) -> None:
        """Let payload and arm become less certain for the motion since the last time, and follow the noise's level."""
        motion_time, o, state = self._since_forgetting, self._options, self.state
        if motion_time <= 0.02:
            return
        d, self._since_forgetting = state.mean[self._disturbance], 0.0
        forget(state, motion_time, o.memory_s, o.arm_memory_s, o.prior_std)
        self._noise.update(motion_time, d, np.diagonal(state.covariance)[self._disturbance],
            self.step.innovation, self.step.innovation_variance)

    @property
    def arm_errors(self) -> ArmErrors:
        """What the model of the arm has wrong, as learnt so far."""
        k = PARAMETERS + self._n
        return self._arm.errors(self.state.mean[k:], np.diagonal(self.state.covariance)[k:])

    def learnt_model(self, payload: FloatArray) -> LearntModel:
        """The arm as learnt, given that it carries this `payload` (10,) beside what is tared."""
        k, P = PARAMETERS + self._n, self.state.covariance
        cross = P[k:, :PARAMETERS]
        change = np.linalg.solve(P[:PARAMETERS, :PARAMETERS], payload - self.state.mean[:PARAMETERS])
        return self._arm.model(self.state.mean[k:] + cross @ change)

    @property
    def payload(self) -> tuple[FloatArray, FloatArray]:
        """Mean (10,) and covariance (10, 10) of the payload."""
        return self.state.mean[:PARAMETERS].copy(), self.state.covariance[:PARAMETERS, :PARAMETERS].copy()

    def adopt(self, state: GaussianState, is_payload: bool = True, jump: FloatArray | None = None) -> None:
        """Go on from a state that a change has led to; `is_payload`: a change of the payload."""
        self.state = state
        if jump is not None:
            # The jump was found from (1 + g) Y delta, g being the common gain.
            k, g = PARAMETERS + self._n + self._arm.shared - 1, COMMON_GAIN * self._arm.gain_ratio
            delta = np.zeros(PARAMETERS)
            delta[: len(jump)] = jump
            state.mean[:PARAMETERS] -= g * state.mean[k] * delta
            state.covariance[:PARAMETERS] -= g * np.outer(delta, state.covariance[k])
            state.covariance[:, :PARAMETERS] -= g * np.outer(state.covariance[:, k], delta)
        if not is_payload:
            self.touched, self._quiet = True, 0.0
            self._d = np.zeros(self._n)

    def shift(self, payload: FloatArray) -> None:
        """Take `payload` (10,), which is known now, off the payload's mean."""
        self.state.mean[:PARAMETERS] -= payload

    @property
    def noise_ratio(self) -> FloatArray:
        """Standard deviation (n,) of the disturbance, in units of the residual model's."""
        return self._noise.ratio.copy()

    def memory(self, tare: FloatArray) -> PayloadMemory:
        """What `checked` and `recall` need to go on from here."""
        known, state = self._payload_and_errors, self.state
        joint = state.covariance[np.ix_(known, known)]
        arm = ArmMemory(state.mean[known], 0.5 * (joint + joint.T), self._noise.ratio)
        mean, covariance = self.payload
        return PayloadMemory(mean, covariance, tare, arm)

    def checked(self, arm: ArmMemory) -> ArmMemory:
        """The memory of an arm, if it is one of an arm like this."""
        return ArmMemory(
            checks.exactly(arm.mean, (PARAMETERS + self.errors,), "arm.mean"),
            checks.covariance(arm.covariance, PARAMETERS + self.errors, "arm.covariance"),
            checks.exactly(arm.noise_ratio, (self._n,), "arm.noise_ratio"),
        )

    def recall(self, arm: ArmMemory) -> None:
        """Go on from what was learnt about the arm and the payload."""
        known = self._payload_and_errors
        self._noise.ratio = arm.noise_ratio.copy()
        self.state.mean[known] = arm.mean
        self.state.covariance[np.ix_(known, known)] = arm.covariance

    @property
    def _payload_and_errors(self) -> np.ndarray:
        """Places of theta and phi in the state."""
        return np.delete(np.arange(len(self.state.mean)), self._disturbance)
