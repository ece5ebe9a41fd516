# SPDX-License-Identifier: Apache-2.0
"""The Kalman filter of one arm: payload, coloured disturbance and the arm's errors, with the level of the noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.arm_errors import GAIN, OWN, ArmErrorRegression, ArmErrors, LearntModel
from panda_dynamics_ros.estimation.payload.estimate import NORMAL_95, ArmMemory, PayloadMemory
from panda_dynamics_ros.estimation.payload.familiarity import CommonGain, Familiarity
from panda_dynamics_ros.estimation.payload.glr_signatures import MOMENTS
from panda_dynamics_ros.estimation.payload.kalman_filter import (
    CONTACT,
    FilterStep,
    GaussianState,
    correct,
    follow_common,
    forget,
    predict,
)
from panda_dynamics_ros.estimation.payload.motion_clock import MotionClock
from panda_dynamics_ros.estimation.payload.noise_level import NoiseLevel
from panda_dynamics_ros.estimation.payload.plausibility import WITH_HAND
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape, shape_problem
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.end_effector import read_end_effector
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.residual_map import ResidualMap

USUAL = 2.0
"""Chi-square by which a payload may fit the disturbance by chance. The filter has fitted the payload before, so that
with the coloured residual alone nine of ten values are below two."""
RECENT = 3.0
"""s of motion, over which the disturbance is looked at as well: a payload that hides in it for a moment lasts."""
REACH = 1.7
"""Standard deviations of a mass that may be nothing: below 1.96 also after the nearest possible body is published."""


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
        self._familiarity = Familiarity(self._arm.usual)
        hand = read_end_effector("hand") if robot.name in WITH_HAND else None
        self._undeclared = np.zeros(PARAMETERS) if hand is None else hand.body.vector / NORMAL_95
        self.reset()

    @property
    def errors(self) -> int:
        """How many errors of the arm's model the state has."""
        return self._arm.size

    def reset(self, vector: FloatArray | None = None, covariance: FloatArray | None = None) -> None:
        """Start again: with a payload of this mean (10,) and covariance (10, 10), or an unknown one; nothing learnt."""
        self._noise.restart()
        self._familiarity.restart()
        mean = np.zeros(PARAMETERS) if vector is None else vector
        self._hand = self._undeclared if vector is None else np.zeros(PARAMETERS)
        P = self.prior_covariance if covariance is None else covariance
        self.state = GaussianState.prior(mean, P, self._noise.std, self.errors)
        self._since_forgetting, self._changes = 0.0, False
        self._emerging, self._recent = np.zeros(PARAMETERS), np.zeros((MOMENTS, MOMENTS + 1))
        self._gain_size = self.gain.size
        self.restart()

    def restart(self) -> None:
        """Start the columns of the arm's errors again, after a gap."""
        self._arm.restart()
        self._stamp = -math.inf

    def predict(self, motion_time: float) -> None:
        """Let `motion_time` s of motion pass."""
        predict(
            self.state.mean, self.state.covariance, motion_time, self._noise.std, self._noise.correlation_time
        )  # fmt: skip
        self._since_forgetting += motion_time

    def follow_arm(
        self,
        stamp: float,
        q: FloatArray,
        dq: FloatArray,
        arm: FloatArray,
        load: FloatArray,
        unexplained: FloatArray,
    ) -> None:
        """Follow the arm to a sample.

        arm, load: (n,), N m, filtered torques of its model and of all that it carries. unexplained: (n,), share of the
        residual's variance that a residual map leaves open there.
        """
        self._noise.unexplained = unexplained
        self._arm.step(stamp - self._stamp, q, dq, arm, load, self._noise.share)
        self._stamp = stamp

    def use_map(self, residual_map: ResidualMap, unexplained: FloatArray, change: FloatArray) -> None:
        """Leave to a new residual map what it explains: y becomes smaller by `change` (n,), N m.

        The disturbance takes it over from the arm's errors, so that the innovation stays what it was.
        """
        noise, known = self._noise, PARAMETERS + self._n
        before = noise.share
        noise.use_map(residual_map)
        noise.unexplained = unexplained
        A, phi, shared = self._arm.A, self.state.mean[known:], self._arm.shared
        errors = A[:, :shared] @ phi[:shared] + np.sum(A[:, shared:] * phi[shared:].reshape(self._n, OWN), axis=1)
        self.state.mean[self._disturbance] += (1.0 - noise.share / before) * errors - change

    def correct(self, Y: FloatArray, y: FloatArray, motion_time: float, clock: MotionClock) -> bool:
        """Correct the state, and leave in `step` what change detection needs; whether all numbers are finite.

        An arm that has stood still for a while says nothing new: there is a step, but the state stays.
        """
        state, step, noise = self.state, self.step, self._noise
        corrected = state.copy() if clock.stands_still else state
        log_likelihood = correct(
            corrected.mean, corrected.covariance, Y, self._arm.A, step.shared, not self._changes, y,
            noise.white_variance(clock.white_variance_ratio), step.gain, step.innovation, step.innovation_variance,
        )  # fmt: skip
        step.decay[:] = np.exp(-motion_time / noise.correlation_time)
        step.Y[:], step.A[:] = Y, self._arm.A
        if clock.stands_still:
            step.gain[:] = 0.0
        else:
            follow_common(state.common, step.decay, Y, self._arm.A, step.shared, step.gain, self._arm.gain_torque)
        return math.isfinite(log_likelihood + float(corrected.mean.sum()))

    def forget(self) -> None:
        """Let payload and arm become less certain for the motion since the last time, and follow the noise's level.

        In steps of a tenth of a second of motion: the leak is slow, and its matrix inverses take time.
        """
        motion_time, o, state = self._since_forgetting, self._options, self.state
        if motion_time <= 0.1:
            return
        d, self._since_forgetting = state.mean[self._disturbance], 0.0
        keep, keep_errors = (math.exp(-motion_time / memory) for memory in (o.memory_s, o.arm_memory_s))
        arm = self._familiarity
        forget(state, self.payload[1], keep, self.prior_covariance, arm.scale**2 - arm.variance, keep_errors)
        self._widen(d, motion_time)
        self._follow_arm_errors()
        self._noise.update(motion_time, d, np.diagonal(state.covariance)[self._disturbance])

    def _widen(self, disturbance: FloatArray, motion_time: float) -> None:
        """Let the payload become less certain by the payload that the disturbance (n,) would be, if it looks like one.

        What comes on slowly shows there first. `unlearnt` has what has not reached the estimate yet.
        """
        std = self._noise.std
        Y, d = self.step.Y[:, :MOMENTS] / std[:, None], disturbance / std
        now = Y.T @ np.column_stack((Y, d))
        if np.abs(d).max() < CONTACT:  # else somebody pushes, which the next seconds need not remember
            self._recent += (1.0 - math.exp(-motion_time / RECENT)) * (now - self._recent)
        prior, found = np.diag(1.0 / np.diagonal(self.prior_covariance)[:MOMENTS]), []
        for sums, values in ((now, 1.0), (self._recent, RECENT / float(self._noise.correlation_time.mean()))):
            payload = np.linalg.solve(sums[:, :MOMENTS] + prior / values, sums[:, MOMENTS])
            found.append((values * float(sums[:, MOMENTS] @ payload), payload))
        fit, payload = max(found, key=lambda each: each[0])
        excess = 1.0 - USUAL / max(fit, USUAL)
        self.state.covariance[:MOMENTS, :MOMENTS] += excess * np.outer(payload, payload)
        self._changes = excess > 0.0
        self._emerging[:MOMENTS] = math.sqrt(excess) * payload

    @property
    def arm_errors(self) -> ArmErrors:
        """What the model of the arm has wrong, as learnt so far."""
        errors = self._arm.errors(self._familiarity.mean, self._familiarity.variance)
        mean, std = GAIN * self.gain.mean, GAIN * math.sqrt(self.gain.variance)
        return replace(errors, common_gain=mean, common_gain_std=std)

    def learnt_model(self, payload: FloatArray) -> LearntModel:
        """The arm as learnt, given that it carries this `payload` (10,) beside what is tared."""
        return self._arm.model(self._familiarity.errors_given(self.state, payload))

    @property
    def payload(self) -> tuple[FloatArray, FloatArray]:
        """Mean (10,) and covariance (10, 10) of the payload."""
        return self._familiarity.payload(self.state)

    @property
    def common(self) -> FloatArray:
        """(10,), what a gain that all torques have in common makes of the payload's mean, one standard deviation."""
        return self._gain_size * self._familiarity.common(self.state)

    @property
    def unlearnt(self) -> FloatArray:
        """(k, 10), errors of the payload's mean, of one sigma each, that are not in its covariance."""
        return np.stack((self.common, self._hand, self._emerging))

    @property
    def gain(self) -> CommonGain:
        """That all torques have in common, in units of one sigma."""
        return self._familiarity.gain

    @property
    def possible_gain(self) -> CommonGain:
        """The same, where it is asked whether so large a gain may explain something."""
        return self._familiarity.possible_gain

    def _follow_arm_errors(self, learns: bool = True) -> None:
        """Follow scales and common gain; where the gain explains the estimate, widen its interval to zero mass."""
        state, arm = self.state, self._familiarity
        arm.update(state, learns)
        self._gain_size = self.gain.size
        if self.gain.explains(state.common, state.mean, state.covariance):
            mean, covariance = arm.payload(state)
            lacking, of_gain = (mean[0] / REACH) ** 2 - covariance[0, 0], float(arm.common(state)[0])
            if lacking > (self._gain_size * of_gain) ** 2 > 0.0:
                self._gain_size = math.sqrt(lacking) / abs(of_gain)

    def shape_problem(self, shape: Shape | None) -> str:
        """What contradicts that the payload has this shape; empty if nothing does."""
        known = slice(0, PARAMETERS)  # with the wide prior of the arm's errors: rotors look like a payload's inertia
        P = self.state.covariance[known, known] + np.outer(self.common, self.common)
        return shape_problem(shape, self.state.mean[known], P, self.prior_covariance) if shape else ""

    def adopt(self, state: GaussianState, is_payload: bool = True) -> None:
        """Go on from a state that a change has led to; `is_payload`: a change of the payload."""
        self.state = state
        self._emerging[:], self._recent[:] = 0.0, 0.0
        if is_payload:
            self._hand = np.zeros(PARAMETERS)
        self._follow_arm_errors(learns=False)

    def shift(self, payload: FloatArray) -> None:
        """Take `payload` (10,), which is known now, off the payload's mean."""
        self._hand = np.zeros(PARAMETERS)
        self.state.mean[:PARAMETERS] -= payload

    @property
    def noise_ratio(self) -> FloatArray:
        """Standard deviation (n,) of the disturbance, in units of the residual model's."""
        return self._noise.ratio.copy()

    def memory(self, tare: FloatArray) -> PayloadMemory:
        """What `checked` and `recall` need to go on from here."""
        known, state = self._payload_and_errors, self.state
        joint, beside = state.covariance[np.ix_(known, known)], np.stack((self.common, self._emerging))
        joint[:PARAMETERS, :PARAMETERS] += np.outer(self._emerging, self._emerging)
        noise, scale = self._noise.ratio, self._familiarity.scale
        arm = ArmMemory(state.mean[known], 0.5 * (joint + joint.T), noise, scale, state.common[known])
        mean, covariance = self.payload
        return PayloadMemory(mean, covariance + beside.T @ beside, tare, arm)

    def checked(self, arm: ArmMemory) -> ArmMemory:
        """The memory of an arm, if it is one of an arm like this.

        Raises
        ------
        ArgumentError: it is not.
        """
        return ArmMemory(
            checks.exactly(arm.mean, (PARAMETERS + self.errors,), "arm.mean"),
            checks.covariance(arm.covariance, PARAMETERS + self.errors, "arm.covariance"),
            checks.exactly(arm.noise_ratio, (self._n,), "arm.noise_ratio"),
            checks.exactly(arm.scale, self._familiarity.scale.shape, "arm.scale"),
            checks.exactly(arm.common, (PARAMETERS + self.errors,), "arm.common"),
        )

    def recall(self, arm: ArmMemory) -> None:
        """Go on from what was learnt about the arm and the payload."""
        known = self._payload_and_errors
        self._noise.ratio, self._familiarity.scale = arm.noise_ratio.copy(), arm.scale.copy()
        self.state.mean[known], self.state.common[known] = arm.mean, arm.common
        self.state.covariance[np.ix_(known, known)] = arm.covariance
        self._follow_arm_errors(learns=False)

    @property
    def _payload_and_errors(self) -> np.ndarray:
        """Places of theta and phi in the state."""
        return np.delete(np.arange(len(self.state.mean)), self._disturbance)
