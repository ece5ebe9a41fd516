# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from panda_dynamics_ros.estimation.sample_clock import SampleClock

from panda_dynamics_ros.estimation import ContactDetector


def steps(stamps, max_gap=0.5):
    clock = SampleClock(max_gap)
    return [clock.step(stamp) for stamp in stamps]


def test_samples_in_order_give_their_distance():
    assert steps([5.0, 5.001, 5.003]) == pytest.approx([0.0, 0.001, 0.002])


@pytest.mark.parametrize("back", [0.0, 0.0005, 0.4])
def test_a_stamp_that_does_not_advance_is_ignored_and_the_stream_goes_on(back):
    assert steps([5.0, 5.1, 5.1 - back, 5.2]) == [0.0, pytest.approx(0.1), None, pytest.approx(0.1)]


@pytest.mark.parametrize("jump", [-3.0, 0.6, 1e6])
def test_a_jump_restarts(jump):
    assert steps([5.0, 5.001, 5.001 + jump, 5.002 + jump])[2:] == [0.0, pytest.approx(0.001, rel=1e-6)]


@pytest.mark.parametrize(("period", "gap", "bridged"), [(0.001, 0.09, True), (0.001, 0.11, False), (0.1, 0.25, True)])
def test_a_gap_is_longer_than_a_tenth_of_a_second_and_than_three_periods(period, gap, bridged):
    stamps = np.cumsum([period] * 50 + [gap])
    assert (steps(stamps)[-1] > 0.0) == bridged


def test_a_stream_that_becomes_slow_has_one_gap():
    stamps = np.cumsum([0.01] * 20 + [0.2] * 20)
    assert steps(stamps).count(0.0) == 2, "at its start, and where it becomes slow"


@pytest.mark.parametrize("gap", [0.002, 0.02, 0.05, 0.1, 0.207, 0.3, 0.4, 0.48, 0.6, 1.0, 2.0])
def test_no_gap_makes_a_contact(panda, gap):
    """A brisk motion that is nothing but the arm's model, at 100 Hz, with a block of samples missing."""
    from motion import sinusoids, torques

    motion = sinusoids(6.0, 100.0)
    tau = torques(panda, motion) + np.random.default_rng(2).normal(size=(600, 7)) * 0.05
    for start in (2.0, 2.3, 2.6, 2.9):
        detector = ContactDetector(panda)
        for stamp, q, dq, t in zip(motion.stamp, motion.q, motion.dq, tau, strict=True):
            if not start <= stamp < start + gap:
                detector.update(stamp, q, dq, t)
        assert detector.contact is None


@pytest.mark.parametrize("pause", [0.03, 0.09])
@pytest.mark.parametrize("lasting", [False, True])
def test_what_the_filters_show_of_a_pause_is_no_contact(panda, pause, lasting):
    """Torques that are 20 sigmas off for 50 ms are a contact, but not behind a pause; one that lasts goes on."""
    from motion import sinusoids, torques

    motion, off = sinusoids(3.0), 20.0 * panda.residual.std
    tau = torques(panda, motion)
    tau[(2400 if lasting else 2550 - round(1e3 * pause)) : 2600] -= off
    for missing in (0.0, pause):
        detector = ContactDetector(panda)
        for stamp, q, dq, t in zip(motion.stamp[:2700], motion.q, motion.dq, tau, strict=False):
            if not 2.55 - missing <= stamp < 2.55:
                detector.update(stamp, q, dq, t)
        assert (detector.contact is None) == (missing > 0.0 and not lasting)


def test_steps_before_a_pause():
    clock = SampleClock(0.5)
    clock.follow(1.0, 0.001)
    assert clock.before_pause(np.array([0.001, 0.001, 0.05, 0.001])).size == 2
    assert clock.before_pause(np.array([0.03])).size == 0
    clock.follow(1.0, 0.03)
    assert clock.before_pause(np.full(4, 0.033)).size == 4
    assert clock.step(1.03)
    assert not clock.paused
    clock.follow(1.03, 0.01)
    assert clock.step(1.08)
    assert clock.paused
