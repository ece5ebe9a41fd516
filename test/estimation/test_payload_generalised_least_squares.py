# SPDX-License-Identifier: Apache-2.0
import numpy as np
from panda_dynamics_ros.estimation.generalised_least_squares import (
    MODEL_ERROR_TIME,
    GeneralisedLeastSquares,
    payload_posteriors,
)

SIGMA, TAU = np.array([0.4, 1.5]), np.array([0.5, 0.2])


def generalised_least_squares(stamp, H, y, noise):
    """L and v with the whole covariance of every joint's noise written out and inverted."""
    L, v = 0.0, 0.0
    for i in range(len(SIGMA)):
        lag = np.abs(stamp[:, None] - stamp)
        C = SIGMA[i] ** 2 * np.exp(-lag / TAU[i]) + np.diag(noise[:, i])
        L = L + H[:, i].T @ np.linalg.solve(C, H[:, i])
        v = v + H[:, i].T @ np.linalg.solve(C, y[:, i])
    return L, v


def test_it_is_generalised_least_squares(rng):
    """Forty samples of two joints and three unknowns, uneven in time and noise."""
    stamp = np.cumsum(rng.uniform(0.005, 0.2, 40))
    H, y, noise = rng.normal(size=(40, 2, 3)), rng.normal(size=(40, 2)), rng.uniform(0.01, 1.0, (40, 2))
    fit = GeneralisedLeastSquares(3, SIGMA, TAU)
    for k in range(40):
        fit.predict(stamp[k] - stamp[k - 1] if k else 0.0)
        fit.update(0, H[k], y[k], noise[k])
    L, v = generalised_least_squares(stamp, H, y, noise)
    np.testing.assert_allclose(fit.information, L, rtol=1e-9)
    np.testing.assert_allclose(fit.vector, v, rtol=1e-9)


def test_unknowns_without_torque_or_trace_may_be_left_out(rng):
    """Once what the first two owe to d has died out, to leave them out changes nothing."""
    whole, part = GeneralisedLeastSquares(5, SIGMA, TAU), GeneralisedLeastSquares(5, SIGMA, TAU)
    for k in range(300):
        H, y, noise = rng.normal(size=(2, 5)), rng.normal(size=2), np.full(2, 0.1)
        if k >= 100:
            H[:, :2] = 0.0
        for fit in (whole, part):
            fit.predict(0.05)
        whole.update(0, H, y, noise)
        first = 2 if part.trace(0, 2) < 1e-12 and k >= 100 else 0
        part.update(first, H[:, first:], y, noise)
    assert first == 2
    np.testing.assert_allclose(part.information, whole.information, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(part.vector, whole.vector, rtol=1e-9, atol=1e-9)


def test_what_is_common_to_all_payloads_is_told_from_them(rng):
    """Three payloads of two entries each, the second one none: conditioning of the joint Gaussian, written out."""
    A = rng.normal(size=(30, 6))
    L, x = A.T @ A, rng.normal(size=6)
    spread, motion = np.array([2.0, 0.5]), np.array([3.0, 6.0, 2.0])
    mean, covariance = payload_posteriors(L, L @ x, motion, spread, {1})
    per_second = (L[:2, :2] + L[2:4, 2:4] + L[4:, 4:]) / 11.0
    B = np.linalg.inv(np.diag(spread**-2.0) + MODEL_ERROR_TIME * per_second)
    # phi = theta + b, measured as x with covariance L^-1; theta of the second is nothing.
    prior = np.kron(np.ones((3, 3)), B) + np.diag(np.concatenate((spread, [0.0, 0.0], spread)) ** 2.0)
    of_theta = np.diag(np.concatenate((spread, [0.0, 0.0], spread)) ** 2.0)
    gain = of_theta @ np.linalg.inv(prior + np.linalg.inv(L))
    np.testing.assert_allclose(mean.ravel(), gain @ x, rtol=1e-6, atol=1e-9)
    expected = of_theta - gain @ of_theta
    np.testing.assert_allclose(covariance[0], expected[:2, :2], rtol=1e-6)
    np.testing.assert_allclose(covariance[2], expected[4:, 4:], rtol=1e-6)
    assert np.abs(mean[1]).max() < 1e-9
