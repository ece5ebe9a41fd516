# SPDX-License-Identifier: Apache-2.0
"""What a user knows of a payload, and what it is worth."""

import numpy as np
import pytest
from motion import PAYLOAD, coloured, followed, sinusoids, torques

from panda_dynamics_ros import InertialParameters, PandaDynamicsError
from panda_dynamics_ros.estimation import EstimatorOptions, PayloadEstimator, Shape
from panda_dynamics_ros.estimation.options import with_known_shape
from panda_dynamics_ros.estimation.publication import published_estimate


@pytest.fixture(scope="module")
def motion():
    return sinusoids(3.0, rate=100.0)


def found(panda, motion, payload, seed, **options):
    """The last estimate over a coloured residual."""
    tau = torques(panda, motion, payload) + coloured(panda, motion.stamp, np.random.default_rng(seed))
    return followed(panda, motion, tau, **options)[0].estimate


@pytest.mark.slow
def test_a_known_mass_is_taken_over_and_sharpens_the_com(panda, motion):
    """Over twelve residuals: mass and m c err together, so who knows the one knows more of the other."""
    plain = [found(panda, motion, PAYLOAD, seed) for seed in range(12)]
    known = [found(panda, motion, PAYLOAD, seed, known_mass=PAYLOAD.mass) for seed in range(12)]
    assert all(abs(estimate.mass - PAYLOAD.mass) < 0.01 for estimate in known)
    errors = [np.sqrt(np.mean([np.sum((e.com - PAYLOAD.com) ** 2) for e in group])) for group in (plain, known)]
    assert errors[1] < 1.12 * errors[0]  # an RMS of 36 numbers is known to 12 %
    # On average: com_std is per mass, and an estimate without the known mass may be the heavier one.
    stds = [np.mean([e.com_std for e in group], axis=0) for group in (plain, known)]
    assert (stds[1] < stds[0]).all()


def test_a_known_mass_is_not_claimed_of_an_empty_arm(panda, motion):
    assert found(panda, motion, InertialParameters.zero(), 0, known_mass=1.0).mass < 0.4


def test_no_more_than_the_most_is_published(panda, motion):
    free, bounded = (found(panda, motion, PAYLOAD, 0, **options) for options in ({}, {"max_mass": 0.5}))
    assert free.mass > 0.9
    assert bounded.mass == pytest.approx(0.5)
    assert bounded.payload.is_physical()
    np.testing.assert_allclose(bounded.com, free.com, atol=2e-4)  # what is too heavy to have come is not suspected
    limits, known = (EstimatorOptions(), EstimatorOptions(max_mass=0.5)), (free.vector, free.covariance)
    one, other = (published_estimate(*known, each, None, stamp=0.0, status="").com for each in limits)
    np.testing.assert_allclose(other, one)


def test_what_no_body_has_is_known_less_well():
    """A centre of mass 0.3 m off the flange, and an inertia about the flange that has it within 0.1 m."""
    mean = np.array([1.0, 0.1, -0.075, 0.3, 0.006, 0.0, 0.0, 0.006, 0.0, 0.002])
    estimate = published_estimate(mean, 1e-4 * np.eye(10), EstimatorOptions(), None, stamp=0.0, status="")
    off = estimate.vector - mean
    assert off @ np.linalg.solve(estimate.covariance, off) == pytest.approx(10.0)


@pytest.mark.parametrize("words", ["box 0.1 0.06 0.2", "cylinder 0.04 0.15", "sphere 0.06"])
def test_a_known_shape_gives_the_inertia(panda, motion, words):
    shape = Shape.of(words)
    assert shape is not None
    payload = InertialParameters(1.2, np.array([0.01, -0.02, 0.1]), 1.2 * shape.unit_inertia)
    estimate = found(panda, motion, payload, 1, shape=words)
    # The inertia is the mass times that of a kilogram: as uncertain as the mass, in relation.
    np.testing.assert_allclose(estimate.inertia, estimate.mass * shape.unit_inertia, atol=1e-12)
    assert estimate.identifiable.all()
    assert estimate.payload.is_physical()
    error = estimate.vector - payload.vector
    assert (np.abs(error) < 4.0 * estimate.std).all()


def test_shapes_are_the_textbook_ones():
    """Against a million grains of each."""
    rng = np.random.default_rng(0)
    x, y, z = rng.uniform(-0.5, 0.5, (3, 1_000_000))
    bodies = {
        Shape("box", (0.1, 0.2, 0.3)): np.array([0.1 * x, 0.2 * y, 0.3 * z]),
        Shape("cylinder", (0.1, 0.4)): np.array([0.2 * x, 0.2 * y, 0.4 * z])[:, x**2 + y**2 < 0.25],
        Shape("sphere", (0.2,)): 0.4 * np.array([x, y, z])[:, x**2 + y**2 + z**2 < 0.25],
    }
    volumes = 0.1 * 0.2 * 0.3, 0.2 * 0.2 * 0.4, 0.4**3  # that the grains were strewn in
    for (shape, grains), volume in zip(bodies.items(), volumes, strict=True):
        assert shape.volume == pytest.approx(volume * grains.shape[1] / x.size, rel=3e-3)
        spread = grains @ grains.T / grains.shape[1]
        inertia = np.trace(spread) * np.eye(3) - spread
        # Means over half a million grains are good to a few parts in a thousand.
        np.testing.assert_allclose(shape.unit_inertia, inertia, atol=3e-3 * np.trace(spread))


def test_covariance_of_a_known_shape_is_that_of_its_mass_and_moment():
    shape, vector = Shape("box", (0.1, 0.2, 0.15)), PAYLOAD.vector
    rng = np.random.default_rng(2)
    A = 1e-4 * rng.normal(size=(10, 10))
    covariance = A @ A.T
    _, spread = with_known_shape(vector, covariance, shape)
    draws = rng.multivariate_normal(vector, covariance, 5_000)
    bodies = np.array([with_known_shape(draw, covariance, shape)[0] for draw in draws])
    std = np.repeat((0.0, 0.1 * vector[0] * shape.unit_inertia.max()), (4, 6))
    # A covariance from 5,000 draws is good to 2 % of the variances involved (at most, one sigma).
    scale = np.sqrt(np.outer(np.diag(spread), np.diag(spread)))
    np.testing.assert_array_less(np.abs(np.cov(bodies.T) + np.diag(std**2) - spread), 0.08 * scale)


@pytest.mark.parametrize(
    "words", ["", "box", "box 0.1 0.2", "ball 0.1", "sphere -0.1", "sphere x", "cylinder 0.1 nan", 0.1]
)
def test_no_shape_is_refused_by_name(panda, words):
    with pytest.raises(PandaDynamicsError, match=r"^shape: expected"):
        PayloadEstimator(panda, shape=words)
