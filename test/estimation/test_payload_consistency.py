# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.optimize import minimize

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation.publication import ConsistentBody

BODY = InertialParameters(1.2, np.array([0.03, -0.02, 0.08]), np.diag([0.003, 0.004, 0.002]))
COVARIANCE = np.diag(np.array([0.03, *[0.006] * 3, *[0.002] * 6]) ** 2)
INFORMATION = np.diag(1.0 / np.diag(COVARIANCE))


def pseudo_inertia_smallest(vector):
    return np.linalg.eigvalsh(InertialParameters.from_vector(vector).pseudo_inertia)[0]


def test_a_consistent_estimate_stays():
    found = ConsistentBody().nearest(BODY.vector, COVARIANCE)
    # The weights on what the data leaves open are worth a tenth of a sigma.
    np.testing.assert_allclose((found - BODY.vector) * np.sqrt(np.diag(INFORMATION)), 0.0, atol=0.1)


def cholesky_factor(x):
    L = np.zeros((4, 4))
    L[np.tril_indices(4)] = x
    return L


def test_nearest_is_what_a_general_optimiser_finds():
    """Oracle: SLSQP over a Cholesky factor, another parametrisation, with no regularisation."""
    target = BODY.vector.copy()
    target[4:] -= np.array([0.02, 0.0, 0.0, 0.01, 0.0, 0.015])  # an impossible inertia

    def vector_of(J):
        inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        return np.concatenate(([J[3, 3]], J[:3, 3], inertia[np.triu_indices(3)]))

    def cost(x):
        L = cholesky_factor(x)
        error = vector_of(L @ L.T) - target
        return error @ INFORMATION @ error

    start = np.linalg.cholesky(BODY.pseudo_inertia)[np.tril_indices(4)]
    best = minimize(cost, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    found = ConsistentBody().nearest(target, COVARIANCE, iterations=200)
    error = found - target
    assert pseudo_inertia_smallest(found) > 0.0
    # The optimum lies on the cone's boundary, where the weak preference for sizes keeps ours just inside.
    assert error @ INFORMATION @ error <= best.fun * 1.05 + 0.2
    assert found[0] == pytest.approx(target[0], abs=0.03)


@pytest.mark.parametrize("seed", range(30))
def test_any_estimate_becomes_a_body(seed):
    rng = np.random.default_rng(seed)
    spread = np.array([1.5, *[0.15] * 3, *[0.02] * 6])
    square = rng.normal(size=(10, 10))
    covariance = (square @ square.T + np.eye(10)) * np.outer(spread, spread) / 20.0
    target = rng.normal(size=10) * spread
    found = ConsistentBody().nearest(target, covariance)
    assert np.isfinite(found).all()

    def cost(vector):
        return (vector - target) @ np.linalg.solve(covariance, vector - target)

    # At most as far from the estimate as nothing is, but for the weak preference for sizes.
    assert cost(found) <= cost(np.zeros(10)) + 0.2
    # Strictly inside in exact arithmetic; from_vector subtracts m c^2, which costs some digits of 1e-16.
    assert pseudo_inertia_smallest(found) > -1e-12


def test_no_payload_is_published_as_almost_nothing():
    target = np.array([-0.05, 0.001, 0.0, -0.002, *[0.0] * 6])
    found = ConsistentBody().nearest(target, COVARIANCE)
    assert 0.0 < found[0] < 0.02


def test_warm_start_does_not_change_the_answer():
    body = ConsistentBody()
    target = BODY.vector * np.array([1.0, *[1.0] * 3, *[0.2] * 6])
    first = body.nearest(target, COVARIANCE, iterations=200)
    for _ in range(5):
        again = body.nearest(target, COVARIANCE, iterations=200)
    std = 1.0 / np.sqrt(np.diag(INFORMATION))
    # On the cone's boundary the logarithms creep: the search stops when a step gains a millionth of the cost.
    np.testing.assert_allclose((again - first) / std, 0.0, atol=0.05)
