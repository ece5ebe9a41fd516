# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter for y = Y theta + d + A phi + e: payload, coloured disturbance, and errors of the arm's model.

theta (10,) is the payload. phi are lasting errors of the arm's model, such as offsets, friction and masses
(`arm_errors`), with a standard normal prior. What is left is not white: it keeps its value for some tenths of a second
of motion. The filter estimates it as one Ornstein-Uhlenbeck process per joint (standard deviation sigma, correlation
time tau_c):

    d_k = a d_{k-1} + w,   a = exp(-dt / tau_c),   var w = sigma^2 (1 - a^2).

Its covariance states what can be known of theta under coloured noise on such an arm. `dt` is time in motion: while the
arm stands still the error of its model stays the same, so d keeps its value and further samples add no information.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS

LARGE = 10.0
"""Standard deviations: a larger innovation counts as one of a variance that makes it this large."""


CONTACT = 10.0
"""Standard deviations: no error of the model is that large, see `predict`."""


@dataclass
class GaussianState:
    """The filter's estimate of x = (theta, d, phi): mean (N,) and covariance (N, N), N = 10 + n + size of phi.

    """

    mean: FloatArray
    covariance: FloatArray
    first_error: int = 17

    @classmethod
    def prior(cls, mean: FloatArray, covariance: FloatArray, sigma: FloatArray, errors: int = 0) -> GaussianState:
        """A payload of this mean (10,) and covariance (10, 10), no disturbance yet, `errors` entries of phi."""
        known = PARAMETERS + len(sigma)
        whole = np.eye(known + errors)
        whole[:known, :known] = 0.0
        whole[:PARAMETERS, :PARAMETERS] = covariance
        whole[PARAMETERS:known, PARAMETERS:known] = np.diag(sigma**2)
        return cls(np.concatenate((mean, np.zeros(len(sigma) + errors))), whole)

    def copy(self) -> GaussianState:
        """A copy that can be changed in place."""
        return GaussianState(self.mean.copy(), self.covariance.copy())

    def with_jump(self, effect: FloatArray, jump: FloatArray, covariance: FloatArray) -> GaussianState:
        """This state plus effect (N, k) times a jump (k,) whose covariance is (k, k)."""
        covariance = self.covariance + effect @ covariance @ effect.T
        return GaussianState(self.mean + effect @ jump, covariance)


@dataclass(frozen=True, eq=False)
class FilterStep:
    """One prediction and correction, joint after joint, from which `glr_signatures` follows the filter.

    Attributes
    ----------
    decay: (n,), factor on the disturbance in the prediction.
    Y: (n, 10), regressor of the correction, and A: (n, shared + own), columns of the arm's errors: those of the first
        `shared` entries of phi, which act on all joints, and those of each joint's own entries, which follow.
    gain: (n, N), Kalman gain of each joint's innovation.
    innovation: (n,), N m, and innovation_variance: (n,), (N m)^2.
    """

    decay: FloatArray
    Y: FloatArray
    A: FloatArray
    gain: FloatArray
    innovation: FloatArray
    innovation_variance: FloatArray
    shared: int = 0

    @classmethod
    def zeros(cls, n: int, shared: int = 0, own: int = 0) -> FilterStep:
        """Arrays of the right size for `correct` to fill; `own` columns of A belong to each joint alone."""
        size = PARAMETERS + n + shared + n * own
        return cls(
            np.ones(n), np.zeros((n, PARAMETERS)), np.zeros((n, shared + own)), np.zeros((n, size)), np.zeros(n),
            np.ones(n), shared,
        )  # fmt: skip


@compiled
def predict(mean, covariance, decay, sigma):
    """Propagate the disturbance, d <- a d + w with var w = sigma^2 (1 - a^2), a = `decay` (n,), in place."""
    for i in range(sigma.shape[0]):
        a, k = decay[i], PARAMETERS + i
        mean[k] *= a
        for c in range(mean.shape[0]):
            covariance[k, c] *= a
            covariance[c, k] *= a
        covariance[k, k] += sigma[i] ** 2 * (1.0 - a * a)


@compiled
def add_row(weight, row, total):
    """total += weight row."""
    for k in range(total.shape[0]):
        total[k] += weight * row[k]


@compiled
def correct(mean, covariance, Y, A, shared, learns, y, variance, gain, innovation, innovation_variance):
    """Correct by y = Y theta + d + A phi + e, e of `variance` (n,), in place; returns log p(y | past).

    The n rows are processed one after the other, which needs no matrix inverse since e is independent by joint. Each
    row leaves its gain (n, N), its innovation (n,) and the innovation's variance (n,). An innovation beyond `LARGE`
    standard deviations has its variance raised to match (a Student-like weight): no single sample moves the state far.
    Without `learns` phi stays as it is, and its uncertainty is only allowed for (Schmidt's consider filter).
    """
    n, size = y.shape[0], mean.shape[0]
    own, first = A.shape[1] - shared, PARAMETERS + n
    corrected = size if learns else first
    PH, log_likelihood = scratch(size), 0.0
    for i in range(n):
        joint = first + shared + own * i
        nu = y[i] - mean[PARAMETERS + i]
        for r in range(size):
            PH[r] = covariance[PARAMETERS + i, r]
        for c in range(PARAMETERS):
            nu -= Y[i, c] * mean[c]
            add_row(Y[i, c], covariance[c], PH)
        for c in range(shared):
            nu -= A[i, c] * mean[first + c]
            add_row(A[i, c], covariance[first + c], PH)
        for c in range(own):
            nu -= A[i, shared + c] * mean[joint + c]
            add_row(A[i, shared + c], covariance[joint + c], PH)
        S = variance[i] + PH[PARAMETERS + i]
        for c in range(PARAMETERS):
            S += Y[i, c] * PH[c]
        for c in range(shared):
            S += A[i, c] * PH[first + c]
        for c in range(own):
            S += A[i, shared + c] * PH[joint + c]
        log_likelihood -= 0.5 * (nu * nu / S + math.log(2.0 * math.pi * S))
        for r in range(corrected):
            gain[i, r] = PH[r] / S
            mean[r] += gain[i, r] * nu
            add_row(-gain[i, r], PH, covariance[r])
        for r in range(corrected, size):
            gain[i, r] = 0.0
            for c in range(corrected):
                covariance[r, c] = covariance[c, r]
        innovation[i], innovation_variance[i] = nu, S
    return log_likelihood


def forget(
    state: GaussianState, motion_time: float, memory_s: float, arm_memory_s: float, prior_std: FloatArray
) -> None:
    """Let what is known of the payload and of the arm's errors fade for `motion_time` s of motion, in place.

    The payload's covariance grows in proportion (fading memory), never beyond the prior; the variance of each error of
    the arm leaks toward its prior's.
    """
    P = state.covariance
    variance = P.diagonal()[:PARAMETERS]
    growth = np.minimum(math.exp(motion_time / memory_s), np.maximum(1.0, prior_std**2 / variance)) ** 0.5
    P[:PARAMETERS] *= growth[:, None]
    P[:, :PARAMETERS] *= growth
    k = np.arange(state.first_error, len(P))
    P[k, k] += (1.0 - math.exp(-motion_time / arm_memory_s)) * np.maximum(0.0, 1.0 - P[k, k])
    P[:] = 0.5 * (P + P.T)
