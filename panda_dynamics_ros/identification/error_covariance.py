# SPDX-License-Identifier: Apache-2.0
"""How wrong a regularised fit can be, where the torque's error is coloured.

    C = H^-1 ( sum_j w_j^2 A_j' R_j A_j  +  P ) H^-1,    R_j(t, t') = sigma_j^2 e^(-|t - t'| / tau_j)

H = sum_j w_j A_j' A_j + P, P = diag(1 / s_i^2) the prior's part (sandwich estimator; White, Econometrica 1980). R_j A_j
is a filter run forward and backward over the columns. H^-1 alone would be right for white errors and their weights.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import LinearModel
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.identification.weighted_fit import Quadratic
from panda_dynamics_ros.robot.limits import ResidualModel


def error_covariance(
    cost: Quadratic,
    model: LinearModel,
    samples: MotionSamples,
    residual: ResidualModel,
    weight: FloatArray,
    share: FloatArray,
    std: FloatArray,
) -> FloatArray:
    """(p, p), of the minimum of `cost`; zero for what does not change.

    Parameters
    ----------
    weight, share, std: (n,), (N, n) and (p,), of which `cost` was made.
    """
    free = cost.free
    middle = np.diag(1.0 / std[free] ** 2)
    for j in range(model.prior.n):
        A = weight[j] * share[:, j, None] * model.A[:, j][:, free]
        pole = float(np.exp(-samples.period / residual.correlation_time[j]))
        for block in np.unique(samples.block):
            rows = A[samples.block == block]
            middle += residual.std[j] ** 2 * rows.T @ _correlated(rows, pole)
    inverse = cost.covariance()
    return inverse[:, free] @ middle @ inverse[free]


def _correlated(rows: FloatArray, pole: float) -> FloatArray:
    """sum over t' of pole^|t - t'| times row t'."""
    forward = lfilter([1.0], [1.0, -pole], rows, axis=0)
    backward = lfilter([1.0], [1.0, -pole], rows[::-1], axis=0)[::-1]
    return np.asarray(forward + backward - rows)
