# SPDX-License-Identifier: Apache-2.0
"""How much an arm differs from its model, error by error: scales of the errors' prior, learnt from them.

The filter runs with a wide prior of the errors, phi ~ N(0, 1). A prior N(0, s^2) of an error instead is one more
measurement of it, of zero with variance D = s^2 / (1 - s^2). So one filter has the estimate for any scales:

    K = P_theta,phi (P_phi + D)^-1,    theta <- theta - K phi,    P_theta <- P_theta - K P_phi,theta.

The scales follow by expectation maximisation, s^2 = (s_0^2 + E[phi]^2 + var phi) / 2, where s_0 is how far arms of one
type differ (automatic relevance determination: MacKay 1994; Neal 1996). An arm like its model keeps small scales and
narrow intervals. One that is unlike shows it, error by error, and those scales grow.

A gain g that all torques have in common is no state of the filter, because links that are all heavier look nearly the
same. What it makes of the state's mean is known, c for one sigma (`GaussianState`). Hence the learnt errors say how
large it may be: phi = c g + what the arm's other errors are, N(0, s^2), with a wide prior of g itself (`CommonGain`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.payload.glr_signatures import MOMENTS
from panda_dynamics_ros.estimation.payload.kalman_filter import GaussianState
from panda_dynamics_ros.kernels.scratch import zeros
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS

WIDEST = 0.99
"""Largest scale: there the errors are as the filter has them."""
USUAL_GAIN, WIDEST_GAIN = 1.2, 4.0
"""Scales of the common gain, in units of its one sigma of 1.5 %: of an arm like others, and the largest."""
CERTAIN = 2.0
"""Standard deviations at which a mass counts as above zero, and a centre of mass as behind the flange."""
UNLIKELY = 9.5
"""Chi-square of four degrees of freedom that one of twenty exceeds."""


@compiled
def payload_given(K, square, mean, covariance, theta, P):
    """Mean `theta` (10,) and covariance P (10, 10) of the payload in a state, from the gain K (10, m), in place.

    Joseph's form, which holds for a gain that is not quite the state's own; `square` is K (P_phi + D) K'.
    """
    size = K.shape[1]
    phi, shared = mean.shape[0] - size, zeros((PARAMETERS, PARAMETERS))
    for r in range(PARAMETERS):
        theta[r] = mean[r]
        for k in range(size):
            theta[r] -= K[r, k] * mean[phi + k]
            for c in range(PARAMETERS):
                shared[r, c] += K[r, k] * covariance[phi + k, c]
    for r in range(PARAMETERS):
        for c in range(r + 1):
            both = covariance[r, c] + covariance[c, r] + square[r, c] + square[c, r]
            P[r, c] = P[c, r] = 0.5 * both - shared[r, c] - shared[c, r]


class CommonGain(NamedTuple):
    """Mean and variance of a gain that all torques have in common, in units of one sigma of it."""

    mean: float = 0.0
    variance: float = WIDEST_GAIN**2

    @classmethod
    def given(cls, moment: float, information: float, scale: float) -> CommonGain:
        """From a measurement, as its information and that times its value, and the scale of the prior."""
        variance = 1.0 / (information + scale**-2)
        return cls(variance * moment, variance)

    @classmethod
    def probable(cls, moment: float, information: float) -> CommonGain:
        """The same with the scale that expectation maximisation finds, by s^2 = (s_0^2 + E[g]^2 + var g) / 2."""
        gain = cls.given(moment, information, USUAL_GAIN)
        for _ in range(20):
            gain = cls.given(moment, information, min(math.sqrt(0.5 * (USUAL_GAIN**2 + gain.size**2)), WIDEST_GAIN))
        return gain

    @property
    def size(self) -> float:
        """How large it is, RMS."""
        return math.sqrt(self.mean**2 + self.variance)

    def explains(self, common: FloatArray, payload: FloatArray, covariance: FloatArray) -> bool:
        """Whether nothing is carried where this `payload` (10,) of this `covariance` (10, 10) is estimated.

        common: (10,), what one sigma of the gain makes of it. Links that are heavier than modelled, or torques that are
        larger, look like a mass behind the flange. Therefore mass and centre of mass decide together; a mass that is
        certainly above zero is a payload, unless it is certainly behind the flange.
        """
        moments, z = slice(0, MOMENTS), MOMENTS - 1
        c, P = common[moments], covariance[moments, moments]
        is_certain = payload[0] > CERTAIN * math.sqrt(P[0, 0] + (self.size * c[0]) ** 2)
        if is_certain and payload[z] > -CERTAIN * math.sqrt(P[z, z]):
            return False
        left = payload[moments] - self.mean * c
        return bool(left @ np.linalg.solve(P + self.variance * np.outer(c, c), left) < UNLIKELY)


class Familiarity:
    """Scales of one arm's errors, and the payload's estimate given them.

    Parameters
    ----------
    usual: (m,), scale s_0 of each error.

    Attributes
    ----------
    scale: (m,), s. mean, variance: (m,), of the errors given the scales.
    gain: that all torques have in common; possible_gain: the same with a wide prior, to ask what it may explain.
    """

    def __init__(self, usual: FloatArray) -> None:
        self._usual = usual
        self.restart()

    def restart(self) -> None:
        """Return to an arm like others of its type."""
        size = len(self._usual)
        self.scale = np.minimum(self._usual, WIDEST)
        self.mean, self.variance = np.zeros(size), self.scale**2
        self._K, self._square = np.zeros((PARAMETERS, size)), np.zeros((PARAMETERS, PARAMETERS))
        self.gain, self.possible_gain = CommonGain(0.0, USUAL_GAIN**2), CommonGain()

    def update(self, state: GaussianState, learns: bool = True) -> None:
        """Follow a state of the filter; with `learns` the scales follow, too."""
        size = len(self.scale)
        C, phi = state.covariance[:PARAMETERS, -size:], state.mean[-size:]
        D = self.scale**2 / (1.0 - self.scale**2)
        W = np.linalg.inv(state.covariance[-size:, -size:] + np.diag(D))
        self._K = C @ W
        self._square = self._K @ C.T
        # P_phi W = 1 - D W.
        self.mean = D * (W @ phi)
        self.variance = np.maximum(D - D**2 * W.diagonal(), 0.0)
        c = D * (W @ state.common[-size:]) / self.scale
        seen = float(c @ (self.mean / self.scale)), float(c @ c)
        self.gain, self.possible_gain = CommonGain.probable(*seen), CommonGain.given(*seen, WIDEST_GAIN)
        if learns:
            self.scale = np.minimum(np.sqrt(0.5 * (self._usual**2 + self.mean**2 + self.variance)), WIDEST)

    def payload(self, state: GaussianState) -> tuple[FloatArray, FloatArray]:
        """Mean (10,) and covariance (10, 10) of the payload in a state, with the gain K of the last `update`."""
        mean, covariance = np.empty(PARAMETERS), np.empty((PARAMETERS, PARAMETERS))
        payload_given(self._K, self._square, state.mean, state.covariance, mean, covariance)
        return mean, covariance

    def common(self, state: GaussianState) -> FloatArray:
        """(10,), what a common gain makes of the payload's mean (`GaussianState`)."""
        return state.common[:PARAMETERS] - self._K @ state.common[-len(self.scale) :]

    def errors_given(self, state: GaussianState, payload: FloatArray) -> FloatArray:
        """(m,), mean of the errors given that the payload is exactly this (10,), as if the rest were the arm's."""
        size = len(self.scale)
        P, cross = state.covariance[-size:, -size:], state.covariance[-size:, :PARAMETERS]
        total = P + np.diag(self.scale**2 / (1.0 - self.scale**2))
        cross = cross - P @ np.linalg.solve(total, cross)
        mean, covariance = self.payload(state)
        errors: FloatArray = self.mean + cross @ np.linalg.solve(covariance, payload - mean)
        return errors
