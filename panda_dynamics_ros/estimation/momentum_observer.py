# SPDX-License-Identifier: Apache-2.0
"""External joint torques by the momentum observer.

De Luca and Mattone, ICRA 2005 (document 003, the collision application): with dp/dt = tau + tau_ext - friction
- bias, the residual r = F(tau_ext), F a first-order low-pass filter with pole w, follows from

    r = w p - F(w p - bias + tau - friction),

which needs no acceleration and no inverse of the mass matrix.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_kernel
from panda_dynamics_ros.dynamics.momentum import momentum_of_one
from panda_dynamics_ros.dynamics.vectors import compiled
from panda_dynamics_ros.estimation.regression import hold_coefficients
from panda_dynamics_ros.robot import RobotDescription


@compiled
def observer_step(table, friction, q, dq, tau, w, dt, state, previous, residual):
    """One step, in place; dt < 0 starts the filter as if the arm had always been in this state."""
    n = q.shape[0]
    p, bias, friction_torque = np.empty(n), np.empty(n), np.empty((1, n))
    momentum_of_one(table, q, dq, p, bias)
    friction_kernel(friction, dq.reshape(1, n), friction_torque)
    a, b0, b1 = hold_coefficients(w, dt) if dt > 0.0 else (0.0, 1.0, 0.0)
    for i in range(n):
        value = w * p[i] - bias[i] + tau[i] - friction_torque[0, i]
        state[i] = a * state[i] + b0 * value + b1 * previous[i]
        previous[i] = value
        residual[i] = w * p[i] - state[i]


class MomentumObserver:
    """External torques of one arm, sample by sample.

    Parameters
    ----------
    robot: the arm with all that it carries, and its friction.
    bandwidth: Hz, of the low-pass filter on the external torque.
    max_gap: s; a longer silence, or a stamp that does not advance, restarts the filter.
    """

    def __init__(self, robot: RobotDescription, bandwidth: float = 10.0, max_gap: float = 0.5) -> None:
        self._table, self._friction = robot.table, robot.friction.table
        self._pole, self._max_gap = 2.0 * math.pi * bandwidth, max_gap
        self._state, self._previous = np.zeros(robot.n), np.zeros(robot.n)
        self._stamp = -math.inf

    def update(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> FloatArray:
        """External joint torques (n,), N m, after a sample at `stamp` s; positive along the joint's axis.

        q, dq, tau: (n,), checked by the caller (`JointMapping`); rad, rad/s, N m with gravity.
        """
        dt = stamp - self._stamp
        if not 0.0 < dt <= self._max_gap:
            dt = -1.0
        self._stamp = stamp
        residual = np.empty_like(q)
        observer_step(self._table, self._friction, q, dq, tau, self._pole, dt, self._state, self._previous, residual)
        return residual
