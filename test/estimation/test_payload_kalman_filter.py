# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from panda_dynamics_ros.estimation.payload.kalman_filter import (
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


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return rng.normal(size=(25, 3, PARAMETERS)), rng.normal(size=(25, 3))


def learn(state, Y, y):
    """One correction; returns its log-likelihood."""
    step = FilterStep.zeros(len(y))
    return correct(state.mean, state.covariance, Y, y, VARIANCE, step.gain, step.innovation, step.innovation_variance)


def filtered(Y, y):
    state, log_likelihood = GaussianState.prior(np.zeros(PARAMETERS), PRIOR, SIGMA), 0.0
    for k in range(len(y)):
        if k:
            predict(state.mean, state.covariance, DT, SIGMA, CORRELATION_TIME)
        log_likelihood += learn(state, Y[k], y[k])
    return state, log_likelihood


def coloured_covariance(count):
    """Covariance (3 count, 3 count) of the disturbance and the white noise, sample by sample."""
    lag = DT * np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    total = np.zeros((count, 3, count, 3))
    for i in range(3):
        total[:, i, :, i] = SIGMA[i] ** 2 * np.exp(-lag / CORRELATION_TIME[i]) + VARIANCE[i] * np.eye(count)
    return total.reshape(3 * count, 3 * count)


def test_recursion_equals_generalised_least_squares(data):
    """The oracle knows no recursion: all samples at once, weighted by the covariance of the coloured noise."""
    Y, y = data
    state, log_likelihood = filtered(Y, y)
    A, b, noise = Y.reshape(-1, PARAMETERS), y.ravel(), coloured_covariance(len(y))
    covariance = np.linalg.inv(A.T @ np.linalg.solve(noise, A) + np.linalg.inv(PRIOR))
    mean = covariance @ A.T @ np.linalg.solve(noise, b)
    # Both go through some hundred double-precision operations at a condition number of about 1e4.
    np.testing.assert_allclose(state.mean[:PARAMETERS], mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(state.covariance[:PARAMETERS, :PARAMETERS], covariance, rtol=1e-8, atol=1e-12)
    spread = A @ PRIOR @ A.T + noise
    evidence = -0.5 * (b @ np.linalg.solve(spread, b) + np.linalg.slogdet(2.0 * np.pi * spread)[1])
    assert log_likelihood == pytest.approx(evidence, rel=1e-8)


def test_standing_still_teaches_nothing_twice(data):
    """Without motion time the disturbance is one constant: an hour of one pose ends where a minute did."""
    Y, y = data

    def repeated(count):
        state = GaussianState.prior(np.zeros(PARAMETERS), PRIOR, SIGMA)
        for _ in range(count):
            predict(state.mean, state.covariance, 0.0, SIGMA, CORRELATION_TIME)
            learn(state, Y[0], y[0])
        return state

    minute, hour = repeated(6_000), repeated(360_000)
    std_minute, std_hour = (np.sqrt(np.diag(b.covariance)[:PARAMETERS]) for b in (minute, hour))
    # Only the white noise is averaged out further: std 0.1 / sqrt(6000) of it was left after a minute.
    np.testing.assert_allclose(std_hour, std_minute, rtol=1e-3)
    np.testing.assert_allclose(hour.mean, minute.mean, atol=1e-3)
    assert np.linalg.eigvalsh(hour.covariance)[0] > -1e-12


def test_forgetting_is_bounded_by_the_prior(data):
    state, _ = filtered(*data)
    for _ in range(4_000):
        forget(state, 0.99, np.zeros(PARAMETERS), PRIOR)
    # 0.99 ** 4000 = 3e-18 of the information is left: less than rounding.
    np.testing.assert_allclose(state.covariance[:PARAMETERS, :PARAMETERS], PRIOR, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(state.mean[:PARAMETERS], 0.0, atol=1e-6)


def test_forgetting_keeps_what_the_disturbance_owes_to_the_payload(data):
    state, _ = filtered(*data)
    before = state.copy()
    forget(state, 0.8, np.zeros(PARAMETERS), PRIOR)

    def conditional(b):
        theta, d = slice(0, PARAMETERS), slice(PARAMETERS, None)
        regression = np.linalg.solve(b.covariance[theta, theta], b.covariance[theta, d]).T
        return regression, b.covariance[d, d] - regression @ b.covariance[theta, d]

    for after, earlier in zip(conditional(state), conditional(before), strict=True):
        np.testing.assert_allclose(after, earlier, rtol=1e-7, atol=1e-10)
    assert (np.diag(state.covariance)[:PARAMETERS] > np.diag(before.covariance)[:PARAMETERS]).all()
