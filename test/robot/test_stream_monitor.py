# SPDX-License-Identifier: Apache-2.0
"""What a stream of stamps delivered: losses, disorder, and single stamps that are wrong."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panda_dynamics_ros.robot.stamps import BILLION, StreamMonitor, to_nanoseconds, to_seconds

STAMPS = [1_700_000_000.0 + 0.001 * k for k in range(100)]


def watched(stamps: Iterable[float]) -> StreamMonitor:
    monitor = StreamMonitor()
    for stamp in stamps:
        monitor.accept(stamp)
    return monitor


def test_a_steady_stream_has_a_rate_and_no_losses() -> None:
    monitor = watched(STAMPS)
    assert (monitor.received, monitor.lost, monitor.out_of_order, monitor.latest_problem) == (100, 0, 0, "")
    assert monitor.rate == pytest.approx(1000.0, rel=1e-3)  # stamps since 1970 are 0.24 us apart


@pytest.mark.parametrize("missing", [1, 7, 60])
def test_samples_that_are_missing_are_lost(missing: int) -> None:
    monitor = watched(STAMPS[:20] + STAMPS[20 + missing :])
    assert (monitor.lost, monitor.out_of_order) == (missing, 0)


def test_a_gap_of_seconds_is_counted_with_the_sample_after_it() -> None:
    later = [stamp + 3.0 for stamp in STAMPS]
    monitor = watched([*STAMPS, later[0]])
    assert monitor.lost == 0
    monitor.accept(later[1])
    assert (monitor.lost, monitor.out_of_order) == (2900, 0)
    assert monitor.latest_problem == "gap of 2.9010 s"


@pytest.mark.parametrize("wrong", [0.0, STAMPS[0] - 2.0, STAMPS[-1] + 2.0, 4e9], ids=["zero", "past", "future", "far"])
@pytest.mark.parametrize("instead", [False, True])
def test_one_wrong_stamp_is_disorder_and_no_loss(wrong: float, instead: bool) -> None:
    """Between two samples, or in the place of one, which is then lost."""
    monitor = watched([*STAMPS[:50], wrong, *STAMPS[50 + instead :]])
    assert (monitor.lost, monitor.out_of_order) == (int(instead), 1)
    assert monitor.last_stamp == STAMPS[-1]


def test_a_clock_that_was_set_back_or_a_bag_in_a_loop_goes_on() -> None:
    monitor = watched([stamp + 5.0 for stamp in STAMPS] + STAMPS)
    assert (monitor.lost, monitor.out_of_order, monitor.last_stamp) == (0, 1, STAMPS[-1])


@given(st.integers(0, 2**31 - 1), st.integers(0, BILLION - 1))
def test_a_double_survives_the_way_through_nanoseconds(sec: int, nanosec: int) -> None:
    seconds = to_seconds(sec, nanosec)
    assert to_seconds(*divmod(to_nanoseconds(seconds), BILLION)) == seconds
    # Half a step of a double at 2^31 s.
    assert abs(to_nanoseconds(seconds) - (sec * BILLION + nanosec)) <= 240


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"),
    [(0.0, 0), (1.5, 1_500_000_000), (0.9999999999, BILLION), (-0.25, -250_000_000), (1.7e9, 1_700_000_000 * BILLION)],
)
def test_nanoseconds_are_the_nearest(seconds: float, nanoseconds: int) -> None:
    assert to_nanoseconds(seconds) == nanoseconds
