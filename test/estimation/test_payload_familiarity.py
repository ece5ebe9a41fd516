# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from panda_dynamics_ros.estimation.familiarity import WIDEST_GAIN, CommonGain, Familiarity

from panda_dynamics_ros.estimation.kalman_filter import GaussianState
from panda_dynamics_ros.robot.inertial import PARAMETERS

ERRORS = 4
PRIOR = np.diag(np.array([1.5, *[0.15] * 3, *[0.02] * 6]) ** 2)


def posterior(scale: np.ndarray, H: np.ndarray, y: np.ndarray) -> GaussianState:
    """Of y = H (theta, phi) + e, with N(0, scale^2) as prior of phi: all at once."""
    prior = np.zeros((PARAMETERS + ERRORS, PARAMETERS + ERRORS))
    prior[:PARAMETERS, :PARAMETERS] = PRIOR
    prior[PARAMETERS:, PARAMETERS:] = np.diag(scale**2)
    P = np.linalg.inv(np.linalg.inv(prior) + H.T @ H)
    return GaussianState(P @ H.T @ y, P)


def test_a_narrow_prior_afterwards_is_a_narrow_prior_before() -> None:
    """The oracle knows nothing of the wide prior."""
    rng, scale = np.random.default_rng(1), np.array([0.1, 0.3, 0.5, 0.9])
    H, y = rng.normal(size=(12, PARAMETERS + ERRORS)), rng.normal(size=12)
    found = Familiarity(scale)
    found.update(posterior(np.ones(ERRORS), H, y), learns=False)
    expected = posterior(scale, H, y)
    mean, covariance = found.payload(posterior(np.ones(ERRORS), H, y))
    # Inverses of matrices with a condition of about 1e5.
    np.testing.assert_allclose(mean, expected.mean[:PARAMETERS], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(covariance, expected.covariance[:PARAMETERS, :PARAMETERS], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean[PARAMETERS:], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.variance, np.diag(expected.covariance)[PARAMETERS:], rtol=1e-8)


def test_scales_grow_where_the_arm_is_unlike_its_model() -> None:
    """One error is known to be large, one to be small, and of two nothing is known."""
    state = GaussianState.prior(np.zeros(PARAMETERS), PRIOR, np.zeros(0), ERRORS)
    state.mean[-ERRORS:-2] = [0.9, 0.0]
    state.covariance[[-4, -3], [-4, -3]] = 1e-4
    found = Familiarity(np.full(ERRORS, 0.2))
    for _ in range(100):
        found.update(state)
    # s^2 = (s_0^2 + 0.81) / 2, (s_0^2 + 0) / 2; what is not known keeps its usual scale.
    np.testing.assert_allclose(found.scale, [0.65, 0.14, 0.2, 0.2], atol=0.01)
    np.testing.assert_allclose(found.mean, [0.9, 0.0, 0.0, 0.0], atol=1e-3)


def test_a_common_gain_shows_in_the_errors() -> None:
    """The oracle has the gain as one more state: phi - c g is N(0, s^2), and phi is seen exactly."""
    rng, scale = np.random.default_rng(2), np.array([0.1, 0.3, 0.5, 0.9])
    c, phi = rng.normal(size=ERRORS), rng.normal(size=ERRORS)
    joint = WIDEST_GAIN**2 * np.outer(np.append(c, 1.0), np.append(c, 1.0))
    joint[:ERRORS, :ERRORS] += np.diag(scale**2)
    weights = np.linalg.solve(joint[:ERRORS, :ERRORS], joint[:ERRORS, ERRORS])
    state = GaussianState.prior(np.zeros(PARAMETERS), PRIOR, np.zeros(0), ERRORS)
    state.mean[-ERRORS:], state.common[-ERRORS:] = phi, c
    state.covariance[-ERRORS:, -ERRORS:] = 1e-12 * np.eye(ERRORS)
    found = Familiarity(scale)
    found.update(state, learns=False)
    gain = found.possible_gain
    np.testing.assert_allclose(gain.mean, weights @ phi, rtol=1e-6)
    np.testing.assert_allclose(gain.variance, joint[-1, -1] - weights @ joint[:ERRORS, ERRORS], rtol=1e-6)


@pytest.mark.parametrize("gain", [0.0, 4.0])
def test_the_interval_allows_for_a_large_gain_where_the_errors_show_one(gain: float) -> None:
    c = np.full(ERRORS, 0.4)
    state = GaussianState.prior(np.zeros(PARAMETERS), PRIOR, np.zeros(0), ERRORS)
    state.mean[-ERRORS:], state.common[-ERRORS:] = gain * c, c
    state.covariance[-ERRORS:, -ERRORS:] = 1e-12 * np.eye(ERRORS)
    found = Familiarity(np.full(ERRORS, 0.4))
    found.update(state)
    assert found.gain.size < 1.0 if gain == 0.0 else 0.9 * gain < found.gain.size < 1.1 * gain


def test_a_gain_explains_a_mass_behind_the_flange_and_no_tool() -> None:
    """One sigma of gain looks like 0.1 kg at z = -0.1 m."""
    common, covariance = np.zeros(PARAMETERS), np.diag(np.array([0.1, *[0.01] * 3, *[0.01] * 6]) ** 2)
    common[[0, 3]] = 0.1, -0.01
    tool = np.zeros(PARAMETERS)
    tool[[0, 3]] = 0.6, 0.0
    gain = CommonGain(1.0, 2.0)
    assert gain.explains(common, 3.0 * common, covariance)
    assert gain.explains(common, 4.5 * common, covariance)  # a mass that is certain, but where nothing can be carried
    assert not gain.explains(common, tool, covariance)
    assert not gain.explains(common, 8.0 * common, covariance)  # more than it can be
