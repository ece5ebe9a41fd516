# SPDX-License-Identifier: Apache-2.0
"""How much this arm differs from its model, group by group: the scale of the prior of its errors, learnt from them.

The filter runs with a wide prior of the errors, phi ~ N(0, 1). That the prior of a group is N(0, s^2) instead is one more
measurement of each of its entries, of zero with variance D = s^2 / (1 - s^2). So one filter has the estimate for any scales:

    K = P_theta,phi (P_phi + D)^-1,    theta <- theta - K phi,    P_theta <- P_theta - K P_phi,theta.

The scales follow by expectation maximisation, with `CERTAINTY` entries' worth of belief that arms are alike:

    s_g^2 = (CERTAINTY FAMILIAR^2 + sum over the group of (E[phi]^2 + var phi)) / (CERTAINTY + entries of the group)

(automatic relevance determination, MacKay 1994; Neal 1996). An arm like its model keeps small scales and narrow intervals;
one that is unlike shows it, and widens its own.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.payload.kalman_filter import GaussianState
from panda_dynamics_ros.robot.inertial import PARAMETERS

FAMILIAR, CERTAINTY = 0.2, 3.0
WIDEST = 0.99
"""Scale at which a group is left as the filter has it."""


class Familiarity:
    """Scales of the groups of one arm's errors, and the payload's estimate given them.

    Parameters
    ----------
    groups: (m,), number of the group that each error belongs to.

    Attributes
    ----------
    scale: (groups,), standard deviation of each group's prior, in units of the filter's.
    mean, variance: (m,), of the errors.
    """

    def __init__(self, groups: np.ndarray) -> None:
        self._groups, self._count = groups, np.bincount(groups)
        self.restart()

    def restart(self) -> None:
        """An arm of which nothing is known but that it is one like its model."""
        size = len(self._groups)
        self.scale = np.full(len(self._count), FAMILIAR)
        self.mean, self.variance = np.zeros(size), self.scale[self._groups] ** 2
        self._K, self._square = np.zeros((PARAMETERS, size)), np.zeros((PARAMETERS, PARAMETERS))

    def update(self, state: GaussianState, learns: bool = True) -> None:
        """Narrow what a state says; `learns`: and follow with the scales."""
        size = len(self._groups)
        P = state.covariance[-size:, -size:]
        squared = np.minimum(self.scale[self._groups], WIDEST) ** 2
        total = P + np.diag(squared / (1.0 - squared))
        known = np.vstack((state.covariance[:PARAMETERS, -size:], P))
        gains = np.linalg.solve(total, known.T).T
        self._K, G = gains[:PARAMETERS], gains[PARAMETERS:]
        self._square = self._K @ total @ self._K.T
        phi = state.mean[-size:]
        self.mean = phi - G @ phi
        self.variance = np.maximum(np.diagonal(P) - np.sum(G * P, axis=1), 0.0)
        if learns:
            seen = np.bincount(self._groups, self.mean**2 + self.variance)
            self.scale = np.sqrt((CERTAINTY * FAMILIAR**2 + seen) / (CERTAINTY + self._count))

    def payload(self, state: GaussianState) -> tuple[FloatArray, FloatArray]:
        """Mean (10,) and covariance (10, 10) of the payload in a state, by the gain of the last `update`."""
        size, theta = len(self._groups), slice(0, PARAMETERS)
        shared = self._K @ state.covariance[-size:, theta]
        # For any gain, not only the best one (Joseph's form).
        covariance = state.covariance[theta, theta] - shared - shared.T + self._square
        return state.mean[theta] - self._K @ state.mean[-size:], 0.5 * (covariance + covariance.T)
