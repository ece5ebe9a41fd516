# SPDX-License-Identifier: Apache-2.0
"""Regressors of payloads that came on at given moments: the filters of `regression`, started there from nothing.

A payload that is picked up at t0 loads the joints from then on, and its torque rises through both low-pass
filters. With the filters of Y started at zero at t0 its filtered torque is Y_t0 theta from the first sample.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.regression import PARAMETERS, FilterState, MomentumRegression, hold_coefficients
from panda_dynamics_ros.kernels.vectors import compiled


@compiled
def gate_step(slots, derivative, direct, previous_direct, w, dt, first, second, old_middle):
    """One step of the filters of every slot, in place; `second` ends as its regressor (n, 10)."""
    a, b0, b1 = hold_coefficients(w, dt)
    n, count = previous_direct.shape
    for slot in slots:
        for i in range(n):
            for k in range(count):
                first[slot, i, k] = a * first[slot, i, k] + b0 * direct[i, k] + b1 * previous_direct[i, k]
                middle = derivative[i, k] - first[slot, i, k]
                second[slot, i, k] = a * second[slot, i, k] + b0 * middle + b1 * old_middle[slot, i, k]
                old_middle[slot, i, k] = middle
    previous_direct[:] = direct[:, :count]


class GatedRegressors:
    """Gated regressors in numbered slots, each of which belongs to one moment.

    Parameters
    ----------
    n: joints.
    slots: how many of them.
    """

    def __init__(self, n: int, slots: int) -> None:
        self._first, self._second, self._old_middle = np.zeros((3, slots, n, PARAMETERS))
        self._previous_direct = np.zeros((n, PARAMETERS))

    def open(self, slot: int, regression: MomentumRegression) -> None:
        """Let the payload of `slot` come on at the regression's last sample."""
        self._first[slot] = regression.derivative[:, :PARAMETERS]
        self._second[slot] = self._old_middle[slot] = 0.0

    def open_whole(self, slot: int, regression: MomentumRegression) -> None:
        """Let the payload of `slot` have been there since before the regression's filters started."""
        state = regression.payload_state
        self._first[slot], self._second[slot], self._old_middle[slot] = state.first, state.second, state.old_middle

    def step(self, slots: np.ndarray, regression: MomentumRegression, dt: float) -> None:
        """Follow a step of the regression, `dt` s after the last one, in the given slots."""
        gate_step(
            slots, regression.derivative, regression.direct, self._previous_direct, regression.pole, dt,
            self._first, self._second, self._old_middle,
        )  # fmt: skip

    def start(self, regression: MomentumRegression) -> None:
        """Take note of the regression's first sample."""
        self._previous_direct[:] = regression.direct[:, :PARAMETERS]

    @property
    def regressors(self) -> FloatArray:
        """(slots, n, 10)."""
        return self._second

    def state(self, slot: int) -> FilterState:
        """The filters of one slot."""
        return FilterState(self._first[slot], self._second[slot], self._old_middle[slot])
