# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter for y = Y theta + d + e, where theta is the payload and d what the arm's model leaves unexplained.

The residual of a real arm is not white: it keeps its value for about half a second of motion. The filter estimates
it beside the payload, as one Ornstein-Uhlenbeck process per joint (standard deviation sigma, correlation time tau_c):

    d_k = a d_{k-1} + w,   a = exp(-dt / tau_c),   var w = sigma^2 (1 - a^2),   y_k = Y_k theta + d_k + e.

Its covariance states what can be known of theta under coloured noise, and d is never less certain than sigma.
`dt` is time in motion: while the arm stands still the error of its model stays the same, so d keeps its value and
further samples add no information.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS


@dataclass
class GaussianState:
    """The filter's estimate of (theta, d): mean (10 + n,) and covariance (10 + n, 10 + n)."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def prior(cls, mean: FloatArray, covariance: FloatArray, sigma: FloatArray) -> GaussianState:
        """A payload of this mean (10,) and covariance (10, 10), and a disturbance of mean zero."""
        whole = np.zeros((PARAMETERS + len(sigma), PARAMETERS + len(sigma)))
        whole[:PARAMETERS, :PARAMETERS] = covariance
        whole[PARAMETERS:, PARAMETERS:] = np.diag(sigma**2)
        return cls(np.concatenate((mean, np.zeros(len(sigma)))), whole)

    def copy(self) -> GaussianState:
        """A copy that can be changed in place."""
        return GaussianState(self.mean.copy(), self.covariance.copy())

    def with_jump(self, effect: FloatArray, jump: FloatArray, covariance: FloatArray) -> GaussianState:
        """This state plus effect (10 + n, k) times a jump (k,) whose covariance is (k, k)."""
        return GaussianState(self.mean + effect @ jump, self.covariance + effect @ covariance @ effect.T)


@dataclass(frozen=True, eq=False)
class FilterStep:
    """One prediction and correction, joint after joint, from which `glr_signatures` follows the filter.

    Attributes
    ----------
    decay: (n,), factor on the disturbance in the prediction.
    Y: (n, 10), regressor of the correction.
    gain: (n, 10 + n), Kalman gain of each joint's innovation.
    innovation: (n,), N m, and innovation_variance: (n,), (N m)^2.
    """

    decay: FloatArray
    Y: FloatArray
    gain: FloatArray
    innovation: FloatArray
    innovation_variance: FloatArray

    @classmethod
    def zeros(cls, n: int) -> FilterStep:
        """Arrays of the right size for `correct` to fill."""
        return cls(np.ones(n), np.zeros((n, PARAMETERS)), np.zeros((n, PARAMETERS + n)), np.zeros(n), np.ones(n))


@compiled
def predict(mean, covariance, motion_time, sigma, correlation_time):
    """Propagate the disturbance through `motion_time` seconds of motion, in place."""
    for i in range(sigma.shape[0]):
        a = math.exp(-motion_time / correlation_time[i])
        k = PARAMETERS + i
        mean[k] *= a
        for c in range(mean.shape[0]):
            covariance[k, c] *= a
            covariance[c, k] *= a
        covariance[k, k] += sigma[i] ** 2 * (1.0 - a * a)


@compiled
def correct(mean, covariance, Y, y, variance, gain, innovation, innovation_variance):
    """Correct by y = Y theta + d + e, e of `variance` (n,), in place; returns log p(y | past).

    The n rows are processed one after the other, which needs no matrix inverse since e is independent by joint. Each
    row leaves its gain (n, 10 + n), its innovation (n,) and the innovation's variance (n,).
    """
    n, size = y.shape[0], mean.shape[0]
    PH, log_likelihood = np.empty(size), 0.0
    for i in range(n):
        disturbance = PARAMETERS + i
        for r in range(size):
            total = covariance[r, disturbance]
            for c in range(PARAMETERS):
                total += covariance[r, c] * Y[i, c]
            PH[r] = total
        nu, S = y[i] - mean[disturbance], variance[i] + PH[disturbance]
        for c in range(PARAMETERS):
            nu -= Y[i, c] * mean[c]
            S += Y[i, c] * PH[c]
        log_likelihood -= 0.5 * (nu * nu / S + math.log(2.0 * math.pi * S))
        for r in range(size):
            gain[i, r] = PH[r] / S
            mean[r] += gain[i, r] * nu
            for c in range(r + 1):
                covariance[r, c] -= gain[i, r] * PH[c]
                covariance[c, r] = covariance[r, c]
        innovation[i], innovation_variance[i] = nu, S
    return log_likelihood


def forget(state: GaussianState, keep: float, prior_mean: FloatArray, prior_covariance: FloatArray) -> None:
    """Let the payload's information leak toward the prior, in place: L <- keep L + (1 - keep) L0.

    The covariance of theta grows, but never beyond the prior's (stabilised forgetting). The regression of d on theta
    stays as it is.
    """
    theta, d = slice(0, PARAMETERS), slice(PARAMETERS, None)
    P, cross = state.covariance[theta, theta], state.covariance[d, theta]
    information, prior_information = np.linalg.inv(P), np.linalg.inv(prior_covariance)
    relaxed = np.linalg.inv(keep * information + (1.0 - keep) * prior_information)
    relaxed = 0.5 * (relaxed + relaxed.T)
    mean = relaxed @ (keep * information @ state.mean[theta] + (1.0 - keep) * prior_information @ prior_mean)
    regression = cross @ information
    state.mean[d] += regression @ (mean - state.mean[theta])
    state.covariance[d, d] += regression @ (relaxed - P) @ regression.T
    state.covariance[d, theta] = regression @ relaxed
    state.covariance[theta, d] = state.covariance[d, theta].T
    state.covariance[theta, theta] = relaxed
    state.mean[theta] = mean
