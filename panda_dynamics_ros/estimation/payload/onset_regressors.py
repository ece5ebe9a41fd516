# SPDX-License-Identifier: Apache-2.0
"""Regressors of payloads that appear at given onsets: the filters of `regression`, started at zero at each onset.

A payload that is picked up at t0 loads the joints from then on, and its torque rises through both low-pass filters.
With the filters of Y started at zero at t0, its filtered torque is Y_t0 theta from the first sample.

No filter has to run for an onset. Both get the same inputs, so that what those of Y have more than those of the onset,
E1 after the first pole and E2 after the second, only decays: with a, b0, b1 of each step (`first_order_hold`),

    E1 <- a E1,    E2 <- a E2 - (b0 a + b1) E1,

that is E1 = k E1(t0) and E2 = k E2(t0) - m E1(t0) with two numbers k and m, the same for all joints and parameters.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.regression import FilterState, MomentumRegression, first_order_hold
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS


@compiled
def decay_step(w, dt, decay):
    """Let k and m, the entries of `decay`, pass `dt` s, in place."""
    a, b0, b1 = first_order_hold(w, dt)
    decay[1] = a * decay[1] + (b0 * a + b1) * decay[0]
    decay[0] *= a


@compiled
def decay_steps(w, steps, decay):
    """The same for steps (N,), s."""
    for dt in steps:
        decay_step(w, dt, decay)


@compiled
def apply_decay(decay, keep, mix):
    """Let k and m of the slots, `keep` and `mix`, pass what `decay` has passed, which starts again; in place."""
    for slot in range(keep.shape[0]):
        mix[slot] = decay[0] * mix[slot] + decay[1] * keep[slot]
        keep[slot] *= decay[0]
    decay[0], decay[1] = 1.0, 0.0


@compiled
def start_onset(slot, decay, keep, mix, second, old_middle, first_excess, second_excess):
    """Let the filters of a slot start now, beside those of the whole past, whose states are (n, 11); in place."""
    apply_decay(decay, keep, mix)
    keep[slot], mix[slot] = 1.0, 0.0
    for i in range(first_excess.shape[1]):
        for k in range(first_excess.shape[2]):
            first_excess[slot, i, k], second_excess[slot, i, k] = -old_middle[i, k], second[i, k]


@compiled
def onset_regressors(second, first_excess, second_excess, keep, mix, regressors):
    """The regressor (n, 10) of every slot from that of the whole past, `second` (n, 11), in place."""
    for slot in range(regressors.shape[0]):
        for i in range(regressors.shape[1]):
            for k in range(regressors.shape[2]):
                excess = keep[slot] * second_excess[slot, i, k] - mix[slot] * first_excess[slot, i, k]
                regressors[slot, i, k] = second[i, k] - excess


class OnsetRegressors:
    """Regressors in numbered slots; each slot belongs to one onset, after which the regression does not restart.

    Parameters
    ----------
    n: joints.
    slots: how many of them.
    """

    def __init__(self, n: int, slots: int) -> None:
        self._first_excess, self._second_excess, self._regressors = np.zeros((3, slots, n, PARAMETERS))
        self._keep, self._mix = np.ones(slots), np.zeros(slots)
        self._decay = np.array([1.0, 0.0])  # since the last time that it was applied to the slots

    def start(self, slot: int, regression: MomentumRegression) -> None:
        """Let the payload of `slot` appear at the regression's last sample."""
        _, _, _, _, second, old_middle = regression.arrays
        start_onset(
            slot, self._decay, self._keep, self._mix, second, old_middle, self._first_excess, self._second_excess
        )  # fmt: skip

    def start_settled(self, slot: int) -> None:
        """Let the payload of `slot` have been there since before the regression's filters started."""
        self._first_excess[slot] = self._second_excess[slot] = 0.0

    def step(self, pole: float, dt: float) -> None:
        """Follow a step of the regression, whose filters have this pole, rad/s, `dt` s after the last one."""
        decay_step(pole, dt, self._decay)

    def steps(self, pole: float, steps: FloatArray) -> None:
        """Follow several steps (N,), s."""
        decay_steps(pole, steps, self._decay)

    def _catch_up(self) -> None:
        apply_decay(self._decay, self._keep, self._mix)

    def regressors(self, regression: MomentumRegression) -> FloatArray:
        """(slots, n, 10), a view."""
        self._catch_up()
        onset_regressors(
            regression.filtered, self._first_excess, self._second_excess, self._keep, self._mix, self._regressors
        )  # fmt: skip
        return self._regressors

    def state(self, slot: int, regression: MomentumRegression) -> FilterState:
        """The filters of one slot."""
        whole, first = regression.payload_state, self._first_excess[slot]
        self._catch_up()
        keep, mix = self._keep[slot], self._mix[slot]
        second = whole.second - (keep * self._second_excess[slot] - mix * first)
        return FilterState(whole.first - keep * first, second, whole.old_middle + keep * first)
