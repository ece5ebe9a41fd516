# SPDX-License-Identifier: Apache-2.0
"""Each error of an arm's model, against the torques of an arm that has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from motion import sinusoids, torques
from panda_dynamics_ros.estimation.arm_errors import OWN, TERMS, ArmErrorRegression, error_directions
from panda_dynamics_ros.estimation.low_pass import TwoPoleFilter
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms
from panda_dynamics_ros.estimation.payload import arm_errors

from panda_dynamics_ros import InertialParameters, RobotModel, load_robot
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.regression import MomentumRegression

BANDWIDTH, SETTLED = 3.0, 600  # Hz; samples


def unexplained(model: RobotModel, tau: FloatArray, rate: float = 1000.0) -> FloatArray:
    """Filtered torque (N, n) that the unloaded model leaves unexplained."""
    motion, terms, regression = sinusoids(2.0, rate), MomentumTerms(model), MomentumRegression(model.n, BANDWIDTH)
    return np.array(
        [
            regression.step(1.0 / rate, terms.at(motion.q[k], motion.dq[k], tau[k]))[1].copy()
            for k in range(len(motion.stamp))
        ]
    )


@pytest.fixture(scope="module")
def columns(panda: RobotModel) -> FloatArray:
    """A (N, n, shared + 5) along the motion."""
    motion, pole = sinusoids(2.0, 1000.0), 2.0 * np.pi * BANDWIDTH
    regression, low_pass = ArmErrorRegression(panda, pole), TwoPoleFilter(panda.n, pole)
    found = []
    for k, (q, dq, tau) in enumerate(zip(motion.q, motion.dq, torques(panda, motion), strict=True)):
        modelled = low_pass.step(1e-3 if k else 0.0, tau)
        regression.step(1e-3, q, dq, modelled, np.zeros(7), np.ones(7))
        found.append(regression.A.copy())
    return np.array(found)


def arm_with(panda: RobotModel, direction: FloatArray) -> RobotModel:
    """The arm with its links' inertial vectors moved; bodies that cannot exist will do for torques."""
    vectors = (panda.inertial_vector + direction).reshape(-1, 10)
    return replace(panda, links=tuple(InertialParameters.from_vector(vector) for vector in vectors))


def test_columns_of_the_links(panda: RobotModel, columns: FloatArray) -> None:
    motion, nominal = sinusoids(2.0), torques(panda, sinusoids(2.0))
    directions = error_directions(panda)
    for k in (0, 3, directions.shape[1] - 1):
        tau = torques(arm_with(panda, directions[:, k]), motion)
        seen = unexplained(panda, tau) - unexplained(panda, nominal)
        # Without the filters' start: the samples begin in motion, which is a step for what has the acceleration in it.
        np.testing.assert_allclose(columns[SETTLED:, :, k], seen[SETTLED:], atol=2e-3)


def test_the_directions_left_out_are_small(panda: RobotModel) -> None:
    """Arms drawn from the prior itself, in states of their own: what no direction shows is a tenth of the residual."""
    rng, directions = np.random.default_rng(4), error_directions(panda)
    q = rng.uniform(panda.limits.lower, panda.limits.upper, (200, 7))
    Y = (panda.regressor(q, np.zeros((200, 7)), np.zeros((200, 7))) / panda.residual.std[:, None]).reshape(-1, 70)
    drawn = []
    for _ in range(30):
        links = [
            InertialParameters(
                link.mass * (1.0 + arm_errors.MASS * rng.standard_normal()),
                link.com + arm_errors.COM * rng.standard_normal(3),
                link.inertia,
            ).vector
            for link in panda.links
        ]
        drawn.append(np.concatenate(links) - panda.inertial_vector)
    shown = Y @ directions
    left = [Y @ change - shown @ np.linalg.lstsq(shown, Y @ change, rcond=None)[0] for change in drawn]
    # 0.1 by definition over all motion; gravity alone, where all joints count alike, is at most twice that.
    assert np.sqrt(np.mean(np.square(left))) < 0.2
    assert np.sqrt(np.mean(np.square([Y @ change for change in drawn]))) > 0.4


def test_columns_of_tilt_and_delay(panda: RobotModel, columns: FloatArray) -> None:
    motion, nominal = sinusoids(2.0), torques(panda, sinusoids(2.0))
    shared = columns.shape[2] - OWN
    lean = np.array([arm_errors.TILT * 9.81, 0.0, 0.0])
    seen = unexplained(panda, torques(replace(panda, gravity=panda.gravity + lean), motion))
    np.testing.assert_allclose(columns[:, :, shared - 3], seen - unexplained(panda, nominal), atol=1e-9)
    steps = round(arm_errors.DELAY * 1000.0)
    gravity = panda.gravity_torques(motion.q)
    late = np.concatenate([np.repeat(gravity[:1], steps, axis=0), gravity[:-steps]])
    seen = unexplained(panda, nominal + late - gravity) - unexplained(panda, nominal)
    # First order in 5 ms of sines of at most half a hertz: 1 % of the amplitude.
    error, size = (np.sqrt(np.mean(x[SETTLED:] ** 2)) for x in (columns[:, :, shared - 1] - seen, seen))
    assert error < 0.02 * size


@pytest.mark.parametrize("term", TERMS)
def test_columns_of_a_joint(panda: RobotModel, columns: FloatArray, term: str) -> None:
    motion, nominal = sinusoids(2.0), torques(panda, sinusoids(2.0))
    extra = {
        "offset": arm_errors.OFFSET * np.ones_like(nominal),
        "friction": arm_errors.FRICTION * panda.friction_torques(motion.dq),
        "viscous": arm_errors.VISCOUS * motion.dq,
        "rotor_inertia": arm_errors.ROTOR * motion.ddq,
        "gain": arm_errors.GAIN * nominal,
    }[term]
    seen = unexplained(panda, nominal + extra) - unexplained(panda, nominal)
    column = columns[:, :, columns.shape[2] - OWN + TERMS.index(term)]
    np.testing.assert_allclose(column[SETTLED:], seen[SETTLED:], atol=2e-3)


def test_coulomb_friction_where_none_is_published() -> None:
    fr3 = load_robot("fr3")
    regression = ArmErrorRegression(fr3, 2.0 * np.pi * BANDWIDTH)
    for _ in range(200):
        regression.step(0.01, np.zeros(7), np.full(7, 1.0), np.zeros(7), np.zeros(7), np.ones(7))
    # One radian per second is ten widths of the step: the sign.
    np.testing.assert_allclose(regression.A[:, -OWN + 1], arm_errors.COULOMB, rtol=1e-6)
