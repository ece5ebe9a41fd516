# SPDX-License-Identifier: Apache-2.0
"""What an estimate says of itself: deviations, margins, whether something is carried; the body, and options."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from panda_dynamics_ros import InertialParameters, PandaDynamicsError
from panda_dynamics_ros.estimation import ContactOptions, EstimatorOptions, PayloadEstimate
from panda_dynamics_ros.estimation.publication import ConsistentBody, published_estimate
from panda_dynamics_ros.reporting.console import payload_rows
from panda_dynamics_ros.reporting.summary import payload_entry
from panda_dynamics_ros.robot.inertial import UNIT_PSEUDO_INERTIAS, six_from_symmetric

COM = np.array([0.02, -0.015, 0.06])


def estimate_of(mass: float, mass_std: float, com_std: float = 0.005) -> PayloadEstimate:
    body = InertialParameters(mass, COM, 0.002 * np.eye(3))
    deviations = [mass_std, *[com_std * max(mass, 0.1)] * 3, *[1e-3] * 6]
    return PayloadEstimate(0.0, body.vector, np.diag(np.square(deviations)), np.ones(10, dtype=bool), "estimating")


@pytest.mark.parametrize(
    ("mass", "mass_std", "carried"),
    [(1.0, 0.02, True), (0.2, 0.02, True), (0.105, 0.025, False), (1, 0.6, False), (0.04, 1e-3, False), (0, 0, False)],
)
def test_something_is_carried_where_the_interval_says_so(mass, mass_std, carried):
    """0.105 +- 0.025 kg is what the error of a published model looks like on an empty arm."""
    assert estimate_of(mass, mass_std).is_carried is carried


def test_the_centre_of_mass_is_known_within_a_decimetre_of_a_payload():
    assert np.isinf([*estimate_of(0.0, 0.0).com_std, *estimate_of(0.0, 0.0).inertia_std]).all()
    assert estimate_of(1.0, 0.02, com_std=0.045).com_is_known
    assert not estimate_of(1.0, 0.02, com_std=0.055).com_is_known  # 1.96 * 0.055 = 0.108 m
    assert not estimate_of(0.05, 1e-4, com_std=0.001).com_is_known
    assert not estimate_of(0.0, 0.01).com_is_known


def test_the_inertia_deviates_as_that_of_samples(rng):
    """200,000 payloads drawn from the covariance: 0.3 % of sampling (5 sigma: 0.8 %), and the second order."""
    root = 1e-3 * rng.normal(size=(10, 10))
    vector = InertialParameters(2.0, COM, 0.05 * np.eye(3)).vector
    estimate = PayloadEstimate(0.0, vector, root @ root.T, np.ones(10, dtype=bool), "estimating")
    m, h, six = np.split(rng.multivariate_normal(vector, estimate.covariance, 200_000), [1, 4], axis=1)
    outer = h[:, :, None] * h[:, None, :] / m[:, :, None]
    parallel = np.einsum("kii->k", outer)[:, None, None] * np.eye(3) - outer
    sampled = six - np.array([six_from_symmetric(each) for each in parallel])
    np.testing.assert_allclose(estimate.inertia_std, sampled.std(axis=0), rtol=0.01)


@pytest.mark.parametrize(("options", "name"), [(EstimatorOptions, "max_gap_s"), (ContactOptions, "longest_s")])
def test_bad_options_are_refused_by_name(options, name):
    for value, got in ((0.0, "a positive number, got 0"), (-1.0, "a positive number, got -1")):
        with pytest.raises(PandaDynamicsError, match=f"^{name}: expected {got}$"):
            options.of({name: value})
    with pytest.raises(PandaDynamicsError, match=f"^{name}: expected finite numbers, got nan$"):
        options.of({name: np.nan})
    with pytest.raises(PandaDynamicsError, match=f"^options: expected any of .*{name}.*, got gap, width$"):
        options.of({name: 1.0, "width": 1.0, "gap": 1.0})


def test_a_known_mass_of_zero_says_that_it_is_unknown():
    assert EstimatorOptions(known_mass=0.0).known_mass == 0.0
    with pytest.raises(PandaDynamicsError, match=r"^known_mass: expected a positive number, got -0\.1$"):
        EstimatorOptions(known_mass=-0.1)


BODY = InertialParameters(1.2, np.array([0.03, -0.02, 0.08]), np.diag([0.003, 0.004, 0.002]))
STD = np.array([0.03, *[0.006] * 3, *[0.002] * 6])
INFORMATION = np.diag(STD**-2.0)


def pseudo_inertia_smallest(vector):
    return np.linalg.eigvalsh(np.tensordot(vector, UNIT_PSEUDO_INERTIAS, 1))[0]


def test_a_consistent_estimate_stays():
    found = ConsistentBody().nearest(BODY.vector, INFORMATION)
    # The weights on what the data leaves open are worth a tenth of a sigma.
    np.testing.assert_allclose((found - BODY.vector) / STD, 0.0, atol=0.1)


def test_nearest_is_what_a_general_optimiser_finds():
    """Oracle: BFGS over a Cholesky factor, another parametrisation, with no regularisation."""
    target = BODY.vector.copy()
    target[4:] -= np.array([0.02, 0.0, 0.0, 0.01, 0.0, 0.015])  # an impossible inertia

    def cost(x):
        L = np.zeros((4, 4))
        L[np.tril_indices(4)] = x
        J = L @ L.T
        inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        error = np.concatenate(([J[3, 3]], J[:3, 3], inertia[np.triu_indices(3)])) - target
        return error @ INFORMATION @ error

    start = np.linalg.cholesky(np.tensordot(BODY.vector, UNIT_PSEUDO_INERTIAS, 1))[np.tril_indices(4)]
    best = minimize(cost, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    found = ConsistentBody().nearest(target, INFORMATION, iterations=200)
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
    information = np.linalg.inv((square @ square.T + np.eye(10)) * np.outer(spread, spread) / 20.0)
    target = rng.normal(size=10) * spread
    found = ConsistentBody().nearest(target, information)
    assert np.isfinite(found).all()

    def cost(vector):
        return (vector - target) @ information @ (vector - target)

    # At most as far from the estimate as nothing is, but for the weak preference for sizes.
    assert cost(found) <= cost(np.zeros(10)) + 0.2
    # Strictly inside in exact arithmetic; from_vector subtracts m c^2, which costs some digits of 1e-16.
    assert pseudo_inertia_smallest(found) > -1e-12


def test_no_payload_is_published_as_almost_nothing():
    target = np.array([-0.05, 0.001, 0.0, -0.002, *[0.0] * 6])
    found = ConsistentBody().nearest(target, INFORMATION)
    assert 0.0 < found[0] < 0.02
    missing = estimate_of(0.8, 0.02, com_std=0.001)  # first moments alone would make a body on the other side
    known = -missing.vector, missing.covariance, EstimatorOptions(), None
    assert published_estimate(*known, stamp=0.0, status="estimating").mass < 0.02


def test_warm_start_does_not_change_the_answer():
    body = ConsistentBody()
    target = BODY.vector * np.array([1.0, *[1.0] * 3, *[0.2] * 6])
    first = body.nearest(target, INFORMATION, iterations=200)
    for _ in range(5):
        again = body.nearest(target, INFORMATION, iterations=200)
    # On the cone's boundary the logarithms creep: the search stops when a step gains a millionth of the cost.
    np.testing.assert_allclose((again - first) / STD, 0.0, atol=0.05)


@pytest.mark.parametrize(
    ("mass", "mass_said", "com_said"),
    [(1.0, "1.000 ± 0.049 kg (95 %)", r"20\.0 ± .* mm \(95 %\)"), (0.105, "none found (below 0.154 kg)", "not known")],
)
def test_people_are_told_95_percent_intervals_or_that_nothing_was_found(mass, mass_said, com_said):
    rows = dict(payload_rows(estimate_of(mass, 0.025)))
    assert rows["payload mass"] == mass_said
    assert re.fullmatch(com_said, rows["centre of mass"])
    assert "problem" not in rows


def test_a_problem_is_said_to_people_and_to_programs():
    estimate = replace(estimate_of(1.0, 0.025), problem="the torques contradict the arm")
    assert ("problem", "the torques contradict the arm") in payload_rows(estimate)
    assert payload_entry(estimate)["problem"] == "the torques contradict the arm"
    assert payload_entry(estimate)["std"][0] == 0.025  # one sigma for programs
