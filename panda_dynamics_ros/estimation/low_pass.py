# SPDX-License-Identifier: Apache-2.0
"""The two low-pass filters of `regression` for other signals."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.regression import first_order_hold
from panda_dynamics_ros.kernels.vectors import compiled


@compiled
def low_pass_step(x, w, dt, first, previous, second, previous_first):
    """One step of two first-order low-pass filters in series, in place. dt <= 0 starts them in steady state."""
    a, b0, b1 = (0.0, 1.0, 0.0) if dt <= 0.0 else first_order_hold(w, dt)
    for i in range(x.shape[0]):
        first[i] = a * first[i] + b0 * x[i] + b1 * previous[i]
        second[i] = a * second[i] + b0 * first[i] + b1 * previous_first[i]
        previous[i] = x[i]
        previous_first[i] = first[i]


@compiled
def low_pass_steps(x, w, steps, first, previous, second, previous_first):
    """One step after the other, of signals (N, n) and steps (N,) above 0."""
    for k in range(steps.shape[0]):
        low_pass_step(x[k], w, steps[k], first, previous, second, previous_first)


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

    def steps(self, steps: FloatArray, x: FloatArray) -> FloatArray:
        """`step` with signals x (N, n) after steps (N,), s, above 0."""
        low_pass_steps(x, self._pole, steps, self._first, self._previous, self._second, self._previous_first)
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
