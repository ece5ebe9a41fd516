# SPDX-License-Identifier: Apache-2.0
"""What the estimator is measured against. All three are weighted least squares on y = Y theta + white noise.

They are told when the payload came on, except for recursive least squares, which is to forget by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import signal

from benchmarks.payload.methods import Answer, Track
from benchmarks.payload.samples import Samples
from benchmarks.payload.zero_phase import CUTOFF, EVERY, STEP, smooth
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray

MEMORY = 4.0  # s, of recursive least squares
WIDE = np.array([10.0, *[3.0] * 3, *[1.0] * 6])  # kg, kg m, kg m^2: makes few samples solvable, and no more


def least_squares(robot: RobotModel, Y: FloatArray, y: FloatArray, weight: FloatArray, used: int = 10) -> Answer:
    """theta from Y (k, n, 10), y (k, n) with weights (k,) of the samples; only its first `used` entries."""
    information = 1.0 / robot.residual.std**2
    A = (Y[..., :used] * (weight[:, None] * information)[..., None]).reshape(-1, used)
    L = np.diag(WIDE[:used] ** -2.0) + A.T @ Y[..., :used].reshape(-1, used)
    theta, covariance = np.zeros(10), np.diag(WIDE**2.0)
    covariance[:used, :used] = np.linalg.inv(L)
    theta[:used] = np.linalg.solve(L, A.T @ y.ravel())
    return Answer(theta, covariance)


class BatchLeastSquares:
    """All samples since the payload came on, through a zero-phase filter that looks both ways."""

    name = "batch least squares"

    def run(self, robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
        """See `Method`."""
        answers = []
        for time in at:
            q, dq, ddq, tau = smooth(data.between(since, time))
            y = tau - robot.inverse_dynamics(q, dq, ddq) - robot.friction_torques(dq)
            answers.append(least_squares(robot, robot.payload_regressor(q, dq, ddq), y, np.ones(len(y))))
        return Track(answers)


class ForgettingLeastSquares:
    """Recursive least squares with exponential forgetting, on velocities that are differentiated and low-passed.

    The recursion's result is the weighted least-squares fit; its start, `WIDE`, is kept rather than forgotten.
    """

    name = "forgetting RLS"

    def run(self, robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
        """See `Method`."""
        even = np.arange(data.stamp[0], data.stamp[-1], STEP)
        values = np.column_stack([data.q, data.dq, data.tau])
        values = np.column_stack([np.interp(even, data.stamp, column) for column in values.T])
        sections = signal.butter(2, CUTOFF, fs=1.0 / STEP, output="sos")
        start = signal.sosfilt_zi(sections)[..., None] * values[0]
        q, dq, tau = np.split(signal.sosfilt(sections, values, axis=0, zi=start)[0], 3, axis=1)
        ddq = np.diff(dq, axis=0, prepend=dq[:1]) / STEP
        settled = slice(round(0.1 / STEP), None, EVERY)
        stamp, q, dq, ddq, tau = (x[settled] for x in (even, q, dq, ddq, tau))
        y = tau - robot.inverse_dynamics(q, dq, ddq) - robot.friction_torques(dq)
        Y = robot.payload_regressor(q, dq, ddq)
        answers = []
        for time in at:
            weight = np.exp(np.minimum(stamp - time, 0.0) / MEMORY) * (stamp <= time)
            answers.append(least_squares(robot, Y, y, weight))
        return Track(answers)


class GravityOnly:
    """Mass and CoM as if the arm stood still in every sample."""

    name = "gravity only"

    def run(self, robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
        """See `Method`."""
        part = data.between(since, data.stamp[-1])
        stamp, q, dq, tau = (x[::EVERY] for x in (part.stamp, part.q, part.dq, part.tau))
        still = np.zeros_like(q)
        y = tau - robot.gravity_torques(q) - robot.friction_torques(dq)
        Y = robot.payload_regressor(q, still, still)
        answers = [least_squares(robot, Y, y, (stamp <= time).astype(float), used=4) for time in at]
        return Track(answers)
