# SPDX-License-Identifier: Apache-2.0
"""The physically consistent body nearest to an estimate, in the metric of its information.

A body exists exactly if its pseudo-inertia J = [[Sigma, h], [h', m]] is positive definite (Wensing, Kim and
Slotine, RA-L 2018). Every such J is U U' with

    U = e^alpha [[e^d1, s12, s13, c1], [0, e^d2, s23, c2], [0, 0, e^d3, c3], [0, 0, 0, 1]]

(Rucker and Wensing, RA-L 2022), so that m = e^(2 alpha) and c is the centre of mass. The nearest body is found
by Levenberg-Marquardt over (alpha, d, s, c), which has no constraint left, in

    |theta(phi) - theta|^2_L + sum_j w_j (phi_j - typical_j)^2,

where the small weights w only decide what the data leaves open (the CoM of no mass).
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.vectors import compiled

SIZE = 10
LEAST_MASS = 1e-3
"""kg: what is published as no payload."""

# alpha, d1..d3, s12, s13, s23, c1..c3: a body with radii of gyration of 3 cm, at the flange.
_TYPICAL = np.array([0.0, *[math.log(0.03)] * 3, *[0.0] * 6])
# One sigma each: sizes within a factor of e^10, shears of 30 cm, CoM within 15 cm. None on the mass.
_WEIGHT = 1.0 / np.array([math.inf, *[10.0] * 3, *[0.3] * 3, *[0.15] * 3]) ** 2


@compiled
def _factor(phi, U):
    U[:] = 0.0
    for i in range(3):
        U[i, i] = math.exp(phi[1 + i])
        U[i, 3] = phi[7 + i]
    U[0, 1], U[0, 2], U[1, 2], U[3, 3] = phi[4], phi[5], phi[6], 1.0
    U *= math.exp(phi[0])


@compiled
def _vector_of(J, theta):
    """Inertial vector of a pseudo-inertia: I = tr(Sigma) 1 - Sigma."""
    trace = J[0, 0] + J[1, 1] + J[2, 2]
    theta[0] = J[3, 3]
    k = 4
    for i in range(3):
        theta[1 + i] = J[i, 3]
        for j in range(i, 3):
            theta[k] = (trace if i == j else 0.0) - J[i, j]
            k += 1


@compiled
def _body_and_slope(phi, theta, slope):
    """theta (10,) of phi, and d theta / d phi (10, 10)."""
    U, dU = np.empty((4, 4)), np.empty((4, 4))
    _factor(phi, U)
    _vector_of(U @ U.T, theta)
    scale = math.exp(phi[0])
    column = np.empty(SIZE)
    for j in range(SIZE):
        dU[:] = 0.0
        if j == 0:
            dU[:] = U
        elif j < 4:
            dU[j - 1, j - 1] = U[j - 1, j - 1]
        elif j < 7:
            dU[(0, 0, 1)[j - 4], (1, 2, 2)[j - 4]] = scale
        else:
            dU[j - 7, 3] = scale
        half = dU @ U.T
        _vector_of(half + half.T, column)
        slope[:, j] = column


@compiled
def _cost(phi, target, information, typical, weight, theta):
    U = np.empty((4, 4))
    _factor(phi, U)
    _vector_of(U @ U.T, theta)
    error = theta - target
    away = phi - typical
    return error @ (information @ error) + np.sum(weight * away * away)


@compiled
def _nearest(phi, target, information, typical, weight, iterations):
    """Levenberg-Marquardt from `phi`, which is left at the solution; returns theta."""
    theta, slope = np.empty(SIZE), np.empty((SIZE, SIZE))
    damping = 1e-3
    cost = _cost(phi, target, information, typical, weight, theta)
    for _ in range(iterations):
        _body_and_slope(phi, theta, slope)
        curvature = slope.T @ (information @ slope) + np.diag(weight)
        gradient = slope.T @ (information @ (theta - target)) + weight * (phi - typical)
        improved = False
        for _ in range(8):
            damped = curvature + np.diag(damping * np.diag(curvature) + 1e-9)
            step = np.linalg.solve(damped, gradient)
            # Steps of at most a factor e in size and mass keep the exponentials in their basin.
            trial = phi - step / max(1.0, np.abs(step).max())
            trial_cost = _cost(trial, target, information, typical, weight, theta)
            if trial_cost <= cost:
                improved = cost - trial_cost > 1e-6 * (1.0 + cost)
                phi[:], cost = trial, trial_cost
                damping = max(1e-9, damping * 0.2)
                break
            damping *= 8.0
        if not improved:
            break
    _cost(phi, target, information, typical, weight, theta)
    return theta


class ConsistentBody:
    """The nearest physically consistent body, warm-started from one call to the next."""

    def __init__(self) -> None:
        self._phi: FloatArray | None = None

    def nearest(self, vector: FloatArray, information: FloatArray, iterations: int = 30) -> FloatArray:
        """Inertial vector (10,) of the consistent body nearest to `vector` in the metric of `information`.

        Parameters
        ----------
        vector: (10,), an unconstrained estimate.
        information: (10, 10), the inverse of its covariance.
        """
        mass = max(float(vector[0]), LEAST_MASS)
        if self._phi is None or abs(math.exp(2.0 * self._phi[0]) - mass) > 0.5 * mass:
            self._phi = _TYPICAL.copy()
            self._phi[0] = 0.5 * math.log(mass)
            self._phi[7:] = np.clip(vector[1:4] / max(mass, 0.1), -0.3, 0.3)
        theta = _nearest(self._phi, vector, information, _TYPICAL, _WEIGHT, iterations)
        # Below the least mass the exponential would run to minus infinity for nothing.
        self._phi[0] = max(self._phi[0], 0.5 * math.log(LEAST_MASS))
        return theta
