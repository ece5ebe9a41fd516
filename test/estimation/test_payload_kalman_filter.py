# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from panda_dynamics_ros.estimation.kalman_filter import (
    FilterStep,
    GaussianState,
    correct,
    forget,
    predict,
)
from panda_dynamics_ros.robot.inertial import PARAMETERS

SIGMA = np.array([0.3, 0.5, 0.2])
CORRELATION_TIME = np.array([0.5, 0.8, 0.4])
VARIANCE = np.array([0.01, 0.02, 0.005])
PRIOR = np.diag(np.array([1.5, *[0.15] * 3, *[0.02] * 6]) ** 2)
DT = 0.02


SHARED, OWN = 2, 3
ERRORS = SHARED + 3 * OWN


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return rng.normal(size=(25, 3, PARAMETERS)), rng.normal(size=(25, 3, SHARED + OWN)), 0.1 * rng.normal(size=(25, 3))


def prior():
    return GaussianState.prior(np.zeros(PARAMETERS), PRIOR, SIGMA, ERRORS)


def learn(state, Y, A, y, learns=True):
    """One correction; returns its log-likelihood."""
    step = FilterStep.zeros(len(y), SHARED, OWN)
    return correct(
        state.mean, state.covariance, Y, A, SHARED, learns, y, VARIANCE, step.gain, step.innovation,
        step.innovation_variance,
    )  # fmt: skip


def filtered(Y, A, y):
    state, log_likelihood = prior(), 0.0
    for k in range(len(y)):
        if k:
            predict(state.mean, state.covariance, DT, SIGMA, CORRELATION_TIME)
        log_likelihood += learn(state, Y[k], A[k], y[k])
    return state, log_likelihood


def columns_of(A):
    """Columns (3, ERRORS) of one sample: shared ones, then those of each joint in its own place."""
    return np.hstack((A[:, :SHARED], *(np.eye(3)[:, [i]] * A[i, SHARED:] for i in range(3))))


def coloured_covariance(count):
    """Covariance (3 count, 3 count) of the disturbance and the white noise, sample by sample."""
    lag = DT * np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    total = np.zeros((count, 3, count, 3))
    for i in range(3):
        total[:, i, :, i] = SIGMA[i] ** 2 * np.exp(-lag / CORRELATION_TIME[i]) + VARIANCE[i] * np.eye(count)
    return total.reshape(3 * count, 3 * count)


def test_recursion_equals_generalised_least_squares(data):
    """The oracle knows no recursion: all samples at once, weighted by the covariance of the coloured noise."""
    Y, A, y = data
    state, log_likelihood = filtered(Y, A, y)
    H = np.concatenate([np.hstack((Y[k], columns_of(A[k]))) for k in range(len(y))])
    b, noise, before = y.ravel(), coloured_covariance(len(y)), np.eye(PARAMETERS + ERRORS)
    before[:PARAMETERS, :PARAMETERS] = PRIOR
    covariance = np.linalg.inv(H.T @ np.linalg.solve(noise, H) + np.linalg.inv(before))
    mean = covariance @ H.T @ np.linalg.solve(noise, b)
    known = np.r_[:PARAMETERS, PARAMETERS + 3 : PARAMETERS + 3 + ERRORS]
    # Both go through some hundred double-precision operations at a condition number of about 1e4.
    np.testing.assert_allclose(state.mean[known], mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(state.covariance[np.ix_(known, known)], covariance, rtol=1e-8, atol=1e-12)
    spread = H @ before @ H.T + noise
    evidence = -0.5 * (b @ np.linalg.solve(spread, b) + np.linalg.slogdet(2.0 * np.pi * spread)[1])
    assert log_likelihood == pytest.approx(evidence, rel=1e-8)


def test_standing_still_teaches_nothing_twice(data):
    """Without motion time the disturbance is one constant: an hour of one pose ends where a minute did."""
    Y, A, y = data

    def repeated(count):
        state = prior()
        for _ in range(count):
            predict(state.mean, state.covariance, 0.0, SIGMA, CORRELATION_TIME)
            learn(state, Y[0], A[0], y[0])
        return state

    minute, hour = repeated(6_000), repeated(360_000)
    std_minute, std_hour = (np.sqrt(np.diag(b.covariance)[:PARAMETERS]) for b in (minute, hour))
    # Only the white noise is averaged out further: std 0.1 / sqrt(6000) of it was left after a minute.
    np.testing.assert_allclose(std_hour, std_minute, rtol=1e-3)
    np.testing.assert_allclose(hour.mean, minute.mean, atol=1e-3)
    assert np.linalg.eigvalsh(hour.covariance)[0] > -1e-12


def test_without_learning_the_errors_stay_and_are_allowed_for(data):
    """Schmidt's filter: the covariance is that of the gain that was used (Joseph's form), which is the oracle."""
    Y, A, y = data
    state, _ = filtered(Y[:10], A[:10], y[:10])
    P, mean = state.covariance.copy(), state.mean.copy()
    errors = slice(PARAMETERS + 3, None)
    for i in range(3):
        h = np.concatenate((Y[10, i], np.eye(3)[i], columns_of(A[10])[i]))
        gain = P @ h / (h @ P @ h + VARIANCE[i])
        gain[errors] = 0.0
        mean += gain * (y[10, i] - h @ mean)
        left = np.eye(len(mean)) - np.outer(gain, h)
        P = left @ P @ left.T + VARIANCE[i] * np.outer(gain, gain)
    before = state.copy()
    learn(state, Y[10], A[10], y[10], learns=False)
    np.testing.assert_allclose(state.mean, mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(state.covariance, P, rtol=1e-8, atol=1e-11)
    np.testing.assert_array_equal(state.mean[errors], before.mean[errors])


def test_a_wild_sample_moves_nothing(data):
    """An innovation counts with weight (10 sigma / innovation)^2 beyond ten sigma: a million N m with none."""
    Y, A, y = data
    ends = []
    for torque in (1e6, 1e12):
        state, _ = filtered(Y, A, y)
        learn(state, Y[0], A[0], np.array([torque, *y[0, 1:]]))
        ends.append(state)
    np.testing.assert_allclose(ends[0].mean, ends[1].mean, atol=1e-4)
    np.testing.assert_allclose(ends[0].covariance, ends[1].covariance, atol=1e-6)
    assert np.abs(ends[0].mean).max() < 1.0


def test_forgetting_widens_up_to_the_prior_and_moves_no_mean(data):
    state, _ = filtered(*data)
    mean = state.mean.copy()
    theta = slice(0, PARAMETERS)
    for _ in range(4_000):
        learnt = 1.0 - np.diag(state.covariance)[-ERRORS:]
        forget(state, state.covariance[theta, theta].copy(), 0.99, PRIOR, learnt, 0.99)
    # 0.99 ** 4000 = 3e-18 of the information is left: less than rounding.
    np.testing.assert_allclose(state.covariance[:PARAMETERS, :PARAMETERS], PRIOR, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(np.diag(state.covariance)[-ERRORS:], 1.0, rtol=1e-9)
    np.testing.assert_array_equal(state.mean, mean)
    assert np.linalg.eigvalsh(state.covariance)[0] > -1e-12


def test_what_is_known_well_is_forgotten_slowly(data):
    """The share that is lost is one of the covariance that the errors' scales imply, and not of the state's."""
    state, _ = filtered(*data)
    theta, before = slice(0, PARAMETERS), state.covariance.copy()
    known = 0.01 * before[theta, theta]
    forget(state, known, 0.99, PRIOR, np.full(ERRORS, 0.04), 0.9)
    added = state.covariance - before
    assert 0.0 < np.trace(added[theta, theta]) < 0.011 * np.trace(known)  # 1 / 0.99 - 1, and less near the prior
    np.testing.assert_allclose(np.diag(added)[-ERRORS:], 0.1 * 0.04, rtol=1e-9)
