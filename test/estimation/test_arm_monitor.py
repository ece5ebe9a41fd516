# SPDX-License-Identifier: Apache-2.0
"""The one pipeline of nodes and replay gives what its parts give by themselves, and a recording as a whole what its
samples give one after the other, bit for bit.

With `FAMILIAR` nothing is learnt about the arm: what is learnt reaches external torques and contacts.
"""

from dataclasses import asdict, replace
from inspect import signature
from typing import Any

import numpy as np
import pytest
from conftest import some
from motion import carried, coloured, sinusoids, torques

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import ArmMonitor, PayloadEstimator, contact_wrench
from panda_dynamics_ros.robot.description import WITHOUT_GRAVITY
from panda_dynamics_ros.robot.joint_dataset import JointDataset

FAMILIAR: dict[str, Any] = {"arm_error_ratio": 1e-6}
PUSH = np.array([0.0, 20.0, 0.0, 10.0, 0.0, 0.0, 0.0])


def samples(panda):
    """2.5 s in which a payload appears after 1.2 s, and a push of 0.1 s comes at 2 s."""
    motion = sinusoids(2.5)
    pushed = ((motion.stamp > 2.0) & (motion.stamp < 2.1))[:, None]
    tau = carried(panda, motion, 1.2) - pushed * PUSH
    return zip(motion.stamp, motion.q, motion.dq, tau, strict=True)


@pytest.mark.parametrize(("function", "runs"), [(ArmMonitor, []), (pdr.weigh_paired_runs, [[0], [0]])])
def test_an_unknown_option_is_answered_with_all_that_there_are(function, runs, panda):
    named = [each.name for each in signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    with pytest.raises(ArgumentError, match=f"^options: .*max_gap_s, {', '.join(named)}, got shap$"):
        function(panda, *runs, shap="sphere 0.1")


def test_each_output_is_that_of_its_part(panda):
    """The payload's, and that of `dynamics`, which is told of the payload."""
    whole, dynamics, payload = ArmMonitor(panda, **FAMILIAR), ArmMonitor(panda), PayloadEstimator(panda, **FAMILIAR)
    events, touched, errors = [], 0, np.zeros(7)
    for stamp, q, dq, tau in samples(panda):
        output, of_payload = whole.update(stamp, q, dq, tau), payload.update(stamp, q, dq, tau)
        np.testing.assert_array_equal(output.estimate.vector, of_payload.vector)
        np.testing.assert_array_equal(output.estimate.covariance, of_payload.covariance)
        np.testing.assert_array_equal(output.residual, payload.residual)
        of_dynamics = rows_of_dynamics(dynamics, stamp, q, dq, tau)
        external = of_dynamics.external_torques[0] + errors
        np.testing.assert_allclose(output.external_torques, external, rtol=0.0, atol=1e-12)
        assert output.contact_changed == bool(of_dynamics.contacts)
        for _, contact in of_dynamics.contacts:
            assert output.contact is not None
            assert (output.contact.start, output.contact.link) == (contact.start, contact.link)
        if output.is_due:  # what is learnt counts from the next sample on
            dynamics.carry(of_payload.payload)
            errors = payload.error_torques
        wrench = contact_wrench(panda, q, output.external_torques).wrench
        np.testing.assert_array_equal(output.wrench.wrench, wrench)
        np.testing.assert_array_equal(output.gravity_torques, panda.gravity_torques(q))
        np.testing.assert_array_equal(output.coriolis_torques, panda.coriolis_torques(q, dq))
        np.testing.assert_allclose(output.T_base_ee, panda.pose(q, "ee"), rtol=0.0, atol=1e-14)
        events += [output.estimate.event.kind] if output.estimate.event else []
        touched += output.contact_changed
    assert events and events[0] == "pick", "a recording without any event would prove little"
    assert touched >= 2


def rows_of_dynamics(monitor, *sample):
    return monitor.update_rows(*map(np.atleast_1d, sample[:1]), *(each[None] for each in sample[1:]), payload=False)


@pytest.mark.parametrize("part", [ArmMonitor.update, rows_of_dynamics])
def test_bad_input_is_refused_and_changes_nothing(panda, part):
    given = list(samples(panda))[:200]
    clean, disturbed = ArmMonitor(panda), ArmMonitor(panda)
    for k, sample in enumerate(given):
        if k == 100:
            for bad in (np.full(7, np.nan), np.zeros(6)):
                with pytest.raises(ArgumentError, match="tau"):
                    part(disturbed, sample[0], *sample[1:3], bad)
        expected, got = part(clean, *sample), part(disturbed, *sample)
    np.testing.assert_array_equal(got.external_torques, expected.external_torques)
    if part is ArmMonitor.update:
        np.testing.assert_array_equal(got.estimate.vector, expected.estimate.vector)


@pytest.mark.parametrize("update", [ArmMonitor.update, rows_of_dynamics])
@pytest.mark.parametrize(("field", "value"), [("dq", 4.0), ("tau", 1e308)])
def test_a_sample_that_no_arm_can_have_measured_is_no_contact(panda, field, value, update):
    """One of 10 rad/s was 330 N m of external torque and a contact; one of 1e308 N m was infinite for good."""
    motion = sinusoids(1.5)
    wrong = {"dq": motion.dq.copy(), "tau": torques(panda, motion)}
    wrong[field][1000, 0] = value
    monitor = ArmMonitor(panda)
    for stamp, q, dq, tau in zip(motion.stamp, motion.q, wrong["dq"], wrong["tau"], strict=True):
        output = update(monitor, stamp, q, dq, tau)
        # Half a second after the start the observer's own error, with exact torques, is some hundredths of that.
        assert stamp < 0.5 or np.abs(output.external_torques).max() < 0.5
        assert monitor.contact_detector.contact is None


def recording(robot):
    """1 kg from 2 to 7 s, pushes at 4 and 5 s; and all that makes a sample an unusual one."""
    rng, motion = np.random.default_rng(4), sinusoids(9.0)
    t = motion.stamp[:, None]
    tau = carried(robot, motion, 2.0, 7.0) + coloured(robot, motion.stamp, rng)
    tau -= (((t > 4.0) & (t < 4.3)) | ((t > 5.0) & (t < 5.1))) * PUSH
    stamp, q, dq = motion.stamp + 2e-4 * rng.uniform(size=len(t)), motion.q, motion.dq.copy()
    stamp[3000], stamp[3100] = stamp[2999], stamp[3099] - 0.01  # repeats; steps back a little
    q[3200] += 1.0  # a jump that no arm makes
    tau[3250, 1] += 80.0  # and one that no payload makes
    for k in range(3300, 3330):  # a driver that hangs
        q[k], dq[k], tau[k] = q[3299], dq[3299], tau[3299]
    stamp[8500:] -= 6.0  # a recording in a loop
    kept = np.ones(len(stamp), dtype=bool)
    kept[6000:6700] = False  # a gap
    kept[4960:5020] = False  # a pause, which hides the begin of a push
    kept[6000:] &= np.arange(len(stamp) - 6000) % 10 == 0  # and another rate
    kept[8300:] = True
    return stamp[kept], q[kept], dq[kept], tau[kept]


def with_map(panda):
    stamp, q, dq, tau = (x[:2000] for x in recording(panda))
    return pdr.learn_residual(JointDataset(stamp, q, dq, tau, panda.joint_names, "unloaded"), panda)


ARMS = {
    "as published": lambda panda: panda,
    "with a residual map": with_map,
    "torques without gravity": lambda panda: replace(panda, effort=WITHOUT_GRAVITY),
}


def same(a, b):
    """Bit for bit, whatever the values are made of."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return np.array_equal(a, b, equal_nan=isinstance(a, float | np.ndarray) and np.asarray(a).dtype.kind == "f")


@some("arm", ARMS)
def test_rows_equal_samples(panda, arm):
    robot = ARMS[arm](panda)
    stamp, q, dq, tau = recording(robot)
    if robot.effort == WITHOUT_GRAVITY:
        tau = tau - robot.gravity_torques(q)
    one_by_one, as_rows = ArmMonitor(robot), ArmMonitor(robot)
    split = 2345  # in the middle of two updates
    halves = (slice(split), slice(split, None))
    parts = [as_rows.update_rows(stamp[half], q[half], dq[half], tau[half]) for half in halves]
    external, residual = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    later = [(split + k, estimate, is_due) for k, estimate, is_due in parts[1].estimates]
    estimates = parts[0].estimates + later
    contacts = parts[0].contacts + [(split + k, contact) for k, contact in parts[1].contacts]
    before, kinds = one_by_one.payload_estimator.estimate, []
    for k in range(len(stamp)):
        output = one_by_one.update(stamp[k], q[k], dq[k], tau[k])
        assert same(output.external_torques, external[k]), k
        assert same(output.residual, residual[k]), k
        if output.estimate is not before:
            index, estimate, is_due = estimates.pop(0)
            assert (index, is_due) == (k, output.is_due)
            assert same(asdict(output.estimate), asdict(estimate)), k
            kinds += [estimate.event.kind] if estimate.event else []
        before = output.estimate
        if output.contact_changed and output.contact is not None:
            index, contact = contacts.pop(0)
            assert index == k
            assert same(asdict(output.contact), asdict(contact)), k
            kinds += [contact.ended_by or "touched"]
    assert not estimates
    assert not contacts
    a, b = one_by_one.payload_estimator, as_rows.payload_estimator
    assert a.counts == b.counts
    assert a.counts.gaps and a.counts.frozen and a.counts.implausible and a.counts.duplicate and a.counts.backward
    assert same(asdict(a.memory), asdict(b.memory))
    assert {"pick", "release", "touched", "released"} <= set(kinds), "nothing happened that could differ"


@pytest.mark.parametrize(("back", "cut"), [(0.3, 0), (0.0, 500)])
def test_a_clock_that_is_set_back_and_a_stream_that_goes_on_elsewhere_touch_no_arm(panda, back, cut):
    """Beside 1.9 N m, the filters' transient: 26 and 53 N m, contacts and picks, if the arm counts as having moved."""
    motion = sinusoids(3.0)
    used = np.delete(np.arange(3000), slice(1500, 1500 + cut))
    stamp = motion.stamp[: len(used)] - back * (np.arange(len(used)) >= 1500)
    rows = ArmMonitor(panda).update_rows(stamp, motion.q[used], motion.dq[used], torques(panda, motion)[used])
    assert np.abs(rows.external_torques).max() < 5.0
    assert not rows.contacts
    assert not [estimate.event for _, estimate, _ in rows.estimates if estimate.event is not None]


def test_rows_are_checked(panda):
    stamp, q, dq, tau = (x[:5] for x in recording(panda))
    monitor = ArmMonitor(panda)
    with pytest.raises(ArgumentError, match=r"^dq: expected shape \(5, 7\), got \(4, 7\)"):
        monitor.update_rows(stamp, q, dq[:4], tau)
    with pytest.raises(ArgumentError, match=r"^tau: expected finite numbers, got nan at index \(2, 1\)"):
        monitor.update_rows(stamp, q, dq, np.where(np.arange(35).reshape(5, 7) == 15, np.nan, tau))
    assert monitor.payload_estimator.counts.used == 0
    assert monitor.update_rows([], np.zeros((0, 7)), np.zeros((0, 7)), np.zeros((0, 7))).estimates == []


@pytest.mark.parametrize("period", [-0.02, np.nan, "fast"])
def test_no_period_is_refused(panda, period):
    with pytest.raises(ArgumentError, match=r"^publish_period_s: expected"):
        ArmMonitor(panda, publish_period_s=period)


@pytest.mark.parametrize("estimator", [ArmMonitor, PayloadEstimator])
def test_the_name_of_an_arm_is_no_robot(estimator):
    with pytest.raises(ArgumentError, match="robot: expected a robot, got str; load_robot gives one by its name"):
        estimator("panda")
