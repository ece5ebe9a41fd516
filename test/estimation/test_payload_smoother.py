# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from conftest import some
from motion import PAYLOAD, carried, coloured, followed, kinds, sinusoids, sinusoids_paced, standing, torques

from panda_dynamics_ros import InertialParameters, PandaDynamicsError
from panda_dynamics_ros.estimation import Shape, smooth_payloads, smoother
from panda_dynamics_ros.reporting.replay import PayloadCurves


@pytest.fixture(scope="module")
def motion():
    return sinusoids(9.0, rate=200.0)


@pytest.fixture(scope="module")
def perfect(panda, motion):
    """Torques of a perfect arm that carries the payload from 3 s to 6 s."""
    return carried(panda, motion, 3.0, 6.0)


def smoothed(panda, motion, tau, **options):
    return smooth_payloads(panda, motion.stamp, motion.q, motion.dq, tau, **options)


def test_a_perfect_arm_gives_every_payload(panda, motion, perfect):
    before, during, after = smoothed(panda, motion, perfect)
    bounds = [(s.start, s.end) for s in (before, during, after)]
    # An onset is one of the moments that are followed, 20 ms apart; a stream of 200 Hz sees it 5 ms late.
    np.testing.assert_allclose(bounds, [(0.0, 3.0), (3.0, 6.0), (6.0, motion.stamp[-1])], atol=0.06)
    assert bounds[0][1] == bounds[1][0]
    # What the prior (mean zero) weighs beside three seconds: the square of the two standard deviations' ratio; and of
    # an empty arm the least mass above zero, a quarter of its standard deviation.
    for segment, truth in ((before, 0.0), (during, PAYLOAD.mass), (after, 0.0)):
        pull = (segment.estimate.std[0] / 1.5) ** 2
        assert abs(segment.estimate.mass - truth) < 2.0 * pull * PAYLOAD.mass + 0.005
    assert (np.abs(during.estimate.com - PAYLOAD.com) < 2.0 * during.estimate.com_std).all()
    assert during.estimate.com_std.max() < 0.02
    assert during.estimate.identifiable[:4].all()
    assert during.estimate.payload.is_physical(tolerance=0.0)
    assert all(segment.estimate.status == "smoothed" for segment in (before, during, after))


@pytest.mark.slow
def test_detected_changes_give_segments_that_hold_the_truth(panda, motion, perfect):
    """Ten arms with coloured residuals: 95 % intervals of three masses and one CoM.
    Of 60 independent ones 57 would hold, and fewer than 51 once in 1300 times; with intervals half as wide 40."""
    motion, perfect = replace(motion, stamp=motion.stamp[::2], q=motion.q[::2], dq=motion.dq[::2]), perfect[::2]
    held, worst = 0, 0.0
    for seed in range(10):
        tau = perfect + coloured(panda, motion.stamp, np.random.default_rng(seed))
        segments = smoothed(panda, motion, tau)
        assert len(segments) == 3
        assert abs(segments[1].start - 3.0) < 0.1
        assert abs(segments[1].end - 6.0) < 0.1
        for segment, truth in zip(segments, (0.0, PAYLOAD.mass, 0.0), strict=True):
            held += abs(segment.estimate.mass - truth) < 1.96 * segment.estimate.std[0]
        loaded = segments[1].estimate
        held += int(np.sum(np.abs(loaded.com - PAYLOAD.com) < 1.96 * loaded.com_std))
        worst = max(worst, loaded.std[0])
    assert held >= 51
    assert worst < 0.15, "intervals that hold everything would say nothing"


def test_what_was_there_from_the_start_may_be_the_arm_s(panda, motion, perfect):
    """A camera of 0.3 kg that nobody told the model of: between the load that came and all that there is."""
    camera = InertialParameters(0.3, np.array([0.05, 0.0, 0.02]), np.diag([1e-4] * 3))
    tau = perfect + panda.with_payload(camera).inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau -= panda.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    loaded = smoothed(panda, motion, tau)[1].estimate
    assert 1.0 - 2.0 * loaded.std[0] < loaded.mass < 1.3 + 2.0 * loaded.std[0]


@some("seed", (1, 2, 5, 6))
def test_later_samples_decide_on_changes_that_were_never_clear(panda, seed):
    """A release of a quarter of a kilogram, which the estimator does not tell, ends the payload."""
    motion, light = sinusoids(9.0, rate=100.0), InertialParameters(0.25, PAYLOAD.com, 0.25 * PAYLOAD.inertia)
    tau = carried(panda, motion, 3.0, 6.0, light, seed)
    assert kinds(followed(panda, motion, tau)[1]) == ["pick"]
    segments = smoothed(panda, motion, tau)
    for segment, truth in zip(segments, (0.0, light.mass, 0.0), strict=True):
        assert abs(segment.estimate.mass - truth) < 3.0 * segment.estimate.std[0]
        assert segment.estimate.std[0] < 0.06, "an interval that reaches from nothing to twice the mass says nothing"


def test_what_was_not_clear_and_left_everything_as_it_was_is_no_change(panda):
    """A residual in which the estimator has seen a possible change."""
    motion = sinusoids(9.0, rate=100.0)
    (segment,) = smoothed(panda, motion, carried(panda, motion, 10.0, seed=4))
    assert segment.estimate.mass < 2.0 * segment.estimate.std[0]


def test_a_contact_is_no_segment_and_left_out(panda, motion, perfect):
    push = np.array([0.0, 30.0, 10.0, 15.0, 3.0, 4.0, 1.0])
    segments = smoothed(panda, motion, perfect + push * ((motion.stamp >= 4.0) & (motion.stamp < 4.9))[:, None])
    assert len(segments) == 3
    loaded = segments[1].estimate
    assert abs(loaded.mass - PAYLOAD.mass) < 2.0 * loaded.std[0]
    assert loaded.std[0] < 0.15


def test_what_changed_in_a_gap_did_so_there(panda, motion, perfect):
    """Two seconds are missing around the pick."""
    seen = (motion.stamp < 2.0) | (motion.stamp >= 4.0)
    part = replace(motion, stamp=motion.stamp[seen], q=motion.q[seen], dq=motion.dq[seen])
    segments = smoothed(panda, part, perfect[seen])
    assert len(segments) == 3
    assert 0.0 <= segments[1].start <= 4.5
    assert segments[2].start == pytest.approx(6.0, abs=0.06)
    for segment, truth in zip(segments, (0.0, PAYLOAD.mass, 0.0), strict=True):
        assert abs(segment.estimate.mass - truth) < 2.0 * segment.estimate.std[0] + 0.01


def test_without_a_change_it_is_what_the_estimator_says_in_the_end(panda, motion):
    """The same filter: there is nothing that a later sample tells of another payload."""
    tau = torques(panda, motion, PAYLOAD) + coloured(panda, motion.stamp, np.random.default_rng(2))
    estimate = followed(panda, motion, tau)[0].estimate
    (segment,) = smoothed(panda, motion, tau)
    np.testing.assert_allclose(segment.estimate.covariance, estimate.covariance, rtol=0.02, atol=1e-6)
    # The body is one that can exist; its iteration stops near the same minimum from another start.
    assert (np.abs(segment.estimate.vector - estimate.vector) < 0.1 * estimate.std).all()


@pytest.mark.parametrize("off", [0.0, 100.0])  # rad: beyond the limits no sample is used
def test_an_arm_that_stood_is_said(panda, off):
    still = standing(9.0, rate=200.0)
    (segment,) = smoothed(panda, replace(still, q=still.q + off), torques(panda, still, PAYLOAD))
    assert segment.estimate.status == "stood still"
    assert segment.motion_s == 0.0
    # One pose: at least one of m and m c stays open.
    assert not segment.estimate.identifiable[:4].all()


@pytest.mark.parametrize("seed", [1, 3])
def test_segments_follow_each_other_and_have_the_motion_between_their_ends(panda, seed):
    """The arm stops after 5 s; a residual that does not stop with it makes changes of all kinds, clear and unclear."""
    stamp = np.arange(2400) / 200.0
    paused = sinusoids_paced(stamp, np.clip(5.0 - stamp, 0.0, 1.0))
    segments = smoothed(panda, paused, carried(panda, paused, 7.0, 9.0, seed=seed))
    assert [segment.end for segment in segments[:-1]] == [segment.start for segment in segments[1:]]
    assert all(segment.end >= segment.start for segment in segments)
    assert sum(segment.motion_s for segment in segments) == pytest.approx(5.0, abs=0.1)  # its last tenths are slow
    assert {segment.motion_s for segment in segments if segment.start > 5.0} == {0.0}


def test_payloads_of_long_ago_are_left_out_of_the_state(panda, monkeypatch):
    """What comes later says little more of them; each third second something is picked up, or put down."""
    motion = sinusoids(24.0, rate=100.0)
    loaded, empty = (carried(panda, motion, onset, seed=1) for onset in (0.0, 24.0))
    tau = np.where((motion.stamp // 3.0 % 2.0)[:, None] == 1.0, loaded, empty)
    whole = smoothed(panda, motion, tau)
    monkeypatch.setattr(smoother, "MOST_CHANGES", 4)
    assert len(whole) == 8
    for one, other in zip(whole, smoothed(panda, motion, tau), strict=True):
        assert (one.start, one.end, one.motion_s) == (other.start, other.end, other.motion_s)
        assert abs(one.estimate.mass - other.estimate.mass) < one.estimate.std[0]


def test_a_known_mass_and_shape_are_those_of_what_is_carried(panda, motion):
    tau, shape = carried(panda, motion, 3.0, 6.0, seed=3), Shape("box", (0.1, 0.06, 0.2))
    plain, known = (
        smoothed(panda, motion, tau, **options)[1].estimate
        for options in ({}, {"known_mass": PAYLOAD.mass, "shape": shape})
    )
    assert known.mass == pytest.approx(PAYLOAD.mass, abs=0.005)  # kitchen scale
    assert known.com_std.max() <= plain.com_std.max()
    np.testing.assert_allclose(known.inertia, known.mass * shape.unit_inertia, atol=1e-12)


def test_the_history_steps_where_the_payload_changes(panda, motion, perfect):
    segments = smoothed(panda, motion, perfect)
    history = PayloadCurves.of_segments(motion.stamp, segments)
    at = np.searchsorted(motion.stamp, [2.9, 3.1, 5.9, 6.1])
    expected = [segments[k].estimate.mass for k in (0, 1, 1, 2)]
    assert history.mass[at].tolist() == expected
    assert history.com.shape == history.com_std.shape == (len(motion.stamp), 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stamp", np.zeros(4)),
        ("stamp", []),
        ("q", np.zeros((4, 6))),
        ("dq", np.full((4, 7), np.nan)),
        ("tau", np.zeros((5, 7))),
        ("shape", "ball 1"),
    ],
)
def test_bad_input_is_refused_by_name(panda, name, value):
    given = {"stamp": np.arange(4.0), **dict.fromkeys(("q", "dq", "tau"), np.zeros((4, 7))), name: value}
    with pytest.raises(PandaDynamicsError, match=f"^{name}: expected"):
        smooth_payloads(panda, **given)
