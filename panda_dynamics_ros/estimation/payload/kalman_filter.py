# SPDX-License-Identifier: Apache-2.0
"""Recursive least squares for y = Y theta + d, where d is what the arm's model leaves unexplained.

The residual of a real arm is not white: it keeps its value for about half a second of motion. It is
estimated beside the payload, as one Ornstein-Uhlenbeck state per joint (std sigma, correlation time tau_c):

    d_k = a d_{k-1} + w,   a = exp(-dt / tau_c),   var w = sigma^2 (1 - a^2),   y_k = Y_k theta + d_k + e.

That is a Kalman filter over (theta, d). Its covariance is what coloured noise leaves to be known, and d is
never more uncertain than sigma. `dt` is time in motion: an arm that stands still repeats one error, so d
stays where it is and standing still for an hour teaches nothing twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.vectors import compiled

PARAMETERS = 10


@dataclass
class Belief:
    """A Gaussian over (theta, d): mean (10 + n,) and covariance (10 + n, 10 + n)."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def start(cls, prior_mean: FloatArray, prior_covariance: FloatArray, sigma: FloatArray) -> Belief:
        """The prior of the payload, and a disturbance of which only the spread is known."""
        covariance = np.zeros((PARAMETERS + len(sigma), PARAMETERS + len(sigma)))
        covariance[:PARAMETERS, :PARAMETERS] = prior_covariance
        covariance[PARAMETERS:, PARAMETERS:] = np.diag(sigma**2)
        return cls(np.concatenate((prior_mean, np.zeros(len(sigma)))), covariance)

    def copy(self) -> Belief:
        """Another belief of the same content, to change in place."""
        return Belief(self.mean.copy(), self.covariance.copy())

    def moved(self, effect: FloatArray, jump: FloatArray, covariance: FloatArray) -> Belief:
        """Another belief, moved by effect (10 + n, k) times a jump (k,) that is known to `covariance` (k, k)."""
        return Belief(self.mean + effect @ jump, self.covariance + effect @ covariance @ effect.T)


@dataclass(frozen=True, eq=False)
class Lesson:
    """One prediction and correction, joint after joint, for those who follow the filter (`jump_signatures`).

    Attributes
    ----------
    decay: (n,), factor of the disturbance in the prediction.
    Y: (n, 10). gain: (n, 10 + n), per innovation. innovation, spread: (n,), N m and its variance.
    """

    decay: FloatArray
    Y: FloatArray
    gain: FloatArray
    innovation: FloatArray
    spread: FloatArray

    @classmethod
    def blank(cls, n: int) -> Lesson:
        """For `correct` to fill."""
        return cls(np.ones(n), np.zeros((n, PARAMETERS)), np.zeros((n, PARAMETERS + n)), np.zeros(n), np.ones(n))


@compiled
def predict(mean, covariance, motion_time, sigma, correlation_time):
    """Let `motion_time` seconds of motion pass over the disturbance, in place."""
    for i in range(sigma.shape[0]):
        a = math.exp(-motion_time / correlation_time[i])
        k = PARAMETERS + i
        mean[k] *= a
        covariance[k, :] *= a
        covariance[:, k] *= a
        covariance[k, k] += sigma[i] ** 2 * (1.0 - a * a)


@compiled
def correct(mean, covariance, Y, y, variance, gain, innovation, spread):
    """Take in y = Y theta + d + e, e of `variance` (n,), in place; returns log p(y | past).

    The n rows are taken one after the other, which needs no matrix inverse since e is independent by joint. Each
    leaves its gain (n, 10 + n), innovation and the innovation's variance `spread` (n,).
    """
    n, size = y.shape[0], mean.shape[0]
    along, log_likelihood = np.empty(size), 0.0
    for i in range(n):
        disturbance = PARAMETERS + i
        for r in range(size):
            total = covariance[r, disturbance]
            for c in range(PARAMETERS):
                total += covariance[r, c] * Y[i, c]
            along[r] = total
        surprise, doubt = y[i] - mean[disturbance], variance[i] + along[disturbance]
        for c in range(PARAMETERS):
            surprise -= Y[i, c] * mean[c]
            doubt += Y[i, c] * along[c]
        log_likelihood -= 0.5 * (surprise * surprise / doubt + math.log(2.0 * math.pi * doubt))
        for r in range(size):
            gain[i, r] = along[r] / doubt
            mean[r] += gain[i, r] * surprise
            for c in range(r + 1):
                covariance[r, c] -= gain[i, r] * along[c]
                covariance[c, r] = covariance[r, c]
        innovation[i], spread[i] = surprise, doubt
    return log_likelihood


def forget(belief: Belief, keep: float, prior_mean: FloatArray, prior_covariance: FloatArray) -> None:
    """Let the payload's information leak toward the prior, in place: L <- keep L + (1 - keep) L0.

    The covariance of theta grows, and never beyond the prior's (stabilised forgetting). What d owes to theta,
    the regression of d on theta, is left as it is.
    """
    theta, d = slice(0, PARAMETERS), slice(PARAMETERS, None)
    P, cross = belief.covariance[theta, theta], belief.covariance[d, theta]
    information, prior_information = np.linalg.inv(P), np.linalg.inv(prior_covariance)
    relaxed = np.linalg.inv(keep * information + (1.0 - keep) * prior_information)
    relaxed = 0.5 * (relaxed + relaxed.T)
    mean = relaxed @ (keep * information @ belief.mean[theta] + (1.0 - keep) * prior_information @ prior_mean)
    regression = cross @ information
    belief.mean[d] += regression @ (mean - belief.mean[theta])
    belief.covariance[d, d] += regression @ (relaxed - P) @ regression.T
    belief.covariance[d, theta] = regression @ relaxed
    belief.covariance[theta, d] = belief.covariance[d, theta].T
    belief.covariance[theta, theta] = relaxed
    belief.mean[theta] = mean
