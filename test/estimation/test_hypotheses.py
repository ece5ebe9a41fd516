# SPDX-License-Identifier: Apache-2.0
"""Signatures against filters that run twice, evidence against its closed form, what is adopted against Bayes' rule."""

from math import erfc

import numpy as np
import pytest
from conftest import some
from motion import coloured, fed, kinds, sinusoids, torques
from scipy.stats import multivariate_normal

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation import PayloadEstimator, hypotheses
from panda_dynamics_ros.estimation.estimate import PayloadMemory
from panda_dynamics_ros.estimation.hypotheses import MOMENTS, SIZES
from panda_dynamics_ros.estimation.kalman_filter import THETA, GaussianState, correct, predict
from panda_dynamics_ros.estimation.regression import ARM, MomentumRegression, OnsetRegressors

N, ERRORS = 3, 8
SIGMA, VARIANCE = np.array([0.3, 0.5, 0.2]), np.array([0.01, 0.02, 0.005])
DECAY = np.array([0.95, 0.9, 0.97])
PAYLOAD_STD = np.array([1.5, *[0.15] * 3, *[0.02] * 6])
FIRST, LAST = 4, 16  # updates: the first that is followed, and the end


def followed(jump, settled=hypotheses.SETTLED):
    """The state after `LAST` updates of three joints, and the detector, of a jump (4 + 3,) at its first onset."""
    rng = np.random.default_rng(5)
    (regression, own), onset = (MomentumRegression(N, 3.0, 11) for _ in range(2)), OnsetRegressors(N, 1)
    state = GaussianState.prior(PAYLOAD_STD, SIGMA, ERRORS)
    detector = hypotheses.ChangeDetector(SIGMA, settled * SIGMA, PAYLOAD_STD, 3.0, ERRORS, lambda: np.eye(N))
    for k in range(LAST):
        for each, terms in zip((regression, own), 2 * [rng.normal(size=(2, N, 11))], strict=True):
            each.rows(np.array([hypotheses.PERIOD]), *terms[:, None])
        A, y = rng.normal(size=(N, ERRORS)), 0.3 * rng.normal(size=N)
        if k == FIRST:
            onset.start(0, 0.0)
            onset.follow(np.ones(1), own)
        elif k > FIRST:
            regressors, constant = onset.follow(onset.share, own)
            y += regressors[:, :MOMENTS, 0] @ jump[:MOMENTS] + constant * jump[MOMENTS:]
        predicted = predict(state, DECAY, SIGMA)
        H = np.hstack((regression.filtered[:, :ARM], np.eye(N), A))
        state, step = correct(predicted, H, y, VARIANCE, DECAY)
        if k >= FIRST:
            detector.follow(step, regression, predicted, state)
    return state, detector


def test_a_signature_is_what_a_jump_changes(rng):
    """Of state and innovations, when the filter runs again with the jump in its measurements; it is linear."""
    assert (LAST - FIRST) * hypotheses.PERIOD < hypotheses.LIFETIME
    plain, detector = followed(np.zeros(MOMENTS + N))
    L, v, X = detector._L[0], detector._v[0], detector._X[:, :, 0]
    jump = rng.normal(size=MOMENTS + N)
    for scale in (1.0, -2.0):
        jumped, other = followed(scale * jump)
        np.testing.assert_allclose(jumped.mean - plain.mean, scale * X @ jump, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(other._v[0] - v, scale * L @ jump, rtol=1e-7, atol=1e-8)
        np.testing.assert_array_equal(other._L[0], L)
    # The likelihood of the innovations is quadratic in the jump: nu' S^-1 nu - 2 v' jump + jump' L jump.
    chi = detector._chi[0, 0]
    assert other._chi[0, 0] == pytest.approx(chi + 2.0 * scale * v @ jump + scale**2 * jump @ L @ jump, rel=1e-9)


def test_log_bayes_factors_are_those_of_gaussians(rng):
    """The marginal likelihood of v ~ N(0, L + L P L) against N(0, L), averaged over sizes and links; of each force."""
    roots = rng.normal(size=(2, MOMENTS + N, MOMENTS + N))
    L, v = 30.0 * roots @ roots.transpose(0, 2, 1), 60.0 * rng.normal(size=(2, MOMENTS + N))
    found, shares, settled = np.empty((2, 3)), np.array([1.0, 0.1, 0.2, 0.3]), hypotheses.SETTLED * SIGMA
    payloads = np.array([[*(m * shares) ** 2, *settled**2] for m in SIZES])
    known, chi = (payloads, np.outer(hypotheses.TOUCHES, SIGMA) ** 2, settled**2), np.zeros((2, 2))
    hypotheses.log_bayes_factors(np.array([0, 1]), L, v, chi, *known, np.zeros(2), found)

    def log_ratio(L, v, P):
        def log_density(S):
            return -0.5 * (v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1])

        return log_density(L + L @ P @ L) - log_density(L)

    for slot in (0, 1):
        of_payload = [log_ratio(L[slot], v[slot], np.diag(variance)) for variance in payloads]
        of_touch = [
            log_ratio(L[slot, 4:k, 4:k], v[slot, 4:k], np.diag((t * SIGMA[: k - 4]) ** 2))
            for t in hypotheses.TOUCHES
            for k in range(5, 5 + N)
        ]
        for each, ratios in zip(found[slot, :2], (of_payload, of_touch), strict=True):
            assert each == pytest.approx(np.logaddexp.reduce(ratios) - np.log(len(ratios)), rel=1e-9)
        of_friction = log_ratio(L[slot, 4:, 4:], v[slot, 4:], np.diag(settled**2))
        assert found[slot, 2] == pytest.approx(of_friction, rel=1e-9)
    root = rng.normal(size=(N, N))
    of_force = hypotheses.force_evidence(L[:, 4:, 4:], v[:, 4:], root @ root.T, settled)
    for slot in (0, 1):
        for m, each in zip(SIZES, of_force[slot], strict=True):
            P = m**2 * root @ root.T + np.diag(settled**2)
            assert each == pytest.approx(log_ratio(L[slot, 4:, 4:], v[slot, 4:], P), rel=1e-9)
    for squared, jump in ((9.0, 0.0), (1.0, 1.0)):  # no jump; innovations that are too small for any
        found[0] = 1.0
        hypotheses.log_bayes_factors(np.array([0]), L, jump * v, np.full((1, 2), squared), *known, np.ones(1), found)
        assert found[0].tolist() == [0.0, 0.0, 0.0], "what cannot reach the threshold is not worked out"


def test_friction_that_settles_at_a_stop_is_no_change():
    """The same jump of the torques is one later: an arm that stands does not move its friction."""
    jump, found = np.concatenate((np.zeros(MOMENTS), 12.0 * SIGMA)), []
    for still in (0.1, 10.0):
        state, detector = followed(jump, settled=12.0)
        found.append(detector.detect(state, still))
    assert found[0] is None
    assert found[1] is not None


def test_evidence_counts_less_where_nothing_explains_the_innovations():
    usual, loud = np.array([1e6 + 30.0, 1e6]), np.array([2000.0, 100.0])
    assert hypotheses.tempered(15.0, usual)[0] == pytest.approx(15.0, rel=1e-3)
    share = (hypotheses.DEGREES + 100.0) / (hypotheses.DEGREES + 2000.0)  # of the variance that was expected
    assert hypotheses.tempered(15.0, loud)[0] == pytest.approx(15.0 * share, rel=0.02)


def a_change(kind, mean, P):
    """A change of this joint mean and covariance of the state and of the payload before it, the last ten entries."""
    whole = GaussianState(mean, P)
    return hypotheses.Change(kind, 0.5, whole.copy(), hypotheses.AT_ONCE), whole


def joint_gaussian(rng, size):
    """Mean and covariance of a state of `size` entries and the payload before."""
    root = rng.normal(size=(size + 10, size + 10)) * np.r_[0.1 * np.ones(size), np.full(10, 0.02)]
    return 0.1 * rng.normal(size=size + 10), root.T @ root / size


@pytest.mark.parametrize(("before", "std"), [(0.0, 0.05), (0.2, 0.1), (0.5, 0.05)])
def test_what_was_carried_before_a_first_pick_is_nothing_where_that_is_clear(rng, before, std):
    """By Bayes' rule on the mass; until the odds are twenty to one, the filter goes on with what was believed."""
    size = 10 + N + ERRORS
    mean, P = joint_gaussian(rng, size)
    P[size, :] *= std / np.sqrt(P[size, size])
    P[:, size] = P[size, :]
    P[size, size] = std**2
    mean[size], mean[0] = before, before + 1.0
    change, whole = a_change("pick", mean, P)
    least = PAYLOAD_STD * (hypotheses.NOTHING / PAYLOAD_STD[0])
    variance = std**2 + least[0] ** 2
    of_nothing = hypotheses.EMPTY_ODDS * np.exp(-0.5 * before**2 / variance) / np.sqrt(variance)
    # A payload is not below zero: half of its prior counts, and this part of its posterior.
    above = 0.5 * erfc(-before / np.sqrt(2.0 * variance))
    empty = of_nothing / (of_nothing + 2.0 * above * np.mean(1.0 / SIZES))
    place, probability = hypotheses.least_carried(whole, size)
    assert place == slice(size, size + 10)
    assert probability == pytest.approx(empty, rel=1e-9)
    expected = whole.conditioned(place, least) if empty > 1.0 - np.exp(-hypotheses.CLEAR) else whole
    found, new = change.adopted(PAYLOAD_STD, size)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8, atol=1e-12)
    assert {0.0: empty > 0.99, 0.2: 0.5 < empty < 0.95, 0.5: empty < 1e-6}[before]
    assert hypotheses.least_carried(whole.of(slice(0, size)), size)[1] == 0.0, "nothing has changed"
    assert new == 1.0, "what is picked up is new"


@pytest.mark.parametrize("off", [0.0, 0.05, 0.5])
def test_a_release_leaves_what_was_carried_before_the_pick_or_something_else(rng, off):
    """0.7 kg of a hand, known to 0.1 kg: after a release the same, or `off` kg more, whose difference is known well."""
    size, std = 20 + N + ERRORS, 0.02
    first = size - 10
    mean, P = joint_gaussian(rng, size)
    hand = np.array([0.7, 0.01, 0.0, 0.03, *[0.002] * 6])
    P[first:size, :], P[:, first:size] = P[THETA], P[:, THETA]  # but for the difference it is the payload of now
    P[first:size, first:size] = P[THETA, THETA]
    P[THETA, THETA] += np.diag((std * PAYLOAD_STD / PAYLOAD_STD[0]) ** 2)
    mean[first:size] = hand
    mean[THETA] = hand + off * PAYLOAD_STD / PAYLOAD_STD[0]
    mean[size:] = 2.0 * hand
    change, whole = a_change("release", mean, P)
    found, new = change.adopted(PAYLOAD_STD, first)
    T, shares = np.eye(10, size + 10) - np.eye(10, size + 10, first), PAYLOAD_STD / PAYLOAD_STD[0]
    difference, covariance = ((T @ whole.mean) / shares)[:4], T @ whole.covariance @ T.T / np.outer(shares, shares)
    density = multivariate_normal(difference, covariance[:4, :4] + hypotheses.NOTHING**2 * np.eye(4)).pdf(np.zeros(4))
    prior = np.mean([multivariate_normal(np.zeros(4), size**2 * np.eye(4)).pdf(np.zeros(4)) for size in SIZES])
    same = hypotheses.EMPTY_ODDS * density / (hypotheses.EMPTY_ODDS * density + prior)
    expected = whole.mixed(whole.conditioned(THETA, hypotheses.NOTHING * shares, slice(first, size)), same)
    # That the hand is nothing, seven of its standard deviations away, has the probability 1e-8.
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-4, atol=1e-6)
    assert new == pytest.approx(1.0 - same, rel=1e-3, abs=1e-9)
    assert {0.0: same > 0.99, 0.05: same > 0.5, 0.5: same < 1e-6}[off]


def test_a_release_that_leaves_an_empty_hand_is_told_by_the_mass(rng):
    """Offsets that have drifted look like a moment of 0.1 kg m, ten standard deviations off, of no mass."""
    size, std = 20 + N + ERRORS, 0.01
    first, shares = size - 10, PAYLOAD_STD / PAYLOAD_STD[0]
    adopted = {}
    for hand in (0.0, 0.7):
        mean, P = np.zeros(size + 10), np.diag(np.full(size + 10, 0.1))
        for place in (0, first, size):
            P[place : place + 10, place : place + 10] = np.diag((std * shares) ** 2)
            mean[place] = hand
        mean[1], mean[size] = 0.1, hand + 1.0
        change, _ = a_change("release", mean, P)
        adopted[hand] = change.adopted(PAYLOAD_STD, first)[1] < 0.5
    assert adopted == {0.0: True, 0.7: False}


def test_a_pick_does_not_leave_the_least_of_all(rng):
    """0.2 kg on an empty hand that is known to 0.09 kg: nothing, the least before, is no answer."""
    first, std = 10 + N + ERRORS, 0.09 * PAYLOAD_STD / PAYLOAD_STD[0]
    mean, P = np.zeros(first + 20), np.diag(np.r_[std, np.ones(first - 10), 0.1 * std, std] ** 2)
    mean[0], P[:10, -10:], P[-10:, :10] = 0.2, 0.9 * np.diag(std**2), 0.9 * np.diag(std**2)
    assert a_change("pick", mean, P)[0].adopted(PAYLOAD_STD, first)[0].mean[0] == pytest.approx(0.2, abs=0.03)


def test_a_mixture_has_the_moments_of_both(rng):
    """Of two Gaussians: E[x] and E[x x'] are the weighted means of theirs."""
    roots = rng.normal(size=(2, 4, 4))
    a, b = (GaussianState(rng.normal(size=4), root @ root.T) for root in roots)
    mixed, share = a.mixed(b, 0.3), 0.3
    second = [s.covariance + np.outer(s.mean, s.mean) for s in (a, b, mixed)]
    np.testing.assert_allclose(mixed.mean, (1.0 - share) * a.mean + share * b.mean, rtol=1e-12)
    np.testing.assert_allclose(second[2], (1.0 - share) * second[0] + share * second[1], rtol=1e-12, atol=1e-12)


@some("seed", range(3))
def test_a_burst_of_noise_is_no_event(panda, seed):
    """Half a second of white noise of six standard deviations of the residual: no jump explains it."""
    rng, motion = np.random.default_rng(seed), sinusoids(4.0, 200.0)
    burst = ((motion.stamp > 2.5) & (motion.stamp < 3.0))[:, None]
    tau = torques(panda, motion) + coloured(panda, motion.stamp, rng)
    # Within the step that validation takes for a fault, so that it is the evidence that decides.
    tau += burst * np.minimum(6.0 * panda.residual.std, 0.05 * panda.limits.effort) * rng.normal(size=tau.shape)
    assert kinds(fed(PayloadEstimator(panda), motion, tau)) == []


def test_what_is_not_noticed_are_the_light_picks(rng):
    """As drawn: half of the changes are picks, of Gaussian size; the evidence is clear about the heavier ones."""
    root, shares = rng.normal(size=(11, 11)), np.array([1.0, 0.1, 0.1, 0.1, *[0.04] * 6])
    L = 300.0 * root @ root.T
    mass = np.abs(rng.normal(size=2_000_000)) * rng.choice(SIZES, 2_000_000)
    J = sum(share**2 * L[k, k] for k, share in enumerate(shares[:MOMENTS]))
    light = 0.5 * J * mass**2 < hypotheses.EVIDENCE
    expected = hypotheses.CHANGES * 0.5 * np.mean(np.where(light, mass**2, 0.0))
    # The density is taken as constant, which that of 0.3 kg is to 3 % up to 0.07 kg; 20,000 masses are light.
    assert hypotheses.unnoticed_variance(L, shares) == pytest.approx(expected, rel=0.05)


@some("seed", range(3))
def test_a_pick_that_is_not_noticed_is_in_the_interval_later(panda, seed):
    """The hand is known to be empty to 5 g; then 0.12 kg are there, behind noise of 2 N m at 100 Hz."""
    rng, motion = np.random.default_rng(seed), sinusoids(20.0, 100.0)
    payload = InertialParameters(0.12, np.array([0.0, 0.0, 0.05]), 1e-4 * np.eye(3))
    tau = torques(panda, motion, payload) + coloured(panda, motion.stamp, rng)
    tau += 2.0 * rng.normal(size=tau.shape)
    estimator = PayloadEstimator(panda)
    variance = (0.005 * estimator.options.prior_std / 1.5) ** 2
    estimator.restore(PayloadMemory(np.zeros(10), np.diag(variance), np.zeros(10)))
    estimates = fed(estimator, motion, tau)
    assert kinds(estimates) == []
    assert abs(estimator.raw_mass - payload.mass) < 2.5 * estimates[-1].std[0]
    assert estimates[-1].std[0] < 0.3
