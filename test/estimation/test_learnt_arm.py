# SPDX-License-Identifier: Apache-2.0
"""What the payload estimator has learnt about the arm reaches external torques and contacts."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import public_log
from motion import PAYLOAD, coloured, sinusoids, torques
from panda_dynamics_ros.estimation.arm_errors import ArmErrorRegression
from panda_dynamics_ros.estimation.learnt_arm import LearntArm
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms

from panda_dynamics_ros import ArmMonitor, RobotModel, load_dataset, load_robot
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import ContactDetector, MomentumObserver
from panda_dynamics_ros.estimation.regression import MomentumRegression


@pytest.mark.parametrize("name", ["panda", "panda_ledezma"])  # one without published friction, too
def test_the_learnt_model_has_the_torques_of_the_errors_columns(name: str, rng: np.random.Generator) -> None:
    """y of the learnt model is y - A phi, without gain, which has the payload in it, and delay, which no model has."""
    robot, motion = load_robot(name), sinusoids(2.0)
    tau = torques(robot, motion)
    errors = ArmErrorRegression(robot, 2.0 * np.pi * 3.0)
    phi = rng.standard_normal(errors.size)
    phi[errors.shared - 1] = 0.0
    phi[errors.shared + 4 :: 5] = 0.0
    pipelines = [(MomentumTerms(robot), MomentumRegression(robot.n, 3.0)) for _ in range(2)]
    learnt = LearntArm(MomentumObserver(robot), ContactDetector(robot))
    learnt.use(errors.model(phi), pipelines[1][0], motion.q[0], motion.dq[0], tau[0])
    y = np.zeros((2, robot.n))
    for k, (q, dq) in enumerate(zip(motion.q, motion.dq, strict=True)):
        for row, (terms, regression) in enumerate(pipelines):
            terms.at(q, dq, tau[k])
            if row:
                learnt.apply(terms, q, dq, tau[k])
            y[row] = regression.step(1e-3, terms)[1]
        errors.step(1e-3, q, dq, np.zeros(robot.n), np.zeros(robot.n), np.ones(robot.n))
    A, shared = errors.A, errors.shared
    expected = A[:, :shared] @ phi[:shared] + np.sum(A[:, shared:] * phi[shared:].reshape(robot.n, -1), axis=1)
    assert np.abs(expected).max() > 1.0
    # The tilt turns gravity to first order, and both are filtered alike.
    np.testing.assert_allclose(y[0] - y[1], expected, rtol=0.0, atol=0.01)


def test_a_change_of_the_model_is_as_if_it_had_always_been_so(panda: RobotModel, rng: np.random.Generator) -> None:
    """Where the motion stays the same; the filters forget what differs."""
    motion = sinusoids(1.0)
    tau = torques(panda, motion)
    errors = ArmErrorRegression(panda, 2.0 * np.pi * 3.0)
    model = errors.model(rng.standard_normal(errors.size))
    q, dq = motion.q[500], motion.dq[500]
    outputs = []
    for changed_at in (0, 200):
        observer, terms = MomentumObserver(panda), MomentumTerms(panda)
        learnt = LearntArm(observer, ContactDetector(panda))
        for k in range(201):
            terms.at(q, dq, tau[500])
            if k == changed_at:
                learnt.use(model, terms, q, dq, tau[500])
            learnt.apply(terms, q, dq, tau[500])
            found = observer.update_terms(1e-3 * k, terms)
        outputs.append(found)
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=0.0, atol=1e-9)


def external(robot: RobotModel, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray) -> FloatArray:
    """RMS (n,) of external torques from 3 s on, and no contact."""
    monitor, found = ArmMonitor(robot), []
    for sample in zip(stamp, q, dq, tau, strict=True):
        output = monitor.update(*sample)
        assert output.contact is None
        if sample[0] - stamp[0] > 3.0:
            found.append(output.external_torques)
    rms: FloatArray = np.sqrt(np.mean(np.square(found), axis=0))
    return rms


def test_offsets_and_friction_that_are_learnt_are_not_external(
    panda: RobotModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion = sinusoids(8.0, 500.0)
    wrong = np.array([0.8, -0.8, 0.6, -0.6, 0.4, 0.3, -0.4]) + panda.friction_torques(motion.dq)
    tau = torques(panda, motion) + coloured(panda, motion.stamp, np.random.default_rng(2)) + wrong
    arguments = panda, motion.stamp, motion.q, motion.dq, tau
    learnt = external(*arguments)
    monkeypatch.setattr(LearntArm, "update", lambda *_: False)
    published = external(*arguments)
    assert (learnt < published).all()
    assert (learnt[4:] < 0.5 * published[4:]).all()  # of the wrist, where the coloured residual is small


def test_pushes_on_an_arm_that_was_learnt_are_found_and_their_torques_are_whole(panda: RobotModel) -> None:
    """10 N m on joint 4 for 0.3 s, with a payload, after six seconds of learning."""
    motion = sinusoids(7.0, 1000.0)
    pushed = (motion.stamp >= 6.0) & (motion.stamp < 6.3)
    tau = torques(panda, motion, PAYLOAD) + 0.4 + 0.5 * motion.dq
    tau[pushed, 3] -= 10.0
    monitor, largest, starts = ArmMonitor(panda), 0.0, set()
    for stamp, *sample in zip(motion.stamp, motion.q, motion.dq, tau, strict=True):
        output = monitor.update(stamp, *sample)
        largest = max(largest, output.external_torques[3] * (stamp > 6.1))
        if output.contact is not None:
            starts.add(output.contact.start)
    assert len(starts) == 1
    assert 0.0 < min(starts) - 6.0 < 0.05
    assert largest == pytest.approx(10.0, abs=1.0)


@pytest.mark.parametrize(
    ("log", "robot", "end_effector"),
    [
        ("panda_gaz/excitation_1khz_first_7600ms.csv", "panda", "none"),
        ("panda_gaz/excitation_1khz_second_pass_13333ms_to_17000ms.csv", "panda", "none"),
        ("panda_unisa_bag/panda_exciting_trajectory.db3", "panda", "none"),
        ("fr3_hand_teleop/teleop_1khz_a.csv", "fr3", "hand"),
        ("fr3_hand_teleop/teleop_1khz_b.csv", "fr3", "hand"),
    ],
)
def test_real_arms_in_free_motion_have_no_contact(
    log: str, robot: str, end_effector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And smaller external torques, of all joints together in units of the residual, than with the published model."""
    data, model = load_dataset(public_log(log)), load_robot(robot, end_effector=end_effector)
    arguments = model, data.stamp, data.q, data.dq, data.tau
    learnt = external(*arguments)
    monkeypatch.setattr(LearntArm, "update", lambda *_: False)
    assert np.linalg.norm(learnt / model.residual.std) < np.linalg.norm(external(*arguments) / model.residual.std)
