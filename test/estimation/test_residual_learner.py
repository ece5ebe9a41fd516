# SPDX-License-Identifier: Apache-2.0
"""Learning a residual map: of a torque that is known, and of a real arm, on motion that was not learnt from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from motion import AMPLITUDE, REST, sinusoids, torques
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.residual_torques import residual_torques
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation import smooth_payloads
from panda_dynamics_ros.estimation.regression import MomentumRegression

RATE = 500.0


def unmodelled(q: FloatArray, dq: FloatArray) -> FloatArray:
    """Torques that no model of rigid bodies has: they depend on posture and on the direction of motion."""
    return 0.15 * np.sin(2.0 * q + np.roll(q, 1, axis=-1)) + 0.1 * np.tanh(dq / 0.1)


@pytest.fixture(scope="module")
def recording(panda: pdr.RobotModel) -> pdr.JointDataset:
    motion = sinusoids(8.0, RATE)
    tau = torques(panda, motion) + unmodelled(motion.q, motion.dq)
    return pdr.JointDataset(motion.stamp, motion.q, motion.dq, tau, panda.joint_names, "unloaded")


@pytest.fixture(scope="module")
def learnt(panda: pdr.RobotModel, recording: pdr.JointDataset) -> pdr.RobotModel:
    return pdr.learn_residual(recording, panda)


def test_the_map_is_the_torque_that_was_not_modelled(learnt: pdr.RobotModel, recording: pdr.JointDataset) -> None:
    rows = slice(1000, 4000, 50)
    q, dq = recording.q[rows], recording.dq[rows]
    mean, std = residual_torques(learnt, q, dq)
    error = mean - unmodelled(q, dq)
    # Through the 3 Hz filters little of a reversal is left: a third of the torque remains open, and the map knows it.
    assert np.sqrt((error**2).mean()) < 0.3 * np.sqrt((unmodelled(q, dq) ** 2).mean())
    inside = np.abs(error) < 3.0 * std
    assert inside.mean() > 0.9


def test_terms_subtract_the_mean_before_the_filters(
    panda: pdr.RobotModel, learnt: pdr.RobotModel, recording: pdr.JointDataset
) -> None:
    sample = recording.q[1500], recording.dq[1500], recording.tau[1500]
    plain = MomentumTerms(panda).at(*sample).bias[:, ARM].copy()
    terms = MomentumTerms(learnt).at(*sample)
    mean, std = residual_torques(learnt, *sample[:2])
    np.testing.assert_allclose(plain - terms.bias[:, ARM], mean, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(terms.unexplained), std / panda.residual.std, atol=1e-12)


def test_a_payload_is_found_better_where_the_arm_was_learnt(
    panda: pdr.RobotModel, learnt: pdr.RobotModel, recording: pdr.JointDataset
) -> None:
    payload = pdr.InertialParameters(0.5, [0.02, -0.01, 0.06], 0.5 * np.diag([0.004, 0.004, 0.003]))
    motion = sinusoids(8.0, RATE)
    tau = torques(panda.with_payload(payload), motion) + unmodelled(motion.q, motion.dq)
    masses, stds, events = [], [], 0
    for robot in (panda, learnt):
        estimator = pdr.PayloadEstimator(robot)
        for k in range(1000, 2500):
            estimate = estimator.update(motion.stamp[k], motion.q[k], motion.dq[k], tau[k])
            events += estimate.event is not None
        masses.append(abs(estimate.mass - 0.5))
        stds.append(estimate.std[0])
    assert events == 0
    assert masses[1] < 0.01  # the acceptance figure of 1 kg is 6 g
    assert stds[1] < 0.5 * stds[0]
    assert masses[1] < 3.0 * stds[1]


def test_the_smoother_uses_the_map(panda: pdr.RobotModel, learnt: pdr.RobotModel, recording: pdr.JointDataset) -> None:
    payload = pdr.InertialParameters(0.5, [0.02, -0.01, 0.06], 0.5 * np.diag([0.004, 0.004, 0.003]))
    motion = sinusoids(3.0, RATE, start=2.0)
    tau = torques(panda.with_payload(payload), motion) + unmodelled(motion.q, motion.dq)
    errors = []
    for robot in (panda, learnt):
        (segment,) = smooth_payloads(robot, motion.stamp, motion.q, motion.dq, tau)
        errors.append(abs(segment.estimate.mass - 0.5))
        assert errors[-1] < 3.0 * segment.estimate.std[0]
    assert errors[1] < min(0.01, 0.5 * errors[0])


def test_far_from_what_was_learnt_the_estimator_is_what_it_was(panda: pdr.RobotModel, learnt: pdr.RobotModel) -> None:
    motion = sinusoids(3.0, RATE)
    q = motion.q + np.array([2.5, 0.0, 2.5, 0.0, 2.5, 0.0, 2.5])
    tau = panda.inverse_dynamics(q, motion.dq, motion.ddq) + panda.friction_torques(motion.dq)
    answers = []
    for robot in (panda, learnt):
        estimator = pdr.PayloadEstimator(robot)
        for k in range(len(q)):
            estimate = estimator.update(motion.stamp[k], q[k], motion.dq[k], tau[k])
        answers.append(np.concatenate((estimate.vector, estimate.std)))
    np.testing.assert_array_equal(answers[0], answers[1])


def test_bad_recordings_are_refused(panda: pdr.RobotModel, recording: pdr.JointDataset) -> None:
    with pytest.raises(ArgumentError, match="at least one recording"):
        pdr.learn_residual([], panda)
    still = replace(recording, q=np.tile(recording.q[:1], (len(recording.q), 1)), dq=np.zeros_like(recording.dq))
    with pytest.raises(DataError, match="motion"):
        pdr.learn_residual(still, panda)
    six = replace(recording, names=recording.names[:6], **{x: getattr(recording, x)[:, :6] for x in ("q", "dq", "tau")})
    with pytest.raises(DataError, match="7 joints"):
        pdr.learn_residual(six, panda)


def test_on_a_real_arm_the_second_run_of_a_motion_is_predicted(panda_1khz_log: Path) -> None:
    """Through the estimator's filters the map leaves less than a third of what the published model leaves."""
    name = "excitation_1khz_second_pass_13333ms_to_17000ms.csv"
    panda, first = pdr.load_robot("panda"), pdr.load_dataset(panda_1khz_log)
    second = pdr.load_dataset(panda_1khz_log.with_name(name))
    before, after = (_filtered_residual(robot, second) for robot in (panda, pdr.learn_residual(first, panda)))
    share = after / before
    assert (share < [0.4, 0.15, 0.4, 0.25, 0.15, 0.2, 0.2]).all(), share


def _filtered_residual(robot: pdr.RobotModel, data: pdr.JointDataset) -> FloatArray:
    """RMS (n,) of the estimator's y from 1 s on: the first run begins at rest, the second does not."""
    regression, terms, found = MomentumRegression(robot.n, 3.0), MomentumTerms(robot), []
    for k, dt in enumerate(np.diff(data.stamp, prepend=data.stamp[0])):
        y = regression.step(dt, terms.at(data.q[k], data.dq[k], data.tau[k]))[1].copy()
        if data.stamp[k] > data.stamp[0] + 1.0:
            found.append(y)
    return np.sqrt(np.mean(np.square(found), axis=0))


def repeated(turns: float) -> FloatArray:
    """q (N, 7) of a motion that comes again every 5 s, at `RATE`."""
    t = np.arange(round(5.0 * turns * RATE)) / RATE
    return REST + AMPLITUDE * np.sin(2.0 * np.pi * 0.2 * t[:, None] * np.array([1, 2, 1, 2, 1, 2, 3]))


@pytest.fixture(scope="module")
def cycles(panda: pdr.RobotModel) -> pdr.JointDataset:
    """Six cycles of an unloaded arm whose torques have a part that is not modelled."""
    q = repeated(6.0)
    dq = np.gradient(q, 1.0 / RATE, axis=0)
    tau = panda.inverse_dynamics(q, dq, np.gradient(dq, 1.0 / RATE, axis=0)) + panda.friction_torques(dq)
    return pdr.JointDataset(
        np.arange(len(q)) / RATE, q, dq, tau + unmodelled(q, dq), panda.joint_names, "cycles"
    )  # fmt: skip


@pytest.fixture(scope="module")
def watched(panda: pdr.RobotModel, cycles: pdr.JointDataset) -> tuple[pdr.ArmMonitor, list[str]]:
    """A monitor that has learnt from five cycles, and what it reported."""
    monitor, events = pdr.ArmMonitor(panda, learn_residual=True), []
    for k in range(round(25.0 * RATE)):
        output = monitor.update_payload(cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k])
        if output.estimate.event is not None:
            events.append(output.estimate.event.kind)
    return monitor, events


def test_a_monitor_learns_what_the_same_rows_teach_at_once(
    watched: tuple[pdr.ArmMonitor, list[str]], panda: pdr.RobotModel, cycles: pdr.JointDataset
) -> None:
    monitor, events = watched
    part = slice(0, round(20.0 * RATE))
    at_once = pdr.learn_residual(
        pdr.JointDataset(
            cycles.stamp[part], cycles.q[part], cycles.dq[part], cycles.tau[part], cycles.names, cycles.source
        ),
        panda,
    )
    assert events == []
    rows = slice(round(10.0 * RATE), round(15.0 * RATE), 25)
    now = replace(panda, residual_map=monitor.residual_map)
    mean, std = residual_torques(now, cycles.q[rows], cycles.dq[rows])
    expected, expected_std = residual_torques(at_once, cycles.q[rows], cycles.dq[rows])
    # Other points, and other rows at the start: they agree within what both leave open.
    assert np.sqrt(((mean - expected) ** 2).mean()) < 0.15 * np.sqrt((expected**2).mean())
    assert std.mean() < 1.5 * expected_std.mean()


def test_a_new_map_is_used_as_if_it_had_always_been_there(panda: pdr.RobotModel, cycles: pdr.JointDataset) -> None:
    monitor = pdr.ArmMonitor(panda, learn_residual=True)
    maps, k = [monitor.residual_map], 0
    while len(maps) < 2:
        sample = cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k]
        residual = monitor.update_payload(*sample).residual
        if monitor.residual_map is not maps[-1]:
            maps.append(monitor.residual_map)
        k += 1
    always = replace(panda, residual_map=maps[-1])
    regression, terms = MomentumRegression(7, 3.0), MomentumTerms(always)
    for i in range(k + 1):
        Y, y = regression.step(1.0 / RATE if i else 0.0, terms.at(cycles.q[i], cycles.dq[i], cycles.tau[i]))
    output = monitor.update_payload(cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k])
    # The last 0.3 s of states are filtered anew: what came before has faded to a hundredth.
    change = np.abs(residual - output.residual).max()
    np.testing.assert_allclose(output.residual, y - Y @ output.estimate.vector, atol=0.01)
    assert change > 0.01  # else this would say nothing


def test_nothing_is_learnt_while_something_is_carried(
    watched: tuple[pdr.ArmMonitor, list[str]], panda: pdr.RobotModel, cycles: pdr.JointDataset
) -> None:
    monitor, _ = watched
    payload = pdr.InertialParameters(0.5, [0.02, -0.01, 0.06], 0.5 * np.diag([0.004, 0.004, 0.003]))
    dq = cycles.dq
    extra = panda.payload_regressor(cycles.q, dq, np.gradient(dq, 1.0 / RATE, axis=0)) @ payload.vector
    for k in range(round(25.0 * RATE), round(26.0 * RATE)):
        output = monitor.update_payload(cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k] + extra[k])
    before = monitor.residual_map
    for k in range(round(26.0 * RATE), len(cycles.stamp)):
        output = monitor.update_payload(cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k] + extra[k])
    assert monitor.residual_map is before
    assert output.estimate.mass == pytest.approx(0.5, abs=0.006)


def test_a_map_can_be_restored(watched: tuple[pdr.ArmMonitor, list[str]], panda: pdr.RobotModel) -> None:
    known = watched[0].residual_map
    assert known is not None
    monitor = pdr.ArmMonitor(panda, learn_residual=True)
    monitor.restore_map(known)
    assert monitor.residual_map is known
    with pytest.raises(ArgumentError, match="residual_map"):
        pdr.ArmMonitor(panda).restore_map(known)


@pytest.mark.parametrize(("learns_arm", "tolerance"), [(False, 0.01), (True, 0.1)])
def test_a_new_map_is_neither_external_torque_nor_contact(
    learns_arm: bool, tolerance: float, panda: pdr.RobotModel, cycles: pdr.JointDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Observer and contact detector go on as those of an arm that always had the map; the payload counts as none.

    What was learnt of the arm before is forgotten with the map. Where its friction differs from the published one, the
    observer sees that for the 16 ms that it averages over.
    """
    if not learns_arm:
        monkeypatch.setattr("panda_dynamics_ros.estimation.learnt_arm.LearntArm.update", lambda *_: False)
    monkeypatch.setattr(pdr.ArmMonitor, "_carry_vector", lambda *_: None)
    monitor, k = pdr.ArmMonitor(panda, learn_residual=True), 0
    first = monitor.residual_map
    while monitor.residual_map is first:
        output = monitor.update(cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k])
        k += 1
    always = pdr.ArmMonitor(replace(panda, residual_map=monitor.residual_map))
    for i in range(k + 1):
        expected = always.update(cycles.stamp[i], cycles.q[i], cycles.dq[i], cycles.tau[i])
    previous = output.external_torques
    output = monitor.update(cycles.stamp[k], cycles.q[k], cycles.dq[k], cycles.tau[k])
    # States of the last 0.3 s, one every 10 ms, are filtered anew; the map says up to some 0.2 N m.
    np.testing.assert_allclose(output.external_torques, expected.external_torques, atol=tolerance)
    assert np.abs(previous - output.external_torques).max() < 0.02  # the sample that brought the map had it, too
    assert output.contact is None


def test_nothing_is_learnt_while_the_torque_of_a_payload_fades(panda: pdr.RobotModel, cycles: pdr.JointDataset) -> None:
    """Three kilograms are put down: the filtered torque that is left of them must not become a part of the arm."""
    payload = pdr.InertialParameters(3.0, [0.02, -0.01, 0.06], 3.0 * np.diag([0.004, 0.004, 0.003]))
    ddq = np.gradient(cycles.dq, 1.0 / RATE, axis=0)
    extra = panda.payload_regressor(cycles.q, cycles.dq, ddq) @ payload.vector
    monitor, released = pdr.ArmMonitor(panda, learn_residual=True), round(6.0 * RATE)
    for k in range(len(cycles.stamp)):
        tau = cycles.tau[k] + extra[k] * (k < released)
        monitor.update_payload(cycles.stamp[k], cycles.q[k], cycles.dq[k], tau)
    known = monitor.residual_map
    assert known is not None and len(known.points)
    rows = slice(released, released + round(1.0 * RATE), 10)
    mean, _ = residual_torques(replace(panda, residual_map=known), cycles.q[rows], cycles.dq[rows])
    error = mean - unmodelled(cycles.q[rows], cycles.dq[rows])
    assert np.sqrt((error**2).mean()) < 0.07  # as where nothing was carried before: a third of .2 N m


def test_what_does_not_repeat_is_not_learnt(
    panda: pdr.RobotModel, cycles: pdr.JointDataset, rng: np.random.Generator
) -> None:
    """A coloured torque looks like a function of the posture until the arm comes by again: no map is used before."""
    a = np.exp(-1.0 / (RATE * 0.4))
    noise = np.zeros_like(cycles.tau)
    for k in range(1, len(noise)):
        noise[k] = a * noise[k - 1] + np.sqrt(1.0 - a * a) * panda.residual.std * rng.standard_normal(7)
    monitor, events = pdr.ArmMonitor(panda, learn_residual=True), []
    tau = cycles.tau - unmodelled(cycles.q, cycles.dq) + noise
    for k in range(len(tau)):
        output = monitor.update_payload(cycles.stamp[k], cycles.q[k], cycles.dq[k], tau[k])
        if output.estimate.event is not None:
            events.append(output.estimate.event.kind)
        if k == round(6.0 * RATE):
            seen_once = monitor.residual_map
    assert events == []
    assert seen_once is not None and len(seen_once.points) == 0
    known = monitor.residual_map
    assert known is not None
    _, std = residual_torques(replace(panda, residual_map=known), cycles.q[::50], cycles.dq[::50])
    assert (std > 0.2 * panda.residual.std).mean() > 0.9
