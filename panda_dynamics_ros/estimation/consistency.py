# SPDX-License-Identifier: Apache-2.0
"""The physically consistent body nearest to an estimate, in the metric of its information.

A body exists exactly if its pseudo-inertia J = [[Sigma, h], [h', m]] is positive definite (Wensing, Kim and
Slotine, RA-L 2018). Every such J is U U' with

    U = e^alpha [[A, c], [0, 1]],    A = [[e^d1, s12, s13], [0, e^d2, s23], [0, 0, e^d3]]

(Rucker and Wensing, RA-L 2022), so that m = e^(2 alpha) and c is the centre of mass. The nearest body is found
by Levenberg-Marquardt over (alpha, d, s, c), which has no constraint left, in

    |theta(phi) - theta|^2_L + sum_j w_j (phi_j - typical_j)^2,

where the small weights w only decide what the data leaves open (the CoM of no mass).
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.scratch import scratch, zeros
from panda_dynamics_ros.dynamics.kernels.small_matrices import factorise, invert, solve
from panda_dynamics_ros.dynamics.kernels.vectors import compiled

SIZE = 10
LEAST_MASS = 1e-3
"""kg: what is published as no payload."""

# alpha, d1..d3, s12, s13, s23, c1..c3: a body with radii of gyration of 3 cm, at the flange.
_TYPICAL = np.array([0.0, *[math.log(0.03)] * 3, *[0.0] * 6])
# One sigma each: sizes within a factor of e^10, shears of 30 cm, CoM within 15 cm. None on the mass.
_WEIGHT = 1.0 / np.array([math.inf, *[10.0] * 3, *[0.3] * 3, *[0.15] * 3]) ** 2


@compiled
def _body_of(phi, A, S, theta):
    """A (3, 3), the upper triangle over the scale; S = A A' + c c' (3, 3), and theta (10,), all in place."""
    A[:] = 0.0
    for i in range(3):
        A[i, i] = math.exp(phi[1 + i])
    A[0, 1], A[0, 2], A[1, 2] = phi[4], phi[5], phi[6]
    for i in range(3):
        for j in range(i, 3):
            total = phi[7 + i] * phi[7 + j]
            for k in range(j, 3):
                total += A[i, k] * A[j, k]
            S[i, j] = S[j, i] = total
    _vector_of(math.exp(2.0 * phi[0]), phi[7:], S, theta)


@compiled
def _vector_of(m, c, S, theta):
    """theta = m (1, c, tr(S) 1 - S), where m S is the second moment about the origin."""
    theta[0] = m
    trace, k = S[0, 0] + S[1, 1] + S[2, 2], 4
    for i in range(3):
        theta[1 + i] = m * c[i]
        for j in range(i, 3):
            theta[k] = m * ((trace if i == j else 0.0) - S[i, j])
            k += 1


@compiled
def _slope_of(phi, A, theta, slope):
    """d theta / d phi (10, 10), in rows of phi, in place: with a_k the columns of A, d(A A') = e_r a_k' + a_k e_r'."""
    m, nowhere, dS = theta[0], zeros(3), scratch((3, 3))
    for k in range(SIZE):
        slope[0, k] = 2.0 * theta[k]
    for p in range(1, SIZE):
        row, column = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))[p - 1]
        dS[:] = 0.0
        for i in range(3):
            entry = phi[7 + i] if column == 3 else A[i, column]
            if p < 4:
                entry *= A[row, row]  # d exp(d)
            dS[row, i] += entry
            dS[i, row] += entry
        _vector_of(m, nowhere, dS, slope[p])
        slope[p, 0] = 0.0
        if column == 3:
            slope[p, 1 + row] = m


@compiled
def _pulled(information, error, pull):
    """`pull` = information error, in place; returns error' information error."""
    cost = 0.0
    for i in range(SIZE):
        pull[i] = 0.0
        for k in range(SIZE):
            pull[i] += information[i, k] * error[k]
        cost += error[i] * pull[i]
    return cost


@compiled
def _cost(phi, target, information, typical, weight, A, S, theta, error, pull):
    _body_of(phi, A, S, theta)
    for k in range(SIZE):
        error[k] = theta[k] - target[k]
    cost = _pulled(information, error, pull)
    for k in range(SIZE):
        cost += weight[k] * (phi[k] - typical[k]) ** 2
    return cost


@compiled
def _nearest(phi, target, covariance, typical, weight, iterations, theta):
    """Levenberg-Marquardt from `phi`, which is left at the solution; `theta` (10,) is its vector."""
    A, S, error, pull = scratch((3, 3)), scratch((3, 3)), scratch(SIZE), scratch(SIZE)
    slope, half = scratch((SIZE, SIZE)), scratch((SIZE, SIZE))
    curvature, damped, gradient = scratch((SIZE, SIZE)), scratch((SIZE, SIZE)), scratch(SIZE)
    step, trial, information = scratch(SIZE), scratch(SIZE), scratch((SIZE, SIZE))
    for i in range(SIZE):
        for j in range(SIZE):
            damped[i, j] = covariance[i, j]
    invert(damped, information)
    damping = 1e-3
    cost = _cost(phi, target, information, typical, weight, A, S, theta, error, pull)
    for _ in range(iterations):
        _slope_of(phi, A, theta, slope)
        for i in range(SIZE):
            _pulled(information, slope[i], half[i])
            gradient[i] = weight[i] * (phi[i] - typical[i])
            for k in range(SIZE):
                gradient[i] += slope[i, k] * pull[k]
        for i in range(SIZE):
            for j in range(i + 1):
                total = weight[i] if i == j else 0.0
                for k in range(SIZE):
                    total += half[i, k] * slope[j, k]
                curvature[i, j] = curvature[j, i] = total
        improved = False
        for _ in range(8):
            for i in range(SIZE):
                step[i] = gradient[i]
                for j in range(SIZE):
                    damped[i, j] = curvature[i, j]
                damped[i, i] += damping * curvature[i, i] + 1e-9
            factorise(damped)
            solve(damped, step)
            # Steps of at most a factor e in size and mass keep the exponentials in their basin.
            longest = 1.0
            for i in range(SIZE):
                longest = max(longest, abs(step[i]))
            for i in range(SIZE):
                trial[i] = phi[i] - step[i] / longest
            trial_cost = _cost(trial, target, information, typical, weight, A, S, theta, error, pull)
            if trial_cost <= cost:
                improved = cost - trial_cost > 1e-6 * (1.0 + cost)
                for i in range(SIZE):
                    phi[i] = trial[i]
                cost = trial_cost
                damping = max(1e-9, damping * 0.2)
                break
            damping *= 8.0
        if not improved:
            break
    _body_of(phi, A, S, theta)


class ConsistentBody:
    """The nearest physically consistent body, warm-started from one call to the next."""

    def __init__(self) -> None:
        self._phi: FloatArray | None = None

    def nearest(self, vector: FloatArray, covariance: FloatArray, iterations: int = 30) -> FloatArray:
        """Inertial vector (10,) of the consistent body nearest to `vector` in the metric of its information.

        Parameters
        ----------
        vector: (10,), an unconstrained estimate.
        covariance: (10, 10), of it: the inverse of its information.
        """
        mass = max(float(vector[0]), LEAST_MASS)
        if self._phi is None or abs(math.exp(2.0 * self._phi[0]) - mass) > 0.5 * mass:
            self._phi = _TYPICAL.copy()
            self._phi[0] = 0.5 * math.log(mass)
            self._phi[7:] = np.minimum(np.maximum(vector[1:4] / max(mass, 0.1), -0.3), 0.3)
        theta = np.empty(SIZE)
        _nearest(self._phi, vector, covariance, _TYPICAL, _WEIGHT, iterations, theta)
        # Below the least mass the exponential would run to minus infinity for nothing.
        self._phi[0] = max(self._phi[0], 0.5 * math.log(LEAST_MASS))
        return theta
