# SPDX-License-Identifier: Apache-2.0
"""The accuracy benchmark's own helpers: exact cases, where every figure is known."""

import numpy as np
import pytest
from motion import sinusoids, torques

import panda_dynamics_ros as pdr
from benchmarks.payload.methods import Answer, batch_least_squares, forgetting_least_squares, gravity_only
from benchmarks.payload.samples import Samples, body
from benchmarks.payload.trial import Outcome, judged


def samples(robot: pdr.RobotModel, duration: float, payload: pdr.InertialParameters | None = None) -> Samples:
    motion = sinusoids(duration)
    tau = torques(robot.without_friction(), motion, payload) + robot.friction_torques(motion.dq)
    return Samples(motion.stamp, motion.q, motion.dq, tau)


OURS = "estimator"


def outcome(mass_error: float, held: bool, com_error: float = 0.01) -> Outcome:
    return Outcome("s", "a", "cold", 1.0, 2.0, OURS, mass_error, com_error, 0.0, held, (held, True, True))


def test_least_squares_finds_an_exact_payload(panda):
    """Without noise only the filters' edges and delays are left: grams and a millimetre in 4 s of motion."""
    payload = body(1.0)
    data = samples(panda, 4.2, payload)
    for method in (batch_least_squares, forgetting_least_squares):
        (answer,) = method(panda, data, 0.0, [4.0]).answers
        assert answer.mass == pytest.approx(1.0, abs=0.005)
        np.testing.assert_allclose(answer.com, payload.com, atol=1e-3)
        np.testing.assert_allclose(answer.body.inertia, payload.inertia, atol=1e-3)


def test_gravity_only_is_right_for_an_arm_at_rest_in_several_poses(panda):
    payload = body(2.0)
    q = np.repeat(sinusoids(4.0, rate=2.0).q, 10, axis=0)
    still = np.zeros_like(q)
    tau = panda.with_payload(payload).gravity_torques(q) + panda.friction_torques(still)
    data = Samples(0.01 * np.arange(len(q), dtype=np.float64), q, still, np.asarray(tau, dtype=np.float64))
    (answer,) = gravity_only(panda, data, 0.0, [1.0]).answers
    # The wide prior that makes few samples solvable pulls by some 1e-4.
    np.testing.assert_allclose(answer.vector[:4], payload.vector[:4], atol=1e-3)


def test_an_answer_is_judged_by_its_own_intervals():
    payload = body(1.0)
    vector = payload.vector.copy()
    vector[0] += 0.03
    vector[1:4] *= vector[0] / payload.mass  # the CoM stays where it is
    for std, held in ((0.02, True), (0.01, False)):
        result = judged("s", "a", "cold", 1.0, OURS, payload, Answer(vector, np.diag(np.full(10, std**2))))
        assert result.mass_error == pytest.approx(0.03)
        assert result.com_error == pytest.approx(0.0, abs=1e-12)
        assert result.mass_held is held
