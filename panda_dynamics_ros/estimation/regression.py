# SPDX-License-Identifier: Apache-2.0
"""A regression y = Y theta for the payload that needs no acceleration.

The payload's torque is d/dt(Y_p theta) + Y_b theta (`dynamics.momentum`), and the torque that the unloaded arm does
not explain is tau - friction - dp/dt - bias. Both sides pass the same two first-order low-pass filters with pole w.
The derivative is taken together with the first filter, since w s / (s + w) = w (1 - w / (s + w)):

    Y = F2[ w Y_p - F1(w Y_p - Y_b) ],      y = F2[ F1(tau - friction) - (w p - F1(w p - bias)) ].

The second pole attenuates the noise of dq. After one pole only, this noise reaches y and Y alike, with gain w M, and
regressors that share the noise of the measurement bias the estimated mass (errors in variables).

`MomentumTerms` computes what goes into the filters, once for each sample; filters of any pole use the same terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_sample
from panda_dynamics_ros.dynamics.momentum import momentum_sample, payload_momentum_sample
from panda_dynamics_ros.dynamics.residual_torques import point_covariance, residual_sample
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled, place_joints
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.residual_map import ResidualMap

ARM = PARAMETERS
"""Column of terms and filters that belongs to the arm; those before it belong to the payload's parameters."""


@compiled
def momentum_terms(table, friction, rotors, frame, q, dq, tau, momentum, bias):
    """`momentum` = [Y_p | -p] and `bias` = [Y_b | tau - friction - bias of the arm], each (n, 11), in place.

    p contains the momentum of the rotors, rotors dq (n,).
    """
    n = q.shape[0]
    frames, work, S = scratch((n, 12)), scratch((n, 18)), scratch((n, 6))
    p, arm_bias, friction_torque = scratch(n), scratch(n), scratch(n)
    place_joints(table, q, frames)
    momentum_sample(table, frames, dq, work, p, arm_bias)
    payload_momentum_sample(table, frame, frames, dq, S, momentum, bias)
    friction_sample(friction, dq, friction_torque)
    for i in range(n):
        momentum[i, ARM] = -p[i] - rotors[i] * dq[i]
        bias[i, ARM] = tau[i] - friction_torque[i] - arm_bias[i]


class MomentumTerms:
    """Momentum and bias of one arm and of the unit payloads, for one sample after the other.

    Parameters
    ----------
    robot: the unloaded arm, with its friction.

    Attributes
    ----------
    momentum: (n, 11), [Y_p | -p]: momentum of the payload's ten parameters in the flange frame, and of the arm.
    bias: (n, 11), N m, [Y_b | tau - friction - bias - mean].
    mean: (n,), N m, of the robot's residual map; zero without one.
    unexplained: (n,), share of the residual's variance that the map leaves open; one without a map.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._table, self._friction, self._frame = robot.table, robot.friction.table, robot.frame_index("flange")
        self._rotors = robot.felt_rotor_inertia
        self.momentum, self.bias = np.zeros((2, robot.n, ARM + 1))
        self.mean, self.unexplained = np.zeros(robot.n), np.ones(robot.n)
        self._coordinates = np.zeros(3 * robot.n)
        self.use_map(robot.residual_map)

    @property
    def has_map(self) -> bool:
        """Whether a residual map is subtracted."""
        return self._map is not None

    def use_map(self, residual_map: ResidualMap | None) -> None:
        """Subtract the mean of this map from the next sample on."""
        self._map = None if residual_map is None else residual_map.table
        self.mean[:], self.unexplained[:] = 0.0, 1.0
        self._covariance = np.zeros(0 if residual_map is None else len(residual_map.points))

    def at(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> MomentumTerms:
        """These terms, computed for one sample: q, dq, tau (n,) in rad, rad/s, N m, checked by the caller."""
        momentum_terms(self._table, self._friction, self._rotors, self._frame, q, dq, tau, self.momentum, self.bias)
        if self._map is not None:
            self.evaluate_map(q, dq)
            self.bias[:, ARM] -= self.mean
        return self

    def evaluate_map(self, q: FloatArray, dq: FloatArray) -> None:
        """`mean` and `unexplained` of a state, where there is a map."""
        if self._map is not None:
            point_covariance(self._map.points, q, dq, self._coordinates, self._covariance)
            residual_sample(self._covariance, *self._map[1:], self.mean, self.unexplained)


@compiled
def first_order_hold(w, dt):
    """Coefficients of an exact low-pass step for an input that is linear between samples: a out + b0 new + b1 old."""
    a = math.exp(-w * dt)
    c = (1.0 - a) / (w * dt)
    return a, 1.0 - c, c - a


@compiled
def filter_step(momentum, bias, w, dt, derivative, direct, first, previous_direct, second, previous_middle):
    """One step of both filters, in place; `second` (n, 11) ends as [Y | y]. dt <= 0 starts them in steady state."""
    starts = dt <= 0.0
    a, b0, b1 = (0.0, 1.0, 0.0) if starts else first_order_hold(w, dt)
    for i in range(momentum.shape[0]):
        for k in range(momentum.shape[1]):
            derivative[i, k] = w * momentum[i, k]
            direct[i, k] = derivative[i, k] - bias[i, k]
            first[i, k] = a * first[i, k] + b0 * direct[i, k] + b1 * previous_direct[i, k]
            middle = derivative[i, k] - first[i, k]
            second[i, k] = a * second[i, k] + b0 * middle + b1 * previous_middle[i, k]
            previous_direct[i, k] = direct[i, k]
            previous_middle[i, k] = middle


@dataclass(frozen=True, eq=False)
class FilterState:
    """Both filters of some columns: outputs of the first and of the second, and the second's last input."""

    first: FloatArray
    second: FloatArray
    old_middle: FloatArray


class MeanChange(NamedTuple):
    """How much more a new residual map subtracts from the torque: now, and after one and two poles; (n,) each, N m."""

    latest: FloatArray
    first: FloatArray
    second: FloatArray


class MomentumRegression:
    """The filtered regression of one robot, sample by sample.

    Parameters
    ----------
    n: joints.
    bandwidth: Hz, pole of both filters.

    Attributes
    ----------
    pole: rad/s.
    age: s, since the filters started; nan before the first sample.
    derivative, direct: (n, 11), inputs of the filters at the last sample.
    """

    def __init__(self, n: int, bandwidth: float) -> None:
        self.pole = 2.0 * math.pi * bandwidth
        self.derivative, self.direct, self._first, self._old_direct, self._second, self._old_middle = np.zeros(
            (6, n, ARM + 1)
        )
        self.age = math.nan

    @property
    def settling_time(self) -> float:
        """s, after which a step has passed both filters to within 2 %: six time constants for two poles."""
        return 6.0 / self.pole

    @property
    def settled(self) -> bool:
        """Whether the transient of the filters' start has died out."""
        return self.age > self.settling_time

    @property
    def payload_state(self) -> FilterState:
        """Filters of the payload's columns (views, not copies)."""
        columns = slice(0, PARAMETERS)
        return FilterState(self._first[:, columns], self._second[:, columns], self._old_middle[:, columns])

    def change_payload(self, since: FilterState, before: FloatArray) -> None:
        """Let Y belong to the new payload from its onset on, and remove the old payload's torque from y.

        Parameters
        ----------
        since: filters of the regressor (n, 10) that started at the onset.
        before: (10,), the inertial vector until then; what is left of its torque in the filters leaves y.
        """
        for field in fields(FilterState):
            whole, new = getattr(self, f"_{field.name}"), getattr(since, field.name)
            whole[:, ARM] -= (whole[:, :PARAMETERS] - new) @ before
            whole[:, :PARAMETERS] = new

    def complete_step(self, torque: FloatArray, age: float) -> None:
        """Let y show all of a torque step (n,) that came on `age` s ago, as if it had always been there.

        A step rises through the first pole as 1 - e^(-w t), and through both as 1 - (1 + w t) e^(-w t).
        """
        left = math.exp(-self.pole * age)
        self._first[:, ARM] -= left * torque
        self._old_middle[:, ARM] += left * torque
        self._second[:, ARM] += (1.0 + self.pole * age) * left * torque

    def change_mean(self, latest: FloatArray, first: FloatArray, second: FloatArray) -> None:
        """Go on as if a `MeanChange` more had always been subtracted from the torque."""
        self._old_direct[:, ARM] += latest
        self._first[:, ARM] += first
        self._old_middle[:, ARM] -= first
        self._second[:, ARM] -= second

    def change_arm(self, momentum: FloatArray, bias: FloatArray) -> None:
        """Go on as if the arm's terms had always been larger by these (n,)."""
        direct = self.pole * momentum - bias
        self._old_direct[:, ARM] += direct
        self._first[:, ARM] += direct
        self._old_middle[:, ARM] += bias
        self._second[:, ARM] += bias

    def restart(self) -> None:
        """Forget the filters' state; the next sample starts them."""
        self.age = math.nan
        for state in (self._first, self._old_direct, self._second, self._old_middle):
            state[:] = 0.0

    def step(self, dt: float, terms: MomentumTerms) -> tuple[FloatArray, FloatArray]:
        """Y (n, 10) and y (n,) after a sample that came `dt` seconds after the last one (views, not copies).

        The first sample starts the filters as if the arm had always been in its state, at its momentum.
        """
        starts = math.isnan(self.age)
        filter_step(
            terms.momentum, terms.bias, self.pole, 0.0 if starts else dt,
            self.derivative, self.direct, self._first, self._old_direct, self._second, self._old_middle,
        )  # fmt: skip
        self.age = 0.0 if starts else self.age + dt
        return self._second[:, :PARAMETERS], self._second[:, ARM]


@compiled
def low_pass_step(x, w, dt, first, previous, second, previous_first):
    """One step of two first-order low-pass filters in series, in place. dt <= 0 starts them in steady state."""
    a, b0, b1 = (0.0, 1.0, 0.0) if dt <= 0.0 else first_order_hold(w, dt)
    for i in range(x.shape[0]):
        first[i] = a * first[i] + b0 * x[i] + b1 * previous[i]
        second[i] = a * second[i] + b0 * first[i] + b1 * previous_first[i]
        previous[i] = x[i]
        previous_first[i] = first[i]


class TwoPoleFilter:
    """A signal (n,) through the two low-pass filters of `MomentumRegression`.

    Parameters
    ----------
    n: entries.
    pole: rad/s.
    """

    def __init__(self, n: int, pole: float) -> None:
        self._pole = pole
        self._first, self._previous, self._second, self._previous_first = np.zeros((4, n))

    def step(self, dt: float, x: FloatArray) -> FloatArray:
        """The filtered signal (n,) after a sample that came `dt` s after the last one; dt <= 0 starts the filters."""
        if dt <= 0.0:
            for state in (self._first, self._previous, self._second, self._previous_first):
                state[:] = 0.0
        low_pass_step(x, self._pole, dt, self._first, self._previous, self._second, self._previous_first)
        return self._second

    @property
    def state(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The last input, and what has passed one and both filters, (n,) each."""
        return self._previous, self._first, self._second

    def shift(self, latest: FloatArray, first: FloatArray, second: FloatArray) -> None:
        """Go on as if the signal had always been larger by one whose `state` this is."""
        self._previous += latest
        self._first += first
        self._previous_first += first
        self._second += second
