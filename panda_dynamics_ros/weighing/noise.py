# SPDX-License-Identifier: Apache-2.0
"""What runs of one motion leave of each other: an Ornstein-Uhlenbeck process and white noise, joint by joint.

    z_k = d_k + e_k,    d_k = a_k d_{k-1} + w_k,    a_k = exp(-motion_k / tau),    var d = sigma^2,    var e = rho^2

A scalar Kalman filter over d whitens a series and the columns of its regressor alike (see `generalised_least_squares`).
Its innovations give the likelihood of (sigma, tau, rho), of which the most probable values are taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.scratch import zeros
from panda_dynamics_ros.kernels.vectors import compiled

TYPICAL = (0.07, 0.3, 0.03)
"""sigma and rho in units of the arm's residual, tau in s: between two passes of the public 1 kHz log."""
SPREAD = (0.7, 0.5, 1.0)
"""One standard deviation of the logarithms of these, over arms and motions."""


def whitened(
    columns: FloatArray, motion: FloatArray, white: FloatArray, sigma: float, tau: float
) -> tuple[FloatArray, float]:
    """Innovations (K, c) of the columns (K, c) over their standard deviations, and the sum of the logarithms of these.

    `motion` (K,), s since the row before; a negative one starts a new series. `white` (K,), variance of e.
    """
    out = np.empty_like(columns)
    return out, float(whiten(columns, motion, white, sigma, tau, out))


@compiled
def whiten(columns, motion, white, sigma, tau, out):
    """`whitened` into `out` (K, c); returns the sum of the logarithms."""
    mean, variance, logs = zeros(columns.shape[1]), 0.0, 0.0
    for k in range(columns.shape[0]):
        a = math.exp(-motion[k] / tau) if motion[k] >= 0.0 else 0.0
        variance = a * a * variance + sigma * sigma * (1.0 - a * a)
        S = variance + white[k]
        gain, scale = variance / S, 1.0 / math.sqrt(S)
        for c in range(columns.shape[1]):
            mean[c] *= a
            innovation = columns[k, c] - mean[c]
            mean[c] += gain * innovation
            out[k, c] = scale * innovation
        variance *= 1.0 - gain
        logs -= math.log(scale)
    return logs


@dataclass(frozen=True)
class PairedNoise:
    """One joint's: sigma (N m), tau (s), rho (N m).

    The white part is larger where the joint has just stood still, by `slow` (N m).
    """

    sigma: float
    tau: float
    rho: float
    slow: float

    def white(self, slowness: FloatArray) -> FloatArray:
        """Variances (K,) of e."""
        return self.rho**2 + slowness * self.slow**2

    def whiten(self, columns: FloatArray, motion: FloatArray, slowness: FloatArray) -> FloatArray:
        """Columns (K, c) as `whitened`."""
        return np.asarray(whitened(columns, motion, self.white(slowness), self.sigma, self.tau)[0])

    @classmethod
    def typical(cls, residual: float) -> PairedNoise:
        """The prior for a joint whose model leaves a residual of `residual` N m."""
        sigma, tau, rho = TYPICAL
        return cls(sigma * residual, tau, rho * residual, sigma * residual)

    @classmethod
    def most_probable(
        cls, columns: FloatArray, motion: FloatArray, slowness: FloatArray, residual: float
    ) -> PairedNoise:
        """The maximum a posteriori estimate from a series; the prior is that of two passes of a real arm.

        Parameters
        ----------
        columns: (K, c), N m: what is left of the series, and beside it the uncertainty of what was taken away, one
            standard deviation in each column. Without the latter the noise would seem too small by what the fit
            followed of it (this is the M-step of an expectation maximisation).
        """
        typical = cls.typical(residual)
        scale, spread = np.array([typical.sigma, typical.tau, typical.rho]), np.array(SPREAD)

        def of(logs: FloatArray) -> PairedNoise:
            sigma, tau, rho = (scale * np.exp(logs)).tolist()
            return cls(sigma, tau, rho, sigma)

        def cost(logs: FloatArray) -> float:
            noise = of(logs)
            white, log_std = whitened(columns, motion, noise.white(slowness), noise.sigma, noise.tau)
            return float(0.5 * np.sum(white**2) + log_std + 0.5 * np.sum((logs / spread) ** 2))

        simplex = np.vstack((np.zeros(3), np.diag(spread)))
        options = {"initial_simplex": simplex, "xatol": 0.02, "fatol": 0.05}
        found = optimize.minimize(cost, np.zeros(3), method="Nelder-Mead", options=options)
        return of(found.x)
