# SPDX-License-Identifier: Apache-2.0
"""The body that explains the torques of a contact that does not end.

If something is carried, the torques that it adds are -Y x of a body x (10,) at the flange, Y being the payload
regressor. Regularised least squares over all samples of the contact gives

    x = argmin  sum_k dt / (2 tau sigma^2) |e_k + Y_k x|^2  +  |x / s|^2,

with s the payload estimator's prior. A sample has the weight dt / (2 tau), since neighbouring samples share the error
of the residual. This estimate is not published (`PayloadEstimator` is for that): it only predicts how these torques
continue as the arm moves.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot import ResidualModel


@compiled
def add_sample(Y, e, weight, information, moment):
    """Y' W Y and -Y' W e of one sample, in place; Y (n, 10), e and weight (n,)."""
    for i in range(e.shape[0]):
        for a in range(Y.shape[1]):
            weighted = weight[i] * Y[i, a]
            moment[a] -= weighted * e[i]
            for b in range(Y.shape[1]):
                information[a, b] += weighted * Y[i, b]


class SustainedLoad:
    """Fits a body to one contact after the other.

    Parameters
    ----------
    residual: the arm's residual model.
    """

    def __init__(self, residual: ResidualModel) -> None:
        self._weight = 0.5 / (residual.correlation_time * residual.std**2)
        self._information, self._moment = np.zeros((10, 10)), np.zeros(10)

    def start(self) -> None:
        """Start with a new contact."""
        self._information[:] = np.diag(EstimatorOptions().prior_std ** -2.0)
        self._moment[:] = 0.0

    def add(self, dt: float, regressor: FloatArray, torques: FloatArray) -> None:
        """Add `torques` (n,), N m, of the contact for `dt` s, with the payload regressor (n, 10) of that posture."""
        add_sample(regressor, torques, dt * self._weight, self._information, self._moment)

    @property
    def vector(self) -> FloatArray:
        """(10,): the inertial vector that explains the torques so far."""
        load: FloatArray = np.asarray(np.linalg.solve(self._information, self._moment), dtype=np.float64)
        return load
