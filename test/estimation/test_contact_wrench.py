# SPDX-License-Identifier: Apache-2.0
"""The wrench at the flange: against the textbook's formula, by its own covariance, and where joints feel nothing."""

import numpy as np
import pytest
from motion import REST

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import contact_wrench
from panda_dynamics_ros.estimation.external_torques import FORCE_STD, MOMENT_STD

WRENCH = np.array([10.0, -5.0, 20.0, 1.0, 0.5, -0.3])


def by_the_book(robot, q, external):
    """The same by NumPy's inverses."""
    J, W = robot.jacobian(q), np.diag(1.0 / robot.residual.std**2)
    prior = np.diag(np.repeat((FORCE_STD, MOMENT_STD), 3) ** -2.0)
    covariance = np.linalg.inv(prior + J @ W @ J.T)
    return covariance @ J @ W @ external, covariance


def test_it_is_the_weighted_pseudo_inverse(robot, rng):
    for _ in range(20):
        q = rng.uniform(robot.limits.lower, robot.limits.upper)
        external = rng.normal(size=7)
        found = contact_wrench(robot, q, external)
        wrench, covariance = by_the_book(robot, q, external)
        # The matrix may be as ill-conditioned as 1e10 near singularities; 1e-16 of the largest entry is rounding.
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.wrench, wrench, rtol=1e-6, atol=1e-6)


def test_a_wrench_on_the_flange_comes_back(panda):
    """Force along base axes, moment about the flange's origin: tau = J^T F of the flange's own Jacobian."""
    found = contact_wrench(panda, REST, panda.jacobian(REST).T @ WRENCH)
    # The prior takes (std / 100 N)^2 from a force, (std / 20 N m)^2 from a moment: below 1e-3 here.
    np.testing.assert_allclose(found.wrench, WRENCH, rtol=2e-3)
    assert found.observable.all()


def test_the_covariance_holds(panda, rng):
    """Normalised squared errors of six components have mean 6; 2000 draws fix it to 6 +- sqrt(12 / 2000) * 4."""
    J = panda.jacobian(REST)
    scale = np.repeat((FORCE_STD, MOMENT_STD), 3)
    squares = []
    for _ in range(2000):
        true = scale * rng.normal(size=6)
        found = contact_wrench(panda, REST, J.T @ true + panda.residual.std * rng.normal(size=7))
        error = found.wrench - true
        squares.append(error @ np.linalg.solve(found.covariance, error))
    assert np.mean(squares) == pytest.approx(6.0, abs=4.0 * np.sqrt(12.0 / 2000))


def test_what_the_joints_do_not_feel_is_not_made_up(panda):
    """Stretched out along z at q = 0, no joint feels a moment about x: no rotation about x is possible."""
    q = np.zeros(7)
    moment_about_x = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    assert np.abs(panda.jacobian(q).T @ moment_about_x).max() < 1e-9
    found = contact_wrench(panda, q, panda.residual.std)
    np.testing.assert_array_equal(found.observable, [True, True, True, False, True, True])
    assert abs(found.wrench[3]) < 1e-6
    assert found.std[3] == pytest.approx(MOMENT_STD)


@pytest.mark.parametrize(
    ("name", "q", "external"), [("q", np.zeros(6), np.zeros(7)), ("external", np.zeros(7), [np.nan] * 7)]
)
def test_bad_arguments_are_named(panda, name, q, external):
    with pytest.raises(ArgumentError, match=f"^{name}: expected"):
        contact_wrench(panda, q, external)
