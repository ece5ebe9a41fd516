# SPDX-License-Identifier: Apache-2.0
"""An estimator goes on where another one stopped."""

from typing import Any

import numpy as np
import pytest
from motion import PAYLOAD, coloured, sinusoids, torques

from panda_dynamics_ros import InertialParameters, PandaDynamicsError, RobotModel, load_robot
from panda_dynamics_ros.estimation import PayloadEstimate, PayloadEstimator

TOOL = InertialParameters(0.7, np.array([0.0, 0.01, 0.05]), np.diag([0.003, 0.004, 0.003]))


def feed(
    estimator: PayloadEstimator, robot: RobotModel, payload: InertialParameters | None, start: float, duration: float
) -> list[PayloadEstimate]:
    """Motion at 200 Hz with the residual that the robot's model expects; the estimate after each sample."""
    motion = sinusoids(duration, rate=200.0, start=start)
    tau = torques(robot, motion, payload) + coloured(robot, motion.stamp, np.random.default_rng(7))
    return [estimator.update(motion.stamp[k], motion.q[k], motion.dq[k], tau[k]) for k in range(len(tau))]


@pytest.fixture
def tared(panda):
    """Carries a payload below a tool that was tared."""
    estimator = PayloadEstimator(panda)
    feed(estimator, panda, TOOL, 0.0, 4.0)
    estimator.tare()
    feed(estimator, panda, TOOL + PAYLOAD, 4.0, 4.0)
    return estimator


def test_the_estimate_is_what_it_was(tared, panda):
    """Memory to the bit, covariance to rounding; the body up to where its iteration stops from another start."""
    before, memory = tared.estimate, tared.memory
    assert before.mass > 0.8
    restored = PayloadEstimator(panda)
    restored.restore(memory.vector, memory.covariance, memory.tare)
    after = restored.estimate
    for name in ("vector", "covariance", "tare"):
        np.testing.assert_array_equal(getattr(restored.memory, name), getattr(memory, name))
    assert (np.abs(after.vector - before.vector) < 0.1 * before.std).all()
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=1e-12, atol=0.0)
    np.testing.assert_array_equal(after.identifiable, before.identifiable)
    assert after.status == "waiting for samples"


def test_it_goes_on_as_if_nothing_had_been(tared, panda):
    """Two seconds later: without the tare the tool would count as 0.7 kg, ten sigma."""
    memory = tared.memory
    restored = PayloadEstimator(panda)
    restored.restore(memory.vector, memory.covariance, memory.tare)
    then, now = (feed(each, panda, TOOL + PAYLOAD, 100.0, 2.0) for each in (tared, restored))
    assert not [estimate.event for estimate in now if estimate.event]
    # The one that stopped knew its disturbance, too: half a sigma of difference at most.
    assert abs(now[-1].mass - then[-1].mass) < 0.5 * then[-1].std[0]
    assert now[-1].std[0] < 1.5 * then[-1].std[0]


def test_what_was_learnt_about_the_arm_comes_back(tared, panda):
    """With the arm's errors an interval goes on; without them it is the first one's, on an arm like any other."""
    memory, restored = tared.memory, PayloadEstimator(panda)
    restored.restore(memory.vector, memory.covariance, memory.tare, memory.arm)
    assert memory.arm is not None
    assert restored.memory.arm is not None
    for name in ("mean", "covariance", "noise_ratio"):
        np.testing.assert_array_equal(getattr(restored.memory.arm, name), getattr(memory.arm, name))
    # The scales' posterior is worked out ten times a second: the last time was up to that long ago.
    np.testing.assert_allclose(restored.arm_errors.offset, tared.arm_errors.offset, atol=0.02)
    assert restored.arm_errors.offset.any()
    unlearnt = PayloadEstimator(panda).arm_errors.offset_std
    assert restored.arm_errors.offset_std.mean() < 0.8 * unlearnt.mean()  # one joint's scale may have grown


def test_the_memory_of_another_arm_is_refused(tared):
    memory, other = tared.memory, PayloadEstimator(load_robot("fr3"))
    with pytest.raises(PandaDynamicsError, match=r"^arm.mean: expected shape"):
        other.restore(memory.vector, memory.covariance, memory.tare, memory.arm)


def test_what_is_remembered_stays_as_it_was(tared, panda):
    memory = tared.memory
    vector = memory.vector.copy()
    feed(tared, panda, TOOL, 8.0, 1.0)
    np.testing.assert_array_equal(memory.vector, vector)
    assert not np.array_equal(tared.memory.vector, vector)


def test_a_payload_that_was_put_down_meanwhile_is_noticed(tared, panda):
    memory = tared.memory
    restored = PayloadEstimator(panda)
    restored.restore(memory.vector, memory.covariance, memory.tare)
    estimates = feed(restored, panda, TOOL, 100.0, 4.0)
    assert "release" in {estimate.event.kind for estimate in estimates if estimate.event}
    assert abs(estimates[-1].mass) < 3.0 * estimates[-1].std[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vector", np.zeros(9)),
        ("vector", np.full(10, np.nan)),
        ("covariance", np.eye(9)),
        ("covariance", -np.eye(10)),
        ("covariance", np.zeros((10, 10))),
        ("covariance", np.eye(10) + np.eye(10, k=1)),
        ("tare", np.zeros(4)),
    ],
)
def test_what_is_no_memory_is_refused_and_harms_nothing(name, value, tared):
    before = tared.estimate
    arguments: dict[str, Any] = {"vector": np.zeros(10), "covariance": np.eye(10), "tare": np.zeros(10)}
    with pytest.raises(PandaDynamicsError, match=f"^{name}: expected"):
        tared.restore(**{**arguments, name: value})
    assert tared.estimate is before
