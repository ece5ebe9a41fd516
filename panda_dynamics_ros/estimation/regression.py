# SPDX-License-Identifier: Apache-2.0
"""From samples to a regression y = Y theta that needs no acceleration.

The payload's torque is d/dt(Y_p theta) + Y_b theta (`dynamics.momentum`), and the torque that the unloaded
arm does not explain is tau - friction - dp/dt - bias. Both sides pass the same two first-order low-pass
filters with pole w; the derivative meets the first as w s / (s + w) = w (1 - w / (s + w)):

    Y = F2[ w Y_p - F1(w Y_p - Y_b) ],      y = F2[ F1(tau - friction) - (w p - F1(w p - bias)) ].

The second pole is there for the noise of dq: through one pole it reaches y and Y alike with gain w M, and
regressors that share the noise of the measurement bias the mass (errors in variables).
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_kernel
from panda_dynamics_ros.dynamics.momentum import momentum_sample, payload_momentum_sample
from panda_dynamics_ros.dynamics.vectors import compiled, place_joints
from panda_dynamics_ros.robot import RobotDescription

PARAMETERS = 10
ARM = PARAMETERS  # column of the filters that holds the arm's own terms


@compiled
def hold_coefficients(w, dt):
    """Exact low-pass step for an input that is linear between samples: out = a out + b0 new + b1 old."""
    a = math.exp(-w * dt)
    c = (1.0 - a) / (w * dt)
    return a, 1.0 - c, c - a


@compiled
def regression_terms(table, friction, frame, q, dq, tau, w, derivative, direct):
    """`derivative` = w [Y_p | -p] and `direct` = w [Y_p | -p] - [Y_b | tau - friction - bias], each (n, 11)."""
    n = q.shape[0]
    frames, work, S = np.empty((n, 12)), np.empty((n, 18)), np.empty((n, 6))
    p, bias, friction_torque = np.empty(n), np.empty(n), np.empty((1, n))
    Y_momentum, Y_bias = np.empty((n, 10)), np.empty((n, 10))
    place_joints(table, q, frames)
    momentum_sample(table, frames, dq, work, p, bias)
    payload_momentum_sample(table, frame, frames, dq, S, Y_momentum, Y_bias)
    friction_kernel(friction, dq.reshape(1, n), friction_torque)
    for i in range(n):
        for k in range(PARAMETERS):
            derivative[i, k] = w * Y_momentum[i, k]
            direct[i, k] = derivative[i, k] - Y_bias[i, k]
        derivative[i, ARM] = -w * p[i]
        direct[i, ARM] = derivative[i, ARM] - (tau[i] - friction_torque[0, i] - bias[i])


@compiled
def filter_step(derivative, direct, w, dt, first, previous_direct, second, previous_middle):
    """One step of both filters, in place; `second` (n, 11) ends as [Y | y]."""
    a, b0, b1 = hold_coefficients(w, dt)
    for i in range(direct.shape[0]):
        for k in range(direct.shape[1]):
            first[i, k] = a * first[i, k] + b0 * direct[i, k] + b1 * previous_direct[i, k]
            middle = derivative[i, k] - first[i, k]
            second[i, k] = a * second[i, k] + b0 * middle + b1 * previous_middle[i, k]
            previous_direct[i, k] = direct[i, k]
            previous_middle[i, k] = middle


class MomentumRegression:
    """The filtered regression of one robot, sample by sample.

    Parameters
    ----------
    robot: the unloaded arm, with its friction.
    frame: the frame of the payload's inertial vector.
    bandwidth: Hz, pole of both filters.
    """

    def __init__(self, robot: RobotDescription, frame: str, bandwidth: float) -> None:
        self._table = robot.table
        self._friction = robot.friction.table
        self._frame = robot.frame_index(frame)
        self._pole = 2.0 * math.pi * bandwidth
        self._derivative, self._direct, self._first, self._old_direct, self._second, self._old_middle = np.zeros(
            (6, robot.n, PARAMETERS + 1)
        )
        self._age = math.nan

    @property
    def settling_time(self) -> float:
        """s, after which a step has passed both filters to within 2 %: six time constants for two poles."""
        return 6.0 / self._pole

    @property
    def settled(self) -> bool:
        """Whether the start of the filters has died out."""
        return self._age > self.settling_time

    def restart(self) -> None:
        """Forget the filters' state; the next sample starts them."""
        self._age = math.nan

    def step(self, dt: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Y (n, 10) and y (n,) after a sample that came `dt` seconds after the last one (views, not copies)."""
        regression_terms(
            self._table, self._friction, self._frame, q, dq, tau, self._pole, self._derivative, self._direct
        )
        if math.isnan(self._age):
            # Start as if the arm had been in this state, at this momentum, for ever.
            self._first[:] = self._old_direct[:] = self._direct
            self._second[:] = self._old_middle[:] = self._derivative - self._direct
            self._age = 0.0
        else:
            filter_step(
                self._derivative,
                self._direct,
                self._pole,
                dt,
                self._first,
                self._old_direct,
                self._second,
                self._old_middle,
            )
            self._age += dt
        return self._second[:, :PARAMETERS], self._second[:, ARM]
