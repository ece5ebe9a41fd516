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
from dataclasses import dataclass, fields

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_kernel
from panda_dynamics_ros.dynamics.momentum import momentum_sample, payload_momentum_sample
from panda_dynamics_ros.kernels.vectors import compiled, place_joints
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


@dataclass(frozen=True, eq=False)
class FilterState:
    """Both filters of some columns: outputs of the first and the second, and the second's last input."""

    first: FloatArray
    second: FloatArray
    old_middle: FloatArray


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
        self.pole = 2.0 * math.pi * bandwidth  # rad/s, of both filters
        self.derivative, self.direct, self._first, self._old_direct, self._second, self._old_middle = np.zeros(
            (6, robot.n, PARAMETERS + 1)
        )
        self._age = math.nan

    @property
    def settling_time(self) -> float:
        """s, after which a step has passed both filters to within 2 %: six time constants for two poles."""
        return 6.0 / self.pole

    @property
    def settled(self) -> bool:
        """Whether the start of the filters has died out."""
        return self._age > self.settling_time

    @property
    def payload_state(self) -> FilterState:
        """Of the regressor's columns (views, not copies)."""
        columns = slice(0, PARAMETERS)
        return FilterState(self._first[:, columns], self._second[:, columns], self._old_middle[:, columns])

    def split(self, since: FilterState, before: FloatArray) -> None:
        """The payload has changed: Y is of the new one from its first moment on, and y without the old one.

        Parameters
        ----------
        since: filters of the regressor (n, 10) that started when the payload changed.
        before: (10,), the inertial vector until then; what is left of its torque in the filters leaves y.
        """
        for field in fields(FilterState):
            whole, new = getattr(self, f"_{field.name}"), getattr(since, field.name)
            whole[:, ARM] -= (whole[:, :PARAMETERS] - new) @ before
            whole[:, :PARAMETERS] = new

    def settle(self, torque: FloatArray, age: float) -> None:
        """Let a torque (n,) that came on `age` s ago pass for one that was always there: y shows it whole at once.

        It rises through the first pole as 1 - e^(-w t), and through both as 1 - (1 + w t) e^(-w t).
        """
        left = math.exp(-self.pole * age)
        self._first[:, ARM] -= left * torque
        self._old_middle[:, ARM] += left * torque
        self._second[:, ARM] += (1.0 + self.pole * age) * left * torque

    def restart(self) -> None:
        """Forget the filters' state; the next sample starts them."""
        self._age = math.nan

    def step(self, dt: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Y (n, 10) and y (n,) after a sample that came `dt` seconds after the last one (views, not copies)."""
        regression_terms(self._table, self._friction, self._frame, q, dq, tau, self.pole, self.derivative, self.direct)
        if math.isnan(self._age):
            # Start as if the arm had been in this state, at this momentum, for ever.
            self._first[:] = self._old_direct[:] = self.direct
            self._second[:] = self._old_middle[:] = self.derivative - self.direct
            self._age = 0.0
        else:
            filter_step(
                self.derivative,
                self.direct,
                self.pole,
                dt,
                self._first,
                self._old_direct,
                self._second,
                self._old_middle,
            )
            self._age += dt
        return self._second[:, :PARAMETERS], self._second[:, ARM]
