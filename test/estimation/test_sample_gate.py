# SPDX-License-Identifier: Apache-2.0
"""Samples that no arm can have measured are refused; those of a real arm never are."""

from typing import Any

import numpy as np
import pytest
from motion import sinusoids

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.estimation.sample_gate import (
    FAULT,
    JUMP,
    OUTSIDE_LIMITS,
    TOO_FAST,
    TOO_STRONG,
    VELOCITY_JUMP,
    SampleGate,
)


def reason(gate, stamp, q, dq, tau):
    try:
        gate.check(stamp, q, dq, tau)
    except SampleError as error:
        return error.reason
    return ""


def refused(gate, samples):
    """Reasons, by sample; "" where one is accepted."""
    return [reason(gate, *sample) for sample in samples]


@pytest.fixture
def samples(panda):
    motion = sinusoids(1.0)
    return [(t, q, dq, panda.gravity_torques(q)) for t, q, dq in zip(motion.stamp, motion.q, motion.dq, strict=True)]


@pytest.mark.parametrize("step", [1, 10, 33])  # 1 kHz, 100 Hz and 30 Hz
def test_a_motion_passes_at_any_rate(panda, samples, step):
    assert set(refused(SampleGate(panda), samples[::step])) == {""}


@pytest.mark.parametrize(
    "log",
    ["panda_gaz/excitation_1khz_first_7600ms.csv", "panda_hand_guided/hand_guided_100hz_1.csv"],
)
def test_real_arms_pass(panda, log):
    from conftest import public_log

    data = pdr.load_dataset(public_log(log), panda)
    assert set(refused(SampleGate(panda), zip(data.stamp, data.q, data.dq, data.tau, strict=True))) == {""}


@pytest.mark.parametrize(
    ("field", "joint", "value", "expected", "words"),
    [
        (1, 5, 139.6, OUTSIDE_LIMITS, "joint 6 of panda, got 139.6: degrees"),
        (2, 0, 10.0, TOO_FAST, "dq: expected at most 4.35 rad/s for joint 1"),
        (3, 1, -40e3, TOO_STRONG, "tau: expected at most 174 N m for joint 2.*4e.04: is it in N m"),
        (3, 6, 1e308, TOO_STRONG, "joint 7"),
    ],
)
def test_a_value_beyond_the_limits_is_refused_and_the_next_sample_accepted(
    panda, samples, field, joint, value, expected, words
):
    bad: list[Any] = [np.copy(part) for part in samples[500]]
    bad[field][joint] = value
    gate = SampleGate(panda)
    assert set(refused(gate, samples[:500])) == {""}
    with pytest.raises(SampleError, match=words) as caught:
        gate.check(*bad)
    assert caught.value.reason == expected
    assert set(refused(gate, samples[501:])) == {""}


def test_of_two_interleaved_robots_one_is_followed(panda, samples):
    other = [(stamp + 5e-4, q + 0.4, dq, tau) for stamp, q, dq, tau in samples]
    mixed = [sample for pair in zip(samples, other, strict=True) for sample in pair]
    reasons = refused(SampleGate(panda), mixed)
    assert set(reasons[::2]) == {""}
    assert set(reasons[1::2]) == {JUMP}


def test_a_recording_that_goes_on_elsewhere_is_followed_again(panda, samples):
    moved = [(stamp + 1.0, q + 0.4, dq, tau) for stamp, q, dq, tau in samples]
    reasons = refused(SampleGate(panda), samples + moved)
    count = round(FAULT * 1000.0)
    assert reasons[len(samples) :] == [JUMP] * count + [""] * (len(moved) - count)


def test_velocities_of_another_robot_are_refused(panda, samples):
    """All joints 2 rad/s faster for ten samples, within every limit: 1.00 kg became 0.6 with a release."""
    spoilt = [(t, q, dq + 2.0 * (300 <= k < 310), tau) for k, (t, q, dq, tau) in enumerate(samples)]
    reasons = refused(SampleGate(panda), spoilt)
    assert reasons[300:310] == [VELOCITY_JUMP] * 10
    assert set(reasons[:300] + reasons[310:]) == {""}


def test_a_gap_lets_the_arm_move_and_a_repeated_stamp_is_not_the_gates_matter(panda, samples):
    gate = SampleGate(panda)
    gate.check(*samples[0])
    stamp, q, dq, tau = samples[0]
    gate.check(stamp + 2.0, q + 1.5, dq, tau)
    gate.check(stamp + 2.0, q + 1.5, dq, tau)


def test_a_late_sample_spoils_none_of_the_next(panda, samples):
    """Of another posture, 10 ms before the sample that came before it."""
    late = (samples[490][0], *samples[0][1:])
    assert set(refused(SampleGate(panda), [*samples[:500], late, *samples[500:]])) == {""}
