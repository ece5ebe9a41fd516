# SPDX-License-Identifier: Apache-2.0
"""The Kalman filter of `arm_model`: one Gaussian state x = (theta, d, phi), one covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled, inner
from panda_dynamics_ros.robot.inertial import PARAMETERS

THETA = slice(0, PARAMETERS)  # place of the payload in the state
ABSURD = 1e6  # of what filters say: a number in the samples was as large, which no limits of the arm have refused


@dataclass(frozen=True, eq=False)
class GaussianState:
    """Mean (N,) and covariance (N, N) of x = (theta, d, phi), N = 10 + n + size of phi."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def prior(cls, payload_std: FloatArray, disturbance_std: FloatArray, errors: int) -> GaussianState:
        """Nothing but the model is known: of a payload (10,), a disturbance (n,) and `errors` entries of phi."""
        std = np.concatenate((payload_std, disturbance_std, np.ones(errors)))
        return cls(np.zeros(len(std)), np.diag(std**2))

    @property
    def variance(self) -> FloatArray:
        """(N,), the diagonal of the covariance: a view, to which may be written."""
        return np.einsum("ii->i", self.covariance)

    def copy(self) -> GaussianState:
        """A copy that shares nothing."""
        return GaussianState(self.mean.copy(), self.covariance.copy())

    def of(self, *places: slice) -> GaussianState:
        """The state of the entries at these places, which may repeat."""
        place = np.concatenate([np.arange(each.start, each.stop) for each in places])
        return GaussianState(self.mean[place], self.covariance.take(place, 0).take(place, 1))

    def with_past(self) -> GaussianState:
        """The state with its payload once more as the last ten entries, which no later change concerns."""
        return self.of(slice(0, len(self.mean)), THETA)

    def with_payload(self, other: GaussianState) -> GaussianState:
        """`with_past`, with the payload of another state, but without its correlation with what else that has."""
        state, P = self.with_past(), other.covariance[THETA, THETA]
        state.mean[THETA], state.covariance[THETA], state.covariance[:, THETA] = other.mean[THETA], 0.0, 0.0
        state.covariance[THETA, THETA] = P
        return state

    def past(self, first: int) -> list[slice]:
        """Places of the payloads from `first` on, the lightest first, but for the last ten entries."""
        places = range(first, len(self.mean) - PARAMETERS, PARAMETERS)
        return [slice(k, k + PARAMETERS) for k in sorted(places, key=lambda k: self.mean[k])]

    def difference(self, place: slice, other: slice | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the entries at `place` less those at `other` (None: zero): mean, covariance, and that with the state."""
        mean, cross = self.mean[place], self.covariance[:, place]
        if other is None:
            return mean, cross[place], cross
        cross = cross - self.covariance[:, other]
        return mean - self.mean[other], cross[place] - cross[other], cross

    def conditioned(self, place: slice, std: FloatArray, other: slice | None = None) -> GaussianState:
        """Given that the entries at `place` are those at `other` (None: zero) to within `std`."""
        mean, covariance, cross = self.difference(place, other)
        gain = np.linalg.solve(covariance + np.diag(std**2), cross.T).T
        return GaussianState(self.mean - gain @ mean, self.covariance - gain @ cross.T)

    def mixed(self, other: GaussianState, share: float) -> GaussianState:
        """The Gaussian of the same mean and covariance as the mixture with `other`, of the probability `share`.

        What `other` has beyond the entries of this state is left out.
        """
        N = len(self.mean)
        between, more = other.mean[:N] - self.mean, other.covariance[:N, :N] - self.covariance
        more += (1.0 - share) * between[:, None] * between
        return GaussianState(self.mean + share * between, self.covariance + share * more)


class FilterStep(NamedTuple):
    """One prediction and correction, joint after joint, from which `hypotheses` follows the filter.

    decay: (n,), factor on the disturbance in the prediction.
    H: (n, K), measurement matrix of the correction, for the first K entries of the state.
    gain: (n, N), Kalman gain of each joint's innovation.
    innovation: (n,), N m, and variance: (n,), (N m)^2, its own.
    """

    decay: FloatArray
    H: FloatArray
    gain: FloatArray
    innovation: FloatArray
    variance: FloatArray


@compiled
def add_row(weight, row, total):
    """total += weight row."""
    for k in range(total.shape[0]):
        total[k] += weight * row[k]


@compiled
def correct_in_place(mean, covariance, H, y, variance, gain, innovation, innovation_variance):
    """Correct by y = H x + e, e of `variance` (n,), H (n, K) for the first K entries of x.

    The n rows are processed one after the other, which needs no matrix inverse since e is independent by joint. Each
    row leaves its gain (n, N), its innovation (n,) and the innovation's variance (n,).
    """
    (n, K), N = H.shape, mean.shape[0]
    for i in range(n):
        PH, nu, S = np.zeros(N), y[i], variance[i]
        for k in range(K):
            if H[i, k] != 0.0:
                nu -= H[i, k] * mean[k]
                add_row(H[i, k], covariance[k], PH)
        S += inner(H[i], PH)
        for r in range(N):
            gain[i, r] = PH[r] / S
            mean[r] += gain[i, r] * nu
            add_row(-gain[i, r], PH, covariance[r])
        innovation[i], innovation_variance[i] = nu, S


@compiled
def decay_in_place(mean, covariance, first, decay, variance):
    """x <- a x + w for the entries x from `first` on, with a = `decay` (m,) and var w = `variance` (m,), in place."""
    for i in range(decay.shape[0]):
        k = first + i
        mean[k] *= decay[i]
        for r in range(mean.shape[0]):
            covariance[k, r] *= decay[i]
            covariance[r, k] *= decay[i]
        covariance[k, k] += variance[i]


def predict(state: GaussianState, decay: FloatArray, sigma: FloatArray) -> GaussianState:
    """The state after d <- a d + w, with a = `decay` (n,) and var w = sigma^2 (1 - a^2), `sigma` (n,)."""
    state = state.copy()
    decay_in_place(state.mean, state.covariance, PARAMETERS, decay, sigma**2 * (1.0 - decay**2))
    return state


def correct(
    state: GaussianState, H: FloatArray, y: FloatArray, variance: FloatArray, decay: FloatArray
) -> tuple[GaussianState, FilterStep]:
    """The state given y (n,), N m, and the step that led to it; see `FilterStep`."""
    state, n = state.copy(), len(y)
    step = FilterStep(decay, H, np.empty((n, len(state.mean))), np.empty(n), np.empty(n))
    correct_in_place(state.mean, state.covariance, H, y, variance, step.gain, step.innovation, step.variance)
    return state, step


def fade(
    state: GaussianState, motion_time: float, memory_s: float, arm_memory_s: float, payload_std: FloatArray,
    errors: slice,
) -> GaussianState:  # fmt: skip
    """Let what is known of the payload and of the arm's errors fade for `motion_time` s of motion.

    What is carried may become something else, whatever is wrong with the arm: the payload's own covariance grows in
    proportion (fading memory) up to the prior's, and its covariance with the arm's errors does not. Its mean stays: a
    leak would draw what is carried for long to zero, and put errors of the arm in its place. The arm's errors, the
    entries `errors`, are Ornstein-Uhlenbeck processes: their means return, too, or what data hardly shows would leave
    its prior.
    """
    state, keep = state.copy(), np.full(errors.stop - errors.start, math.exp(-0.5 * motion_time / arm_memory_s))
    P = state.covariance
    room = np.maximum(1.0, payload_std**2 / state.variance[THETA])
    growth = np.sqrt(np.minimum(math.exp(motion_time / memory_s), room) - 1.0)
    P[THETA, THETA] += np.outer(growth, growth) * P[THETA, THETA]
    decay_in_place(state.mean, P, errors.start, keep, 1.0 - keep**2)
    return GaussianState(state.mean, 0.5 * (P + P.T))  # rounding in `correct` is not symmetric
