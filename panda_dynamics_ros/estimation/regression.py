# SPDX-License-Identifier: Apache-2.0
"""A regression y = Y theta for the payload that needs no acceleration.

The payload's torque is d/dt(Y_p theta) + Y_b theta (`dynamics.momentum`), and the torque that the unloaded arm does
not explain is tau - friction - dp/dt - bias. Both sides pass the same two first-order low-pass filters with pole w.
The derivative is taken together with the first filter, since w s / (s + w) = w (1 - w / (s + w)):

    Y = F2[ w Y_p - F1(w Y_p - Y_b) ],      y = F2[ F1(tau - friction) - (w p - F1(w p - bias)) ].

The second pole attenuates the noise of dq. After one pole only, this noise reaches y and Y alike, with gain w M, and
regressors that share the noise of the measurement bias the estimated mass (errors in variables).

`momentum_terms` has what goes into the filters, once for each sample; filters of any pole use the same terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms, SampleTerms
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS


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


@compiled
def weighted_columns(columns, weights, total):
    """total (n,) = columns (n, 11) weights (11,), in place: Y theta - y of [Y | y] and (theta, -1)."""
    for i in range(columns.shape[0]):
        total[i] = 0.0
        for k in range(columns.shape[1]):
            total[i] += weights[k] * columns[i, k]


@compiled
def filter_steps(
    momentum, bias, w, steps, age, least_age, weights, totals,
    derivative, direct, first, previous_direct, second, previous_middle,
):  # fmt: skip
    """`filter_step` of one sample after the other, with `weighted_columns` after each, nan up to `least_age`.

    momentum, bias (N, n, 11), steps (N,), totals (N, n). Returns `age`, which is s since the start, after the last one.
    """
    for k in range(steps.shape[0]):
        filter_step(
            momentum[k], bias[k], w, steps[k], derivative, direct, first, previous_direct, second, previous_middle
        )  # fmt: skip
        age += steps[k]
        weighted_columns(second, weights, totals[k])
        if not age > least_age:
            totals[k] = math.nan
    return age


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
    def arrays(self) -> tuple[FloatArray, ...]:
        """The arguments of `filter_step` from `derivative` on."""
        return self.derivative, self.direct, self._first, self._old_direct, self._second, self._old_middle

    @property
    def settling_time(self) -> float:
        """s, after which a step has passed both filters to within 2 %: six time constants for two poles."""
        return 6.0 / self.pole

    @property
    def settled(self) -> bool:
        """Whether the transient of the filters' start has died out."""
        return self.age > self.settling_time

    @property
    def filtered(self) -> FloatArray:
        """(n, 11), [Y | y] after the last sample (a view)."""
        return self._second

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

    def restart(self) -> None:
        """Forget the filters' state; the next sample starts them."""
        self.age = math.nan
        for state in (self._first, self._old_direct, self._second, self._old_middle):
            state[:] = 0.0

    def step(self, dt: float, terms: MomentumTerms | SampleTerms) -> tuple[FloatArray, FloatArray]:
        """Y (n, 10) and y (n,) after a sample that came `dt` seconds after the last one (views, not copies).

        The first sample starts the filters as if the arm had always been in its state, at its momentum.
        """
        starts = math.isnan(self.age)
        filter_step(
            terms.momentum, terms.bias, self.pole, 0.0 if starts else dt, *self.arrays
        )  # fmt: skip
        self.age = 0.0 if starts else self.age + dt
        return self._second[:, :PARAMETERS], self._second[:, ARM]

    def steps(self, steps: FloatArray, momentum: FloatArray, bias: FloatArray, weights: FloatArray) -> FloatArray:
        """`step` with the terms of N samples after `steps` (N,) s; `weighted_columns` (N, n), nan while not settled."""
        totals = np.empty((len(steps), len(self._second)))
        self.age = filter_steps(
            momentum, bias, self.pole, steps, self.age, self.settling_time, weights, totals, *self.arrays
        )  # fmt: skip
        return totals

    def weighted(self, weights: FloatArray) -> FloatArray:
        """`weighted_columns` (n,) after the last sample."""
        total = np.empty(len(self._second))
        weighted_columns(self._second, weights, total)
        return total
