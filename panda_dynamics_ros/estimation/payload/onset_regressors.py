# SPDX-License-Identifier: Apache-2.0
"""Regressors of payloads that appear at given onsets: the filters of `regression`, started at zero at each onset.

A payload that is picked up at t0 loads the joints from then on, and its torque rises through both low-pass filters.
With the filters of Y started at zero at t0, its filtered torque is Y_t0 theta from the first sample.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.regression import FilterState, MomentumRegression, first_order_hold
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS


@compiled
def onset_filter_step(slots, derivative, direct, previous_direct, w, dt, first, second, old_middle):
    """One step of the filters in every slot, in place; `second` ends as its regressor (n, 10)."""
    a, b0, b1 = first_order_hold(w, dt)
    n, count = previous_direct.shape
    for slot in slots:
        for i in range(n):
            for k in range(count):
                first[slot, i, k] = a * first[slot, i, k] + b0 * direct[i, k] + b1 * previous_direct[i, k]
                middle = derivative[i, k] - first[slot, i, k]
                second[slot, i, k] = a * second[slot, i, k] + b0 * middle + b1 * old_middle[slot, i, k]
                old_middle[slot, i, k] = middle
    for i in range(n):
        for k in range(count):
            previous_direct[i, k] = direct[i, k]


class OnsetRegressors:
    """Regressors in numbered slots; each slot belongs to one onset.

    Parameters
    ----------
    n: joints.
    slots: how many of them.
    """

    def __init__(self, n: int, slots: int) -> None:
        self._first, self._second, self._old_middle = np.zeros((3, slots, n, PARAMETERS))
        self._previous_direct = np.zeros((n, PARAMETERS))

    def start(self, slot: int, regression: MomentumRegression) -> None:
        """Let the payload of `slot` appear at the regression's last sample."""
        self._first[slot] = regression.derivative[:, :PARAMETERS]
        self._second[slot] = self._old_middle[slot] = 0.0

    def start_settled(self, slot: int, regression: MomentumRegression) -> None:
        """Let the payload of `slot` have been there since before the regression's filters started."""
        state = regression.payload_state
        self._first[slot], self._second[slot], self._old_middle[slot] = state.first, state.second, state.old_middle

    def step(self, slots: np.ndarray, regression: MomentumRegression, dt: float) -> None:
        """Follow a step of the regression, `dt` s after the last one, in the given slots."""
        onset_filter_step(
            slots, regression.derivative, regression.direct, self._previous_direct, regression.pole, dt,
            self._first, self._second, self._old_middle,
        )  # fmt: skip

    def restart(self, regression: MomentumRegression) -> None:
        """Take over the regression's first sample; to be called instead of `step`."""
        self._previous_direct[:] = regression.direct[:, :PARAMETERS]

    @property
    def regressors(self) -> FloatArray:
        """(slots, n, 10)."""
        return self._second

    def state(self, slot: int) -> FilterState:
        """The filters of one slot."""
        return FilterState(self._first[slot], self._second[slot], self._old_middle[slot])
