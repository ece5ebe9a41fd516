# SPDX-License-Identifier: Apache-2.0
"""The recursion against textbook formulas, which know no joints, no blocks and no recursion."""

import numpy as np
import pytest

from panda_dynamics_ros.estimation.kalman_filter import THETA, GaussianState, correct, fade, predict
from panda_dynamics_ros.robot.inertial import PARAMETERS

SIGMA = np.array([0.3, 0.5, 0.2])
CORRELATION_TIME = np.array([0.5, 0.8, 0.4])
VARIANCE = np.array([0.01, 0.02, 0.005])
PAYLOAD_STD = np.array([1.5, *[0.15] * 3, *[0.02] * 6])
DT = 0.02
DECAY = np.exp(-DT / CORRELATION_TIME)
SHARED, OWN = 2, 3
ERRORS = SHARED + 3 * OWN
PHI = slice(PARAMETERS + 3, PARAMETERS + 3 + ERRORS)


@pytest.fixture
def data():
    """H (25, 3, N) and y (25, 3): columns of a payload, of the disturbance, shared ones and those of each joint."""
    rng = np.random.default_rng(1)
    Y, A = rng.normal(size=(25, 3, PARAMETERS)), rng.normal(size=(25, 3, SHARED + OWN))
    own = [np.eye(3)[:, [i]] * A[:, [i], SHARED:] for i in range(3)]
    H = np.concatenate((Y, np.broadcast_to(np.eye(3), (25, 3, 3)), A[..., :SHARED], *own), axis=2)
    return H, 0.1 * rng.normal(size=(25, 3))


def filtered(H, y):
    state = GaussianState.prior(PAYLOAD_STD, SIGMA, ERRORS)
    for k in range(len(y)):
        if k:
            state = predict(state, DECAY, SIGMA)
        state, _ = correct(state, H[k], y[k], VARIANCE, DECAY)
    return state


def coloured_covariance(count):
    """Covariance (3 count, 3 count) of the disturbance and the white noise, sample by sample."""
    lag = DT * np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    total = np.zeros((count, 3, count, 3))
    for i in range(3):
        total[:, i, :, i] = SIGMA[i] ** 2 * np.exp(-lag / CORRELATION_TIME[i]) + VARIANCE[i] * np.eye(count)
    return total.reshape(3 * count, 3 * count)


def test_recursion_equals_generalised_least_squares(data):
    """The oracle knows no recursion: all samples at once, weighted by the covariance of the coloured noise."""
    rows, y = data
    state, known = filtered(rows, y), np.r_[THETA, PHI]
    H = np.concatenate(rows)[:, known]
    noise, before = coloured_covariance(len(y)), np.diag(np.r_[PAYLOAD_STD, np.ones(ERRORS)] ** 2)
    covariance = np.linalg.inv(H.T @ np.linalg.solve(noise, H) + np.linalg.inv(before))
    # Both go through some hundred double-precision operations at a condition number of about 1e4.
    mean = covariance @ H.T @ np.linalg.solve(noise, y.ravel())
    np.testing.assert_allclose(state.mean[known], mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(state.covariance[np.ix_(known, known)], covariance, rtol=1e-8, atol=1e-12)


def test_a_correction_is_the_dense_one(data):
    """All joints at once, with the inverse of a matrix; the steps' gains are those of one joint after the other."""
    rows, y = data
    before = predict(filtered(rows[:10], y[:10]), DECAY, SIGMA)
    after, step = correct(before, rows[10], y[10], VARIANCE, DECAY)
    H, P = rows[10], before.covariance
    gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.diag(VARIANCE))
    np.testing.assert_allclose(after.mean, before.mean + gain @ (y[10] - H @ before.mean), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(after.covariance, P - gain @ H @ P, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(step.innovation @ step.gain, after.mean - before.mean, rtol=1e-9, atol=1e-12)
    spread = H @ P @ H.T + np.diag(VARIANCE)  # the product of conditional variances is the determinant
    assert np.prod(step.variance) == pytest.approx(np.linalg.det(spread), rel=1e-9)
    assert step.innovation[0] == pytest.approx(y[10, 0] - H[0] @ before.mean)


def test_a_prediction_changes_the_disturbance_alone(data):
    before = filtered(*data)
    after = predict(before, DECAY, SIGMA)
    F = np.diag(np.r_[np.ones(PARAMETERS), DECAY, np.ones(ERRORS)])
    Q = np.diag(np.r_[np.zeros(PARAMETERS), SIGMA**2 * (1.0 - DECAY**2), np.zeros(ERRORS)])
    np.testing.assert_allclose(after.mean, F @ before.mean, rtol=1e-14)
    np.testing.assert_allclose(after.covariance, F @ before.covariance @ F.T + Q, rtol=1e-13, atol=1e-18)


@pytest.mark.parametrize("other", [None, slice(6, 9)])
def test_conditioning_is_bayes_rule(data, other):
    state, place, std = filtered(*data), slice(2, 5), np.array([0.01, 0.0, 0.1])
    P, rows = state.covariance, np.eye(len(state.mean))
    H = rows[place] if other is None else rows[place] - rows[other]
    gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.diag(std**2))
    found = state.conditioned(place, std, other)
    np.testing.assert_allclose(found.mean, state.mean - gain @ H @ state.mean, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found.covariance, P - gain @ H @ P, rtol=1e-8, atol=1e-13)
    assert (H @ found.mean)[1] == pytest.approx(0.0, abs=1e-12), "what is certain is so"


def test_standing_still_teaches_nothing_twice(data):
    """Without motion time the disturbance is one constant: an hour of one pose ends where a minute did."""
    H, y = data

    def repeated(count):
        state = GaussianState.prior(PAYLOAD_STD, SIGMA, ERRORS)
        for _ in range(count):
            state, _ = correct(state, H[0], y[0], VARIANCE, np.ones(3))
        return state

    minute, longer = repeated(6_000), repeated(60_000)
    std_minute, std_longer = (np.sqrt(np.diag(b.covariance)[THETA]) for b in (minute, longer))
    # Only the white noise is averaged out further: std 0.1 / sqrt(6000) of it was left after a minute.
    np.testing.assert_allclose(std_longer, std_minute, rtol=1e-3)
    np.testing.assert_allclose(longer.mean, minute.mean, atol=1e-3)
    assert np.linalg.eigvalsh(longer.covariance)[0] > -1e-12


def test_fading_widens_up_to_the_prior_and_the_arms_errors_return_to_it(data):
    state = filtered(*data)
    once, mean = fade(state, 0.8, 8.0, 20.0, PAYLOAD_STD, PHI), state.mean
    P, before = once.covariance, state.covariance
    # exp(0.1) of the payload's covariance, up to the prior's; 1 - exp(-0.04) of the way to 1 of each error's variance
    room = np.minimum(np.exp(0.1), PAYLOAD_STD**2 / np.diag(before)[THETA])
    growth = np.sqrt(room - 1.0)
    np.testing.assert_allclose(P[THETA, THETA], before[THETA, THETA] * (1.0 + np.outer(growth, growth)), rtol=1e-12)
    # A payload that may have changed says nothing about the arm: what is known of it would follow the payload else.
    disturbance, leak = slice(THETA.stop, PHI.start), 1.0 - np.exp(-0.04)
    np.testing.assert_allclose(P[THETA, disturbance], before[THETA, disturbance], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(P[THETA, PHI], np.exp(-0.02) * before[THETA, PHI], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.diag(P)[PHI], np.diag(before)[PHI] * (1.0 - leak) + leak, rtol=1e-12)
    off = ~np.eye(ERRORS, dtype=bool)
    np.testing.assert_allclose(P[PHI, PHI][off], (1.0 - leak) * before[PHI, PHI][off], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(once.mean[PHI], np.exp(-0.02) * mean[PHI], rtol=1e-12)
    for _ in range(4_000):
        state = fade(state, 0.8, 8.0, 20.0, PAYLOAD_STD, PHI)
    np.testing.assert_allclose(np.diag(state.covariance)[THETA], PAYLOAD_STD**2, rtol=1e-9)
    np.testing.assert_allclose(np.diag(state.covariance)[PHI], 1.0, rtol=1e-9)
    np.testing.assert_allclose(state.mean[PHI], 0.0, atol=1e-12)
    np.testing.assert_array_equal(state.mean[: PHI.start], mean[: PHI.start])
    assert np.linalg.eigvalsh(state.covariance)[0] > -1e-12
