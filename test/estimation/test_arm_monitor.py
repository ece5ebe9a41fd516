# SPDX-License-Identifier: Apache-2.0
"""The one pipeline of nodes and replay gives what its parts give by themselves.

With `FAMILIAR` nothing is learnt about the arm: what is learnt reaches external torques and contacts.
"""

from typing import Any

import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import (
    ArmMonitor,
    ContactDetector,
    MomentumObserver,
    PayloadEstimator,
    contact_wrench,
)

FAMILIAR: dict[str, Any] = {"arm_error_ratio": 1e-6}


def samples(panda):
    """2.5 s in which a payload appears after 1.2 s, and a push of 0.1 s comes at 2 s."""
    motion = sinusoids(2.5)
    loaded = (motion.stamp > 1.2)[:, None]
    pushed = ((motion.stamp > 2.0) & (motion.stamp < 2.1))[:, None]
    tau = torques(panda, motion) + loaded * (torques(panda, motion, PAYLOAD) - torques(panda, motion))
    tau = tau - pushed * np.array([0.0, 20.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    return zip(motion.stamp, motion.q, motion.dq, tau, strict=True)


def test_each_output_is_that_of_its_part(panda):
    monitor, estimator = ArmMonitor(panda, **FAMILIAR), PayloadEstimator(panda, **FAMILIAR)
    observer, detector = MomentumObserver(panda), ContactDetector(panda)
    events, touched = [], 0
    for stamp, q, dq, tau in samples(panda):
        output = monitor.update(stamp, q, dq, tau)
        estimate = estimator.update(stamp, q, dq, tau)
        np.testing.assert_allclose(output.estimate.vector, estimate.vector, rtol=0.0, atol=1e-4)
        np.testing.assert_allclose(output.estimate.covariance, estimate.covariance, rtol=0.0, atol=1e-4)
        external = observer.update(stamp, q, dq, tau)
        np.testing.assert_allclose(
            output.external_torques, external, rtol=0.0, atol=5e-3
        )  # the monitor's arm has learnt a little
        wrench = contact_wrench(panda, q, output.external_torques).wrench
        np.testing.assert_array_equal(output.wrench.wrench, wrench)
        detector.update(stamp, q, dq, tau)
        if output.is_due:  # the payload counts from the next sample on
            observer.carry(estimate.payload)
            detector.carry(estimate.payload)
        now = detector.contact
        assert (output.contact is None) == (now is None)
        if now is not None and output.contact is not None:
            assert (output.contact.start, output.contact.link) == (now.start, now.link)
        np.testing.assert_array_equal(output.gravity_torques, panda.gravity_torques(q))
        np.testing.assert_array_equal(output.coriolis_torques, panda.coriolis_torques(q, dq))
        np.testing.assert_allclose(output.T_base_ee, panda.pose(q, "ee"), rtol=0.0, atol=1e-14)
        events += [output.estimate.event.kind] if output.estimate.event else []
        touched += output.contact_changed
    assert events and events[0] == "pick", "a recording without any event would prove little"
    assert touched >= 2


def test_the_parts_for_one_node_each_agree_with_the_whole(panda):
    whole, payload, dynamics = (ArmMonitor(panda, **FAMILIAR) for _ in range(3))
    for stamp, q, dq, tau in samples(panda):
        output = whole.update(stamp, q, dq, tau)
        of_payload = payload.payload_estimator.update(stamp, q, dq, tau)
        of_dynamics = dynamics.update_dynamics(stamp, q, dq, tau)
        if output.is_due:  # the payload counts from the next sample on
            dynamics.carry(of_payload.payload)
        np.testing.assert_allclose(output.residual, payload.payload_estimator.residual, rtol=0.0, atol=0.05)
        np.testing.assert_allclose(output.estimate.vector, of_payload.vector, rtol=0.0, atol=1e-4)
        # The whole's arm has learnt a little.
        np.testing.assert_allclose(output.external_torques, of_dynamics.external_torques, rtol=0.0, atol=5e-3)
        assert output.contact_changed == of_dynamics.contact_changed


@pytest.mark.parametrize("part", ["update", "update_dynamics"])
def test_bad_input_is_refused_and_changes_nothing(panda, part):
    given = list(samples(panda))[:200]
    clean, disturbed = ArmMonitor(panda), ArmMonitor(panda)
    for k, sample in enumerate(given):
        if k == 100:
            for bad in (np.full(7, np.nan), np.zeros(6)):
                with pytest.raises(ArgumentError, match="tau"):
                    getattr(disturbed, part)(sample[0], *sample[1:3], bad)
        expected, got = getattr(clean, part)(*sample), getattr(disturbed, part)(*sample)
    np.testing.assert_array_equal(got.external_torques, expected.external_torques)
    if part != "update_dynamics":
        np.testing.assert_array_equal(got.estimate.vector, expected.estimate.vector)


@pytest.mark.parametrize("update", ["update", "update_dynamics"])
@pytest.mark.parametrize(("field", "value"), [("dq", 4.0), ("tau", 1e308)])
def test_a_sample_that_no_arm_can_have_measured_is_no_contact(panda, field, value, update):
    """One of 10 rad/s was 330 N m of external torque and a contact; one of 1e308 N m was infinite for good."""
    motion = sinusoids(1.5)
    wrong = {"dq": motion.dq.copy(), "tau": torques(panda, motion)}
    wrong[field][1000, 0] = value
    monitor = ArmMonitor(panda)
    for stamp, q, dq, tau in zip(motion.stamp, motion.q, wrong["dq"], wrong["tau"], strict=True):
        output = getattr(monitor, update)(stamp, q, dq, tau)
        # Half a second after the start the observer's own error, with exact torques, is some hundredths of that.
        assert stamp < 0.5 or np.abs(output.external_torques).max() < 0.5
        assert output.contact is None
