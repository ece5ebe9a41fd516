# SPDX-License-Identifier: Apache-2.0
"""What an estimate says of itself: deviations, margins, and whether something is carried."""

import numpy as np
import pytest

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.robot.inertial import six_from_symmetric

COM = np.array([0.02, -0.015, 0.06])


def estimate_of(mass: float, mass_std: float, com_std: float = 0.005) -> PayloadEstimate:
    body = InertialParameters(mass, COM, 0.002 * np.eye(3))
    deviations = [mass_std, *[com_std * max(mass, 0.1)] * 3, *[1e-3] * 6]
    return PayloadEstimate(0.0, body.vector, np.diag(np.square(deviations)), np.ones(10, dtype=bool), "estimating")


@pytest.mark.parametrize(
    ("mass", "mass_std", "carried"),
    [
        (1.0, 0.02, True),
        (0.2, 0.02, True),
        (0.105, 0.025, False),  # what the error of a published model looks like on an empty arm
        (1.0, 0.6, False),
        (0.04, 0.001, False),
        (0.0, 0.0, False),
    ],
)
def test_something_is_carried_where_the_interval_says_so(mass: float, mass_std: float, carried: bool) -> None:
    assert estimate_of(mass, mass_std).is_carried is carried


def test_the_centre_of_mass_is_known_within_a_decimetre_of_a_payload() -> None:
    assert estimate_of(1.0, 0.02, com_std=0.045).com_is_known
    assert not estimate_of(1.0, 0.02, com_std=0.055).com_is_known  # 1.96 * 0.055 = 0.108 m
    assert not estimate_of(0.05, 1e-4, com_std=0.001).com_is_known
    assert not estimate_of(0.0, 0.01).com_is_known


def test_margins_are_half_of_95_percent_intervals() -> None:
    estimate = estimate_of(1.0, 0.1)
    assert estimate.mass_margin == pytest.approx(0.196)
    np.testing.assert_allclose(estimate.com_margin, 1.96 * estimate.com_std)


def test_the_inertia_deviates_as_that_of_samples(rng: np.random.Generator) -> None:
    """200,000 payloads drawn from the covariance: 0.3 % of sampling (5 sigma: 0.8 %), and the second order."""
    root = 1e-3 * rng.normal(size=(10, 10))
    vector = InertialParameters(2.0, COM, 0.05 * np.eye(3)).vector
    estimate = PayloadEstimate(0.0, vector, root @ root.T, np.ones(10, dtype=bool), "estimating")
    m, h, six = np.split(rng.multivariate_normal(vector, estimate.covariance, 200_000), [1, 4], axis=1)
    outer = h[:, :, None] * h[:, None, :] / m[:, :, None]
    parallel = np.einsum("kii->k", outer)[:, None, None] * np.eye(3) - outer
    sampled = six - np.array([six_from_symmetric(each) for each in parallel])
    np.testing.assert_allclose(estimate.inertia_std, sampled.std(axis=0), rtol=0.01)


def test_without_a_mass_nothing_is_known_of_its_place() -> None:
    estimate = estimate_of(0.0, 0.0)
    assert np.isinf(estimate.com_std).all()
    assert np.isinf(estimate.inertia_std).all()
