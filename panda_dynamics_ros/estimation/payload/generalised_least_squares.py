# SPDX-License-Identifier: Apache-2.0
"""Generalised least squares for y = H x + d + e, where d is the arm's coloured residual and x is constant.

The model is that of `kalman_filter`: per joint an Ornstein-Uhlenbeck process d and white noise e. With x constant
the joints are independent, so one scalar Kalman filter per joint over d alone whitens y and the columns of H alike
(the augmented Kalman filter of de Jong, "The diffuse Kalman filter", Annals of Statistics 1991): with the
innovations nu_y and nu_H of variance S,

    L = sum nu_H' nu_H / S,    v = sum nu_H' nu_y / S,    x = L^-1 v.

That is what a forward-backward smoother gives for constants, in one pass and without a matrix inverse on the way:
every sample counts for x, whenever it came.

`payload_posteriors` then accounts for the part of the model's error that does not average out: an error of the
model's masses acts like one more payload b that is always there, so that the data only determines phi_s = theta_s + b
for each payload s. The prior of b says that `MODEL_ERROR_TIME` s of motion yield all the information that ever
averages out, B^-1 = `MODEL_ERROR_TIME` times the mean information per second of motion. An interval therefore never
shrinks below B, and a stretch that is known to be unloaded is a tare for all others, weighted by its own length.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled


@compiled
def predict(columns, torque, variance, motion_time, sigma, correlation_time):
    """Propagate the predictions of d from y and H through `motion_time` seconds of motion, in place."""
    for i in range(sigma.shape[0]):
        a = math.exp(-motion_time / correlation_time[i])
        for c in range(columns.shape[1]):
            columns[i, c] *= a
        torque[i] *= a
        variance[i] = a * a * variance[i] + sigma[i] ** 2 * (1.0 - a * a)


@compiled
def whiten(columns, torque, variance, first, end, H, y, noise, L, v):
    """Add y = H x + d + e, e of variance `noise` (n,), in place; H (n, end - first) belongs to x[first:end]."""
    nu = scratch(end - first)
    for i in range(y.shape[0]):
        S = variance[i] + noise[i]
        gain, innovation = variance[i] / S, y[i] - torque[i]
        for c in range(end - first):
            nu[c] = H[i, c] - columns[i, first + c]
            columns[i, first + c] += gain * nu[c]
        torque[i] += gain * innovation
        variance[i] *= 1.0 - gain
        for c in range(end - first):
            weighted = nu[c] / S
            v[first + c] += weighted * innovation
            for r in range(end - first):
                L[first + r, first + c] += nu[r] * weighted


class GeneralisedLeastSquares:
    """Information on `size` constants x, sample by sample.

    Parameters
    ----------
    size: of x.
    sigma, correlation_time: (n,), N m and s, of the residual d.

    Attributes
    ----------
    sigma: (n,), N m; it may change from state to state.
    information: (size, size), and `vector`: (size,): L and v, without any prior.
    """

    def __init__(self, size: int, sigma: FloatArray, correlation_time: FloatArray) -> None:
        n = len(sigma)
        self.sigma, self._correlation_time = sigma, correlation_time
        # Prediction of d for y alone and for each column of H, and its variance.
        self._columns, self._torque, self._variance = np.zeros((n, size)), np.zeros(n), sigma**2
        self.information, self.vector = np.zeros((size, size)), np.zeros(size)

    def predict(self, motion_time: float) -> None:
        """Let `motion_time` seconds of motion pass, through which d becomes less certain."""
        predict(self._columns, self._torque, self._variance, motion_time, self.sigma, self._correlation_time)

    def update(self, first: int, H: FloatArray, y: FloatArray, noise: FloatArray) -> None:
        """Add y (n,) = H (n, k) x[first:first + k] + d + e, e of variance `noise` (n,).

        Entries of x outside this range must have no torque left, and no trace in d (see `trace`).
        """
        whiten(
            self._columns, self._torque, self._variance, first, first + H.shape[1], np.ascontiguousarray(H), y, noise,
            self.information, self.vector,
        )  # fmt: skip

    def trace(self, first: int, end: int) -> float:
        """N m per unit: the largest part of d's mean that depends on x[first:end]."""
        return float(np.abs(self._columns[:, first:end]).max(initial=0.0))


MODEL_ERROR_TIME = 4.0
"""s of motion. Chosen of 2, 4 and 8 s on the simulated arms of `benchmarks/payload`: with 8 s the published model's
intervals are too narrow after 22 s, with 2 s an unloaded stretch makes a calibrated arm's payload worse."""

ZERO_STD = 1e-9
"""Standard deviation, in SI units, of the inertial vector where nothing was carried."""


def payload_posteriors(
    information: FloatArray,
    vector: FloatArray,
    motion_s: FloatArray,
    prior_std: FloatArray,
    unloaded: Collection[int],
) -> tuple[FloatArray, FloatArray]:
    """Means (S, p) and covariances (S, p, p) of S payloads.

    Parameters
    ----------
    information, vector: (S p, S p) and (S p,), information of the data on all phi_s, without a prior.
    motion_s: (S,), s in motion of each.
    prior_std: (p,), prior standard deviations of a payload.
    unloaded: indices of those that are known to be zero.
    """
    count, size = len(motion_s), len(prior_std)
    blocks = information.reshape(count, size, count, size)
    of_each = np.einsum("sisj->ij", blocks)
    known = MODEL_ERROR_TIME * of_each / max(float(np.sum(motion_s)), MODEL_ERROR_TIME)
    # x = (theta_1 .. theta_S, b), phi = A x
    A = np.hstack([np.eye(count * size), np.tile(np.eye(size), (count, 1))])
    std = np.tile(prior_std, (count + 1, 1))
    std[list(unloaded)] = ZERO_STD
    L = A.T @ information @ A + np.diag(std.ravel() ** -2.0)
    L[-size:, -size:] += known
    # Scaled to a unit diagonal: ZERO_STD beside 1 kg exceeds the precision of a double.
    scale = 1.0 / np.sqrt(np.diag(L))
    P = np.linalg.inv(scale[:, None] * L * scale) * np.outer(scale, scale)
    mean = P @ (A.T @ vector)
    whole = P[:-size, :-size].reshape(count, size, count, size)
    return mean[:-size].reshape(count, size), np.stack([whole[s, :, s] for s in range(count)])
