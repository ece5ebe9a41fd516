# SPDX-License-Identifier: Apache-2.0
"""Generalised least squares for y = H x + d + e, where d is the arm's coloured residual and x is constant.

The model is that of `disturbance_filter`: per joint an Ornstein-Uhlenbeck state d and white noise e. With x constant
the joints are independent, so one scalar Kalman filter per joint over d alone whitens y and the columns of H alike
(the augmented Kalman filter of de Jong, "The diffuse Kalman filter", Annals of Statistics 1991): with the
innovations nu_y and nu_H of variance S,

    L = sum nu_H' nu_H / S,    v = sum nu_H' nu_y / S,    x = L^-1 v.

That is what a forward-backward smoother gives for constants, in one pass and without a matrix inverse on the way:
every sample counts for x, whenever it came.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.vectors import compiled


@compiled
def wait(columns, torque, variance, motion_time, sigma, correlation_time):
    """Let `motion_time` seconds of motion pass over what y and H say about d, in place."""
    for i in range(sigma.shape[0]):
        a = math.exp(-motion_time / correlation_time[i])
        columns[i] *= a
        torque[i] *= a
        variance[i] = a * a * variance[i] + sigma[i] ** 2 * (1.0 - a * a)


@compiled
def whiten(columns, torque, variance, first, end, H, y, noise, L, v):
    """Take in y = H x + d + e, e of variance `noise` (n,); H (n, end - first) belongs to x[first:end]. In place."""
    nu = np.empty(end - first)
    for i in range(y.shape[0]):
        spread = variance[i] + noise[i]
        gain, surprise = variance[i] / spread, y[i] - torque[i]
        for c in range(end - first):
            nu[c] = H[i, c] - columns[i, first + c]
            columns[i, first + c] += gain * nu[c]
        torque[i] += gain * surprise
        variance[i] *= 1.0 - gain
        for c in range(end - first):
            weighted = nu[c] / spread
            v[first + c] += weighted * surprise
            for r in range(end - first):
                L[first + r, first + c] += nu[r] * weighted


class ColouredLeastSquares:
    """Information on `size` constants x, sample by sample.

    Parameters
    ----------
    size: of x.
    sigma, correlation_time: (n,), N m and s, of the residual d.

    Attributes
    ----------
    information: (size, size), and `vector`: (size,): L and v, without any prior.
    """

    def __init__(self, size: int, sigma: FloatArray, correlation_time: FloatArray) -> None:
        n = len(sigma)
        self._sigma, self._correlation_time = sigma, correlation_time
        # What d is expected to be for y alone and for each column of H, and how well it is known.
        self._columns, self._torque, self._variance = np.zeros((n, size)), np.zeros(n), sigma**2
        self.information, self.vector = np.zeros((size, size)), np.zeros(size)

    def wait(self, motion_time: float) -> None:
        """Let `motion_time` seconds of motion pass: d becomes less certain."""
        wait(self._columns, self._torque, self._variance, motion_time, self._sigma, self._correlation_time)

    def learn(self, first: int, H: FloatArray, y: FloatArray, noise: FloatArray) -> None:
        """Take in y (n,) = H (n, k) x[first:first + k] + d + e, e of variance `noise` (n,).

        Entries of x outside have no torque left; neither may they have left any trace in d (`trace`).
        """
        whiten(
            self._columns, self._torque, self._variance, first, first + H.shape[1], np.ascontiguousarray(H), y, noise,
            self.information, self.vector,
        )  # fmt: skip

    def trace(self, first: int, end: int) -> float:
        """N m per unit: the largest part of d's mean that is owed to x[first:end]."""
        return float(np.abs(self._columns[:, first:end]).max(initial=0.0))
