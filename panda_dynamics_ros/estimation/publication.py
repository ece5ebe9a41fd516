# SPDX-License-Identifier: Apache-2.0
"""What is published: the filter's estimate, what the user knows of the payload, and a body that can exist.

A body exists exactly if its pseudo-inertia J = [[Sigma, h], [h', m]] is positive definite (Wensing, Kim and
Slotine, RA-L 2018). Every such J is U U' with

    U = e^alpha [[A, c], [0, 1]],    A = [[e^d1, s12, s13], [0, e^d2, s23], [0, 0, e^d3]]

(Rucker and Wensing, RA-L 2022), so that m = e^(2 alpha) and c is the centre of mass. The body nearest to an estimate,
in the metric of its information L, is found by Levenberg-Marquardt over phi = (alpha, d, s, c), free of constraints, in

    |theta(phi) - theta|^2_L + sum_j w_j (phi_j - typical_j)^2,

where the small weights w only decide what the data leaves open (the CoM of no mass).
"""

import math

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled, factorise, inner, solve
from panda_dynamics_ros.estimation.estimate import ChangeEvent, PayloadEstimate, com_covariance
from panda_dynamics_ros.estimation.options import EstimatorOptions, Shape, with_known_mass, with_known_shape
from panda_dynamics_ros.robot.inertial import PARAMETERS

LEAST_MASS = 1e-3  # kg: what is published as no payload
TYPICAL = np.array([0.0, *[math.log(0.03)] * 3, *[0.0] * 6])  # phi: radii of gyration of 3 cm, at the flange
WEIGHT = 1.0 / np.array([math.inf, *[10.0] * 3, *[0.3] * 3, *[0.15] * 3]) ** 2
"""One sigma each: sizes within a factor of e^10, shears of 30 cm, CoM within 15 cm. None on the mass."""
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # of U, that belong to d, s and c
BETTER, TRIES = 1e-6, 8  # share of the cost that a step has to gain; dampings that are tried for one step
COM, ORDER = slice(1, 4), np.repeat((0.0, 1.0, 2.0), (1, 3, 6))  # places of m c; powers of a length in each entry


@compiled
def vector_of(J, theta):
    """The inertial vector (10,) of a pseudo-inertia (4, 4), in which it is linear, in place."""
    trace, k = J[0, 0] + J[1, 1] + J[2, 2], 4
    theta[0] = J[3, 3]
    for i in range(3):
        theta[1 + i] = J[i, 3]
        for j in range(i, 3):
            theta[k] = (trace if i == j else 0.0) - J[i, j]
            k += 1


@compiled
def cost_of(phi, target, information, U, theta, pull):
    """What is minimised; U (4, 4), of which zeros stay, theta(phi) (10,) and `pull`, L (theta - target), in place."""
    scale, J, left, cost = math.exp(phi[0]), np.empty((4, 4)), np.empty(PARAMETERS), 0.0
    U[3, 3] = scale
    for p in range(1, PARAMETERS):
        r, c = ENTRIES[p - 1]
        U[r, c] = scale * (math.exp(phi[p]) if r == c else phi[p])
    for i in range(4):
        for j in range(4):
            J[i, j] = inner(U[i], U[j])
    vector_of(J, theta)
    for i in range(PARAMETERS):
        left[i] = theta[i] - target[i]
    for i in range(PARAMETERS):
        pull[i] = inner(information[i], left)
        cost += left[i] * pull[i] + WEIGHT[i] * (phi[i] - TYPICAL[i]) ** 2
    return cost


@compiled
def linearise(phi, information, U, theta, pull, gradient, curvature):
    """Half of the cost's gradient and of its second derivatives (Gauss-Newton), in place: dJ = dU U' + U dU'."""
    slope, half = np.empty((PARAMETERS, PARAMETERS)), np.empty(PARAMETERS)
    for k in range(PARAMETERS):
        slope[0, k] = 2.0 * theta[k]
    for p in range(1, PARAMETERS):
        (r, c), dJ = ENTRIES[p - 1], np.zeros((4, 4))
        for i in range(4):
            change = U[i, c] * (U[r, r] if r == c else U[3, 3])
            dJ[r, i] += change
            dJ[i, r] += change
        vector_of(dJ, slope[p])
    for p in range(PARAMETERS):
        gradient[p] = WEIGHT[p] * (phi[p] - TYPICAL[p]) + inner(slope[p], pull)
        for i in range(PARAMETERS):
            half[i] = inner(information[i], slope[p])
        for j in range(p + 1):
            curvature[p, j] = curvature[j, p] = inner(half, slope[j]) + (WEIGHT[p] if p == j else 0.0)


@compiled
def nearest_body(phi, target, information, iterations, theta):
    """Levenberg-Marquardt from `phi`, which is left at the solution; `theta` (10,) is its vector."""
    curvature, gradient = np.empty((PARAMETERS, PARAMETERS)), np.empty(PARAMETERS)
    U, trial, pull = np.zeros((4, 4)), np.empty(PARAMETERS), np.empty(PARAMETERS)
    damping, cost = 1e-3, cost_of(phi, target, information, U, theta, pull)
    for _ in range(iterations):
        linearise(phi, information, U, theta, pull, gradient, curvature)
        gain = 0.0
        for _ in range(TRIES):
            damped, step, longest = curvature.copy(), gradient.copy(), 1.0
            for i in range(PARAMETERS):
                damped[i, i] += damping * curvature[i, i] + 1e-9
            factorise(damped)
            solve(damped, step)
            # Steps of at most a factor e in size and mass keep the exponentials in their basin.
            for entry in step:
                longest = max(longest, abs(entry))
            for i in range(PARAMETERS):
                trial[i] = phi[i] - step[i] / longest
            gain = cost - cost_of(trial, target, information, U, theta, pull)
            if gain >= 0.0:
                for i in range(PARAMETERS):
                    phi[i] = trial[i]
                cost -= gain
                damping = max(1e-9, damping * 0.2)
                break
            damping *= 8.0
        if not gain > BETTER * (1.0 + cost + gain):
            break
    cost_of(phi, target, information, U, theta, pull)


class ConsistentBody:
    """The nearest physically consistent body, warm-started from one call to the next."""

    def __init__(self) -> None:
        self._phi: FloatArray | None = None

    def nearest(self, vector: FloatArray, information: FloatArray, iterations: int = 30) -> FloatArray:
        """Inertial vector (10,) of the consistent body nearest to `vector` in the metric of its information.

        vector: (10,), an unconstrained estimate. information: (10, 10), the inverse of its covariance.
        """
        mass = max(float(vector[0]), LEAST_MASS)
        if self._phi is None or abs(math.exp(2.0 * self._phi[0]) - mass) > 0.5 * mass:
            self._phi = TYPICAL.copy()
            self._phi[0] = 0.5 * math.log(mass)
            self._phi[7:] = np.minimum(np.maximum(vector[COM] / max(mass, 0.1), -0.3), 0.3)
        theta = np.empty(PARAMETERS)
        nearest_body(self._phi, vector, information, iterations, theta)
        # Below the least mass the exponential would run to minus infinity for nothing.
        self._phi[0] = max(self._phi[0], 0.5 * math.log(LEAST_MASS))
        return theta


def published_estimate(
    mean: FloatArray, covariance: FloatArray, options: EstimatorOptions, shape: Shape | None,
    body: ConsistentBody | None = None, *, stamp: float, status: str, event: ChangeEvent | None = None,
    problem: str = "",
) -> PayloadEstimate:  # fmt: skip
    """The estimate to publish for a mean (10,) and covariance (10, 10) of the inertial vector about the flange origin.

    `body` searches for the nearest physically consistent body; the same object for the same payload starts near it.
    """
    mean, covariance = with_known_mass(mean, covariance, options.known_mass)
    # A person who guides the arm, or an arm lighter than its model, makes a mean of less than the published zero.
    below = mean * min(1.0, max(0.0, -float(mean[0])) / math.sqrt(covariance[0, 0]))
    covariance = covariance + np.outer(below, below)
    vector = mean
    if mean.any():  # before the first sample it is nothing
        information = np.asarray(np.linalg.inv(covariance))
        vector = (body or ConsistentBody()).nearest(mean, information)
        misfit = vector - mean  # Birge's ratio: where no body has what the torques show, they are not known so well
        covariance *= max(1.0, float(misfit @ information @ misfit) / PARAMETERS)
    # The body weighs no more than the heaviest, if need be at less density.
    share = min(1.0, options.max_mass / max(vector[0], LEAST_MASS))
    covariance[0, 0] += float((1.0 - share) * vector[0]) ** 2
    vector = share * vector
    if shape is not None and mean.any():
        vector, covariance = with_known_shape(vector, covariance, shape)
    flags = identifiable(vector, covariance, options)
    return PayloadEstimate(stamp, checks.read_only(vector), checks.read_only(covariance), flags, status, event, problem)


def identifiable(vector: FloatArray, covariance: FloatArray, options: EstimatorOptions) -> np.ndarray:
    """Which of the ten parameters (10 booleans) the data has narrowed to a third of those of a body at `com_std`.

    For the first moments m c that is asked of the centre of mass, which is what is shown: a light payload has a small
    m c wherever its centre of mass is. The covariance leaves offsets and the arm's other errors free.
    """
    variance, mass = covariance.diagonal(), float(vector[0])
    flags = variance < (options.mass_std * options.com_std**ORDER / 3.0) ** 2
    if mass**2 < variance[0]:
        flags[COM] = False
    else:
        flags[COM] &= com_covariance(mass, vector[COM] / mass, covariance).diagonal() < (options.com_std / 3.0) ** 2
    return flags
