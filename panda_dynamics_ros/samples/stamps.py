# SPDX-License-Identifier: Apache-2.0
"""Stamps: seconds in a double, to compute with, and whole nanoseconds, as messages carry them.

A double since 1970 is a multiple of 0.24 microseconds, so that nanoseconds do not survive the way through it;
the double itself survives the way through nanoseconds.
"""

from __future__ import annotations

import math

BILLION = 1_000_000_000


def to_seconds(sec: int, nanosec: int) -> float:
    """The double that stands for a message stamp, everywhere in this package."""
    return sec + 1e-9 * nanosec


def to_nanoseconds(seconds: float) -> int:
    """Whole nanoseconds nearest to a finite time; `to_seconds` of them gives `seconds` again."""
    whole = math.floor(seconds)
    return whole * BILLION + round((seconds - whole) * 1e9)
