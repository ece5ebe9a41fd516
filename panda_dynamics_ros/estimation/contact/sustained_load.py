# SPDX-License-Identifier: Apache-2.0
"""What a contact that does not end would log_bayes_factors, if it were carried.

While it lasts, the torques that it adds are -Y x of a body x (10,) at the flange, Y being the payload regressor: by
least squares over all of its samples, toward nothing,

    x = argmin  sum_k dt / (2 tau sigma^2) |e_k + Y_k x|^2  +  |x / s|^2,

s being the payload estimator's prior. A sample counts as dt / (2 tau) of one, since neighbours share the residual's
error. It is no estimate to publish (that is `PayloadEstimator`): it only has to say how these torques go on as the arm
moves.
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
    """Sums up one contact after the other.

    Parameters
    ----------
    residual: the arm's residual model.
    """

    def __init__(self, residual: ResidualModel) -> None:
        self._weight = 0.5 / (residual.correlation_time * residual.std**2)
        self._information, self._moment = np.zeros((10, 10)), np.zeros(10)

    def start(self) -> None:
        """A contact begins."""
        self._information[:] = np.diag(EstimatorOptions().prior_std ** -2.0)
        self._moment[:] = 0.0

    def add(self, dt: float, regressor: FloatArray, torques: FloatArray) -> None:
        """`torques` (n,), N m, that it adds for `dt` s, and the payload regressor (n, 10) in that posture."""
        add_sample(regressor, torques, dt * self._weight, self._information, self._moment)

    @property
    def vector(self) -> FloatArray:
        """(10,): the inertial vector that explains the torques so far."""
        load: FloatArray = np.asarray(np.linalg.solve(self._information, self._moment), dtype=np.float64)
        return load
