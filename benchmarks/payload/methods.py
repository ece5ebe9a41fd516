# SPDX-License-Identifier: Apache-2.0
"""What estimates a payload, as functions of one kind: this package's estimator, and three kinds of least squares.

Each returns answers at the stamps `at`, every one from samples up to it. `since` is when the payload came on, the first
stamp for one that was there from the beginning; one that does not notice a pick by itself may use it. The three are
weighted least squares on y = Y theta + white noise. They are told when the payload came on, except for recursive least
squares, which is to forget by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import signal

from benchmarks.payload.samples import Samples
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimator
from panda_dynamics_ros.estimation.estimate import com_covariance

LEAST_MASS = 0.02  # kg, below which m c / m is no CoM
CUTOFF, STEP, EVERY = 10.0, 1e-3, 10  # Hz; s; samples of the filtered motion per sample taken
EDGE = 0.1  # s left out at both ends of a stretch
MEMORY = 4.0  # s, of recursive least squares
WIDE = np.array([10.0, *[3.0] * 3, *[1.0] * 6])  # kg, kg m, kg m^2: makes few samples solvable, and no more


@dataclass(frozen=True, eq=False)
class Answer:
    """An estimate: inertial vector (10,) about the flange origin, and its covariance (10, 10)."""

    vector: FloatArray
    covariance: FloatArray

    @property
    def mass(self) -> float:
        """kg."""
        return float(self.vector[0])

    @property
    def com(self) -> FloatArray:
        """(3,), m."""
        return np.asarray(self.vector[1:4] / max(self.mass, LEAST_MASS))

    @property
    def com_std(self) -> FloatArray:
        """(3,), m, to first order."""
        variances = np.diag(com_covariance(max(self.mass, LEAST_MASS), self.com, self.covariance))
        return np.sqrt(np.maximum(variances, 0.0))

    @property
    def body(self) -> InertialParameters:
        """As a body, if the mass allows it."""
        if self.mass < LEAST_MASS:
            return InertialParameters.zero()
        return InertialParameters.from_vector(self.vector)


@dataclass(frozen=True)
class Track:
    """What a method said: answers at the times it was asked, and (stamp, kind) of changes it noticed."""

    answers: list[Answer]
    events: list[tuple[float, str]] = field(default_factory=list)


def ours(robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
    """This package's estimator, sample by sample; nobody tells it about `since`."""
    estimator = PayloadEstimator(robot)
    estimates, events = [estimator.estimate], []
    for stamp, q, dq, tau in zip(data.stamp, data.q, data.dq, data.tau, strict=True):
        estimate = estimator.update(stamp, q, dq, tau)
        if estimate is not estimates[-1] and estimate.event is not None:
            events.append((float(stamp), estimate.event.kind))
        estimates.append(estimate)
    said = (estimates[int(np.searchsorted(data.stamp, time + 1e-9, side="right"))] for time in at)
    return Track([Answer(estimate.vector, estimate.covariance) for estimate in said], events)


def least_squares(robot: RobotModel, Y: FloatArray, y: FloatArray, weight: FloatArray, used: int = 10) -> Answer:
    """theta from Y (k, n, 10), y (k, n) with weights (k,) of the samples; only its first `used` entries."""
    information = 1.0 / robot.residual.std**2
    A = (Y[..., :used] * (weight[:, None] * information)[..., None]).reshape(-1, used)
    L = np.diag(WIDE[:used] ** -2.0) + A.T @ Y[..., :used].reshape(-1, used)
    theta, covariance = np.zeros(10), np.diag(WIDE**2.0)
    covariance[:used, :used] = np.linalg.inv(L)
    theta[:used] = np.linalg.solve(L, A.T @ y.ravel())
    return Answer(theta, covariance)


def even(data: Samples) -> tuple[FloatArray, FloatArray]:
    """Stamps `STEP` apart, and q, dq, tau side by side there."""
    stamp = np.arange(data.stamp[0], data.stamp[-1], STEP)
    values = np.column_stack([data.q, data.dq, data.tau])
    return stamp, np.column_stack([np.interp(stamp, data.stamp, column) for column in values.T])


def batch_least_squares(robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
    """All samples since the payload came on, through a zero-phase filter that looks both ways."""
    answers, edge = [], round(EDGE / STEP)
    sections = signal.butter(4, CUTOFF, fs=1.0 / STEP, output="sos")
    for time in at:
        _, values = even(data.between(since, time))
        q, dq, tau = np.split(signal.sosfiltfilt(sections, values, axis=0), 3, axis=1)
        motion = (x[edge:-edge:EVERY] for x in (q, dq, np.gradient(dq, STEP, axis=0), tau))
        q, dq, ddq, tau = motion
        y = tau - robot.inverse_dynamics(q, dq, ddq) - robot.friction_torques(dq)
        answers.append(least_squares(robot, robot.payload_regressor(q, dq, ddq), y, np.ones(len(y))))
    return Track(answers)


def forgetting_least_squares(robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
    """Recursive least squares with exponential forgetting, on velocities that are differentiated and low-passed.

    The recursion's result is the weighted least-squares fit; its start, `WIDE`, is kept rather than forgotten.
    """
    stamp, values = even(data)
    sections = signal.butter(2, CUTOFF, fs=1.0 / STEP, output="sos")
    start = signal.sosfilt_zi(sections)[..., None] * values[0]
    q, dq, tau = np.split(signal.sosfilt(sections, values, axis=0, zi=start)[0], 3, axis=1)
    ddq = np.diff(dq, axis=0, prepend=dq[:1]) / STEP
    settled = slice(round(EDGE / STEP), None, EVERY)
    stamp, q, dq, ddq, tau = (x[settled] for x in (stamp, q, dq, ddq, tau))
    y = tau - robot.inverse_dynamics(q, dq, ddq) - robot.friction_torques(dq)
    Y = robot.payload_regressor(q, dq, ddq)
    fades = (np.exp(np.minimum(stamp - time, 0.0) / MEMORY) * (stamp <= time) for time in at)
    return Track([least_squares(robot, Y, y, weight) for weight in fades])


def gravity_only(robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
    """Mass and CoM as if the arm stood still in every sample."""
    part = data.between(since, data.stamp[-1])
    stamp, q, dq, tau = (x[::EVERY] for x in (part.stamp, part.q, part.dq, part.tau))
    y = tau - robot.gravity_torques(q) - robot.friction_torques(dq)
    Y = robot.payload_regressor(q, np.zeros_like(q), np.zeros_like(q))
    return Track([least_squares(robot, Y, y, (stamp <= time).astype(float), used=4) for time in at])


METHODS = {
    "estimator": ours,
    "batch least squares": batch_least_squares,
    "forgetting RLS": forgetting_least_squares,
    "gravity only": gravity_only,
}
