# SPDX-License-Identifier: Apache-2.0
"""External joint torques by the momentum observer.

De Luca and Mattone, ICRA 2005 (document 003, the collision application): with dp/dt = tau + tau_ext - friction
- bias, the residual r = F(tau_ext), F a first-order low-pass filter with pole w, follows from

    r = w p - F(w p - bias + tau - friction),

which needs no acceleration and no inverse of the mass matrix. A payload theta that the arm is known to carry is
taken away by its own filtered regressor (`regression`), r + Y theta. Y does not depend on theta: another theta
counts as if it had always been carried, and needs no new start.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.regression import ARM, PARAMETERS, hold_coefficients, regression_terms
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot import InertialParameters, RobotDescription


@compiled
def observer_step(table, friction, frame, weights, q, dq, tau, w, dt, state, previous, residual):
    """One step, in place, of filters (n, 11); `weights` (11,) are theta and -1, for y of `regression` is -r.

    dt < 0 starts the filters as if the arm had always been in this state.
    """
    n, terms = state.shape
    derivative, direct = np.empty((n, terms)), np.empty((n, terms))
    regression_terms(table, friction, frame, q, dq, tau, w, derivative, direct)
    a, b0, b1 = hold_coefficients(w, dt) if dt > 0.0 else (0.0, 1.0, 0.0)
    for i in range(n):
        residual[i] = 0.0
        for k in range(terms):
            state[i, k] = a * state[i, k] + b0 * direct[i, k] + b1 * previous[i, k]
            previous[i, k] = direct[i, k]
            residual[i] += weights[k] * (derivative[i, k] - state[i, k])


class MomentumObserver:
    """External torques of one arm, sample by sample.

    Parameters
    ----------
    robot: the arm with all that it always carries, and its friction.
    bandwidth: Hz, of the low-pass filter on the external torque.
    max_gap: s; a longer silence, or a longer step back, restarts the filter.
    """

    def __init__(self, robot: RobotDescription, bandwidth: float = 10.0, max_gap: float = 0.5) -> None:
        self._table, self._friction = robot.table, robot.friction.table
        self._frame = robot.frame_index("flange")
        self._pole, self._max_gap = 2.0 * math.pi * bandwidth, max_gap
        self._state, self._previous = np.zeros((2, robot.n, PARAMETERS + 1))
        self._weights = np.zeros(PARAMETERS + 1)
        self._weights[ARM] = -1.0
        self._stamp = -math.inf
        self._residual = np.zeros(robot.n)

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, `payload` (flange frame) is part of the arm; one of zero mass for none."""
        self._weights[:PARAMETERS] = payload.vector

    def update(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> FloatArray:
        """External joint torques (n,), N m, after a sample at `stamp` s; positive along the joint's axis.

        q, dq, tau: (n,), checked by the caller (`JointMapping`); rad, rad/s, N m with gravity. A stamp that repeats
        or steps back a little is left out: the torques are then those before.
        """
        dt = stamp - self._stamp
        if -self._max_gap <= dt <= 0.0:
            return self._residual
        if not 0.0 < dt <= self._max_gap:
            dt = -1.0
        self._stamp = stamp
        self._residual = residual = np.empty_like(q)
        observer_step(
            self._table, self._friction, self._frame, self._weights, q, dq, tau, self._pole, dt,
            self._state, self._previous, residual,
        )  # fmt: skip
        return residual
