# SPDX-License-Identifier: Apache-2.0
"""Noise that grows with the inertia that a joint moves: learnt, and expected in postures not seen before."""

import numpy as np
import pytest
from panda_dynamics_ros.estimation.contact.velocity_noise import (
    MEANS,
    VELOCITY_NOISE,
    initialise_noise,
    noise_parts,
    squared_inertia,
    update_noise,
    velocity_noise_gain,
)
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms

from panda_dynamics_ros.estimation.regression import MomentumRegression

PRIOR = 0.5


def learnt(h, squared):
    """The means after these postures and squares, all counting alike: a memory longer than the test."""
    means = np.zeros(MEANS)
    initialise_noise(means, h[0], squared[0])
    for k in range(1, len(h)):
        update_noise(means, 1.0 / (1 + k), h[k], squared[k])
    return means


def test_both_parts_are_found_where_postures_differ(rng):
    """5000 squares of normal numbers: c, by least squares, to some 5 % here."""
    h = rng.uniform(0.2, 8.0, 5000)
    a, c = noise_parts(learnt(h, rng.normal(size=5000) ** 2 * (0.5 + 0.1 * h)), 0.0, 0.1)
    assert a == pytest.approx(0.5, abs=0.1)
    assert c == pytest.approx(0.1, rel=0.15)


def test_one_posture_tells_the_sum_and_the_prior_the_parts(rng):
    means = learnt(np.full(2000, 2.0), rng.normal(size=2000) ** 2 * 3.0)
    a, c = noise_parts(means, 0.0, PRIOR)
    assert c == pytest.approx(PRIOR)
    assert a + 2.0 * c == pytest.approx(3.0, rel=0.1)  # 2000 squares: 3 %


@pytest.mark.parametrize("least", [0.1, 2.0])
def test_no_part_is_below_its_bound(least):
    """Less noise where there is more inertia: no part of it is the inertia's."""
    h = np.tile([1.0, 4.0], 500)
    a, c = noise_parts(learnt(h, np.where(h > 2.0, 0.5, 1.5)), least, PRIOR)
    assert a >= least
    assert c >= 0.0


def test_a_joint_that_moves_nothing_has_noise_all_the_same():
    """Such as before massless links: no division by its h, which would make the detector deaf."""
    a, c = noise_parts(learnt(np.zeros(100), np.full(100, 2.0)), 0.5, PRIOR)
    assert (a, c) == (pytest.approx(2.0), 0.0)


def test_h_is_what_noise_of_all_velocities_does_to_the_momentum(panda, rng):
    q = np.array([0.1, -0.4, 0.3, -2.0, 0.2, 1.6, 0.5])
    h = np.zeros(7)
    squared_inertia(panda.table, q, h)
    noise = rng.normal(size=(20_000, 7))
    momentum = noise @ panda.mass_matrix(q)
    np.testing.assert_allclose(h, momentum.var(axis=0), rtol=0.05)  # 20000 samples: 1 %


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_the_prior_is_what_the_filters_leave_of_velocity_noise(panda, rng, rate):
    """At rest, so that the noise of dq is all there is: 40 s have some 1200 independent values, 4 %."""
    q = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
    regression, terms, h, dt = MomentumRegression(panda.n, 10.0), MomentumTerms(panda), np.zeros(7), 1.0 / rate
    squared_inertia(panda.table, q, h)
    still = panda.gravity_torques(q)
    found = []
    for _ in range(round(40.0 * rate)):
        dq = VELOCITY_NOISE * rng.normal(size=7)
        found.append(regression.step(dt, terms.at(q, dq, still + panda.friction_torques(dq)))[1].copy())
    variance = np.array(found[round(rate) :]).var(axis=0)
    np.testing.assert_allclose(velocity_noise_gain(regression.pole, dt) * h, variance, rtol=0.15)
