# SPDX-License-Identifier: Apache-2.0
"""Stamps between doubles and nanoseconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panda_dynamics_ros.robot.stamps import BILLION, to_nanoseconds, to_seconds


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
