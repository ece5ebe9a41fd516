# SPDX-License-Identifier: Apache-2.0
"""Torques that a robot's residual map predicts beside its model: see `robot.residual_map` for the equations."""

import math

import numpy as np

from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.robot.residual_map import POSTURE, SPEED, TURN

FAR = 18.0  # square distance beyond which a point does not count: k is a tenth of a thousandth there


@compiled
def point_covariance(points, q, dq, s, x, k):
    """k (M,) between a state and the inducing points, in place; x (3 n,): workspace for its coordinates."""
    n = q.shape[0]
    for i in range(n):
        x[i], x[n + i], x[2 * n + i] = q[i] / POSTURE, TURN * s[i], dq[i] / SPEED
    for m in range(points.shape[0]):
        point, square = points[m], 0.0
        for c in range(3 * n):
            square += (x[c] - point[c]) ** 2
        k[m] = math.exp(-0.5 * square) if square < FAR else 0.0


@compiled
def residual_sample(k, transform, weights, reduction, mean, unexplained):
    """The map's mean (n,) and the share of the prior's variance that is left (n,), in place; k (M,) of the state."""
    n, kept = mean.shape[0], transform.shape[1]
    v = np.zeros(kept)
    for m in range(k.shape[0]):
        if k[m] != 0.0:
            weight, row = k[m], transform[m]
            for i in range(kept):
                v[i] += weight * row[i]
    for j in range(n):
        mean[j], unexplained[j] = 0.0, 1.0
    for i in range(kept):
        square = v[i] * v[i]
        for j in range(n):
            mean[j] += v[i] * weights[i, j]
            unexplained[j] -= square * reduction[i, j]
    for j in range(n):
        unexplained[j] = max(unexplained[j], 0.0)
