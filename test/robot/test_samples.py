# SPDX-License-Identifier: Apache-2.0
"""Joint values by name, and every way to be unusable; what stamps tell: losses, disorder, single wrong ones."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panda_dynamics_ros import PandaDynamicsError
from panda_dynamics_ros.errors import ArgumentError, SampleError
from panda_dynamics_ros.robot.joint_mapping import JointMapping, name_conflict, resolve_joint_names
from panda_dynamics_ros.robot.stamps import BILLION, StreamMonitor, to_nanoseconds, to_seconds

ARM = tuple(f"panda_joint{i + 1}" for i in range(7))
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


def named(prefix: str, n: int = 7) -> tuple[str, ...]:
    return tuple(f"{prefix}joint{i + 1}" for i in range(n))


def sample(names: tuple[str, ...]) -> tuple[list[float], list[float], list[float]]:
    """Values that tell their joint and field: a joint's place in `names` tells nothing about them."""
    number = [ARM.index(name) + 1.0 if name in ARM else 90.0 for name in names]
    return number, [10.0 * x for x in number], [-100.0 * x for x in number]


@pytest.mark.parametrize("seed", range(5))
def test_values_follow_their_names_in_any_order(seed):
    names = tuple(np.random.default_rng(seed).permutation(ARM + FINGERS).tolist())
    q, dq, tau = JointMapping(ARM).extract(names, *sample(names))
    np.testing.assert_array_equal(q, np.arange(1.0, 8.0))
    np.testing.assert_array_equal(dq, 10.0 * np.arange(1.0, 8.0))
    np.testing.assert_array_equal(tau, -100.0 * np.arange(1.0, 8.0))
    assert q.dtype == dq.dtype == tau.dtype == np.float64


def test_the_order_may_change_from_message_to_message():
    mapping = JointMapping(ARM)
    for names in (ARM, ARM[::-1], FINGERS + ARM, list(ARM), ARM[::-1]):
        q, _, _ = mapping.extract(names, *sample(tuple(names)))
        np.testing.assert_array_equal(q, np.arange(1.0, 8.0))


def spoilt(field: int, value: list[float]) -> tuple[list[float], ...]:
    fields = list(sample(ARM))
    fields[field] = value
    return tuple(fields)


@pytest.mark.parametrize(
    ("values", "reason", "message"),
    [
        (spoilt(0, []), "no position", "position"),
        (spoilt(0, [1.0] * 6), "lengths disagree", "position: expected 7 values, as many as names, got 6"),
        (spoilt(0, [1.0, 1.0, np.nan, 1.0, 1.0, 1.0, 1.0]), "not finite", "position: .* got nan for panda_joint3"),
        (spoilt(2, [-np.inf] + [1.0] * 6), "not finite", "effort: .* got -inf for panda_joint1"),
        (spoilt(1, [1.0, -1e200, *[1.0] * 5]), "implausible", r"velo.* at most 1000, got -1e\+200 for panda_joint2"),
        (spoilt(2, [0.0] * 7), "all-zero effort", "torque sensing is off"),
    ],
)
def test_unusable_samples_say_why(values, reason, message):
    with pytest.raises(SampleError, match=message) as caught:
        JointMapping(ARM).extract(ARM, *values)
    assert caught.value.reason == reason
    assert "\n" not in str(caught.value)


def test_zero_effort_of_the_arm_is_seen_beside_gripping_fingers():
    names = ARM + FINGERS
    with pytest.raises(SampleError, match="zero for every joint"):
        JointMapping(ARM).extract(names, [1.0] * 9, [1.0] * 9, [0.0] * 7 + [3.0, 3.0])


def test_a_nan_of_another_joint_does_no_harm():
    names = ARM + FINGERS[:1]
    q, _, _ = JointMapping(ARM).extract(names, [1.0] * 7 + [np.nan], [1.0] * 8, [1.0] * 8)
    np.testing.assert_array_equal(q, np.ones(7))


def test_missing_and_repeated_joints_are_named():
    with pytest.raises(SampleError, match="expected panda_joint2, panda_joint7, got panda_joint1") as caught:
        JointMapping(ARM).extract((ARM[0], *ARM[2:6]), [1.0] * 5, [1.0] * 5, [1.0] * 5)
    assert caught.value.reason == "missing joints"
    with pytest.raises(SampleError, match="got panda_joint1 repeatedly") as caught:
        JointMapping(ARM).extract((*ARM, ARM[0]), [1.0] * 8, [1.0] * 8, [1.0] * 8)
    assert caught.value.reason == "repeated joints"


@pytest.mark.parametrize("prefix", ["panda_", "fer_", "fr3_", "left_panda_", "left/fr3_", ""])
def test_naming_schemes(prefix):
    names = named(prefix)
    shuffled = np.random.default_rng(6).permutation([*names, *FINGERS, "wheel"]).tolist()
    assert resolve_joint_names(shuffled, ARM) == names


def test_two_arms_need_a_prefix():
    both = [*named("left_panda_"), *named("right_panda_")]
    with pytest.raises(ArgumentError, match=r"arm_prefix.*left_panda_joint1\.\.7, right_panda_joint1\.\.7"):
        resolve_joint_names(both, ARM)
    assert resolve_joint_names(both, ARM, "right_") == named("right_panda_")
    assert resolve_joint_names(both, ARM, "left") == named("left_panda_")
    assert resolve_joint_names([*both, *ARM], ARM, "left") == named("left_panda_")
    assert resolve_joint_names(both, named("left_panda_"), "left") == named("left_panda_"), "as a dual arm's URDF"
    with pytest.raises(SampleError, match="start with 'middle'") as caught:
        resolve_joint_names(both, ARM, "middle")
    assert caught.value.reason == "other joints"
    for names, reason in ((both[7:], "other joints"), (both[:6], "missing joints"), ((), "missing joints")):
        with pytest.raises(SampleError) as caught:
            resolve_joint_names(names, both[:7], by_scheme=False)
        assert caught.value.reason == reason


def test_an_incomplete_arm_is_not_taken():
    with pytest.raises(SampleError, match=r"expected panda_joint1 \.\. panda_joint7.*got panda_joint1") as caught:
        resolve_joint_names(ARM[:6] + FINGERS, ARM)
    assert caught.value.reason == "missing joints"
    with pytest.raises(SampleError, match="no names"):
        resolve_joint_names([], ARM)


@pytest.mark.parametrize("names", [(), ("a", "a")])
def test_a_mapping_needs_distinct_names(names):
    with pytest.raises(PandaDynamicsError, match="joint_names: expected distinct names"):
        JointMapping(names)


def test_a_doubt_names_another_arm_of_the_library(panda):
    renamed = replace(panda, joint_names=tuple(f"A{i + 1}_servo" for i in range(7)))  # of a URDF, say
    assert "those of fr3, the parameters those of panda: set robot to fr3" in name_conflict(panda, named("left_fr3_"))
    assert name_conflict(panda, named("left_panda_")) == name_conflict(panda, named("fer_")) == ""
    assert name_conflict(renamed, ARM) == "", "a panda is told to be set to panda"
    assert "set robot to panda" in name_conflict(replace(renamed, name="iiwa"), ARM)


STAMPS = [1_700_000_000.0 + 0.001 * k for k in range(100)]


def watched(stamps: Iterable[float]) -> StreamMonitor:
    monitor = StreamMonitor()
    for stamp in stamps:
        monitor.accept(stamp)
    return monitor


def test_a_steady_stream_has_a_rate_and_no_losses():
    monitor = watched(STAMPS)
    assert (monitor.received, monitor.lost, monitor.out_of_order, monitor.latest_problem) == (100, 0, 0, "")
    assert monitor.rate == pytest.approx(1000.0, rel=1e-3)  # stamps since 1970 are 0.24 us apart
    assert watched([STAMPS[0] - 1e-4, *STAMPS]).lost == 0  # one short step is no period yet


@pytest.mark.parametrize("missing", [1, 7, 60])
def test_samples_that_are_missing_are_lost(missing):
    monitor = watched(STAMPS[:20] + STAMPS[20 + missing :])
    assert (monitor.lost, monitor.out_of_order) == (missing, 0)


def test_a_gap_of_seconds_is_counted_with_the_sample_after_it():
    later = [stamp + 3.0 for stamp in STAMPS]
    monitor = watched([*STAMPS, later[0]])
    assert monitor.lost == 0
    monitor.accept(later[1])
    assert (monitor.lost, monitor.out_of_order) == (2900, 0)
    assert monitor.latest_problem == "gap of 2.9010 s"


def test_a_clock_that_was_set_by_an_hour_loses_nothing():
    """Nor does a driver that was restarted; the stream goes on, and a loss afterwards counts."""
    later = [stamp + 3600.0 for stamp in STAMPS]
    monitor = watched(STAMPS + later[:50])
    assert (monitor.lost, monitor.out_of_order, monitor.latest_problem) == (0, 0, "pause of 3599.9 s")
    for stamp in later[53:]:
        monitor.accept(stamp)
    assert monitor.lost == 3
    assert monitor.rate == pytest.approx(1000.0, rel=1e-3)


@pytest.mark.parametrize("wrong", [0.0, STAMPS[0] - 2.0, STAMPS[-1] + 2.0, 4e9], ids=["zero", "past", "future", "far"])
@pytest.mark.parametrize("instead", [False, True])
def test_one_wrong_stamp_is_disorder_and_no_loss(wrong, instead):
    """Between two samples, or in the place of one, which is then lost."""
    monitor = watched([*STAMPS[:50], wrong, *STAMPS[50 + instead :]])
    assert (monitor.lost, monitor.out_of_order) == (int(instead), 1)
    assert monitor.last_stamp == STAMPS[-1]


def test_a_clock_that_was_set_back_or_a_bag_in_a_loop_goes_on():
    monitor = watched([stamp + 5.0 for stamp in STAMPS] + STAMPS)
    assert (monitor.lost, monitor.out_of_order, monitor.last_stamp) == (0, 1, STAMPS[-1])


@given(st.integers(0, 2**31 - 1), st.integers(0, BILLION - 1))
def test_a_double_survives_the_way_through_nanoseconds(sec, nanosec):
    seconds = to_seconds(sec, nanosec)
    assert to_seconds(*divmod(to_nanoseconds(seconds), BILLION)) == seconds
    # Half a step of a double at 2^31 s.
    assert abs(to_nanoseconds(seconds) - (sec * BILLION + nanosec)) <= 240
