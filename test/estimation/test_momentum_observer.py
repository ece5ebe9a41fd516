# SPDX-License-Identifier: Apache-2.0
"""External torques of exact motions, with and without a payload that is known."""

import numpy as np
import pytest
from motion import PAYLOAD, Motion, sinusoids, torques

from panda_dynamics_ros.estimation import MomentumObserver

EXTERNAL = np.array([3.0, -2.0, 1.0, -4.0, 0.5, 0.8, -0.3])  # N m
# What a filter makes of a motion sampled at 1 ms: its inputs are taken as linear in between.
SAMPLED = 2e-3


def run(observer, motion, tau, change=None):
    """External torques (N, 7); at sample `change[0]` the observer is told of the payload `change[1]`."""
    out = np.empty_like(tau)
    for k, stamp in enumerate(motion.stamp):
        if change is not None and k == change[0]:
            observer.carry(change[1])
        out[k] = observer.update(stamp, motion.q[k], motion.dq[k], tau[k])
    return out


@pytest.fixture(scope="module")
def motion():
    return sinusoids(1.0)


@pytest.mark.parametrize("payload", [None, PAYLOAD])
def test_what_acts_is_found(panda, motion, payload):
    observer = MomentumObserver(panda)
    if payload is not None:
        observer.carry(payload)
    external = run(observer, motion, torques(panda, motion, payload) - EXTERNAL)
    np.testing.assert_allclose(external[500:], np.tile(EXTERNAL, (500, 1)), rtol=0.0, atol=SAMPLED)


def test_a_payload_counts_as_external_until_told(panda, motion):
    """Then it counts as if it had always been carried: the filters need no new start."""
    tau = torques(panda, motion, PAYLOAD) - EXTERNAL
    told_late = run(MomentumObserver(panda), motion, tau, (700, PAYLOAD))
    told_first = run(MomentumObserver(panda), motion, tau, (0, PAYLOAD))
    np.testing.assert_allclose(told_late[700:], told_first[700:], rtol=0.0, atol=1e-12)
    carried = torques(panda, motion, PAYLOAD) - torques(panda, motion)
    # The filter is 16 ms late; the payload's torque changes by up to some 10 N m/s.
    np.testing.assert_allclose(told_late[500:700], (EXTERNAL - carried)[500:700], rtol=0.0, atol=0.2)
    assert np.abs(told_late[699] - EXTERNAL).max() > 2.0


@pytest.mark.parametrize(("jump", "left"), [(-2.0, 0.0), (2.0, 0.0), (0.0, 1.0), (-0.2, 1.0)])
def test_a_stamp_far_off_starts_the_filter_anew_and_a_late_one_is_left_out(panda, motion, jump, left):
    observer = MomentumObserver(panda)
    # At rest, the direction of the dry friction unknown: its mean is expected.
    still, rest = np.zeros(7), Motion(motion.stamp[:1], motion.q[:1], np.zeros((1, 7)), np.zeros((1, 7)))
    tau = torques(panda, rest)[0]
    for k in range(10):
        observer.update(0.001 * k, motion.q[0], still, tau - EXTERNAL)
    after = observer.update(0.009 + jump, motion.q[0], still, tau)
    np.testing.assert_allclose(after, left * EXTERNAL, rtol=0.0, atol=1e-9)
