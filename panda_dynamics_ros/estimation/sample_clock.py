# SPDX-License-Identifier: Apache-2.0
"""Time between samples: whether a filter continues, restarts after a gap, or ignores a sample for its stamp."""

from __future__ import annotations

import math

GAP, GAP_PERIODS = 0.1, 3.0
"""s, and steps like the one before: a longer step is a gap. The filters take their inputs as linear between samples;
across 0.2 s of brisk motion their error exceeds the torque of a small payload."""


class SampleClock:
    """Follows the stamps of one stream.

    Parameters
    ----------
    max_gap_s: a longer step, forward or back, is a gap whatever the stream's period.

    Attributes
    ----------
    stamp: s, of the last sample that was not ignored; -inf before the first.
    """

    def __init__(self, max_gap_s: float) -> None:
        self._max_gap = max_gap_s
        self.stamp = -math.inf
        self._last_step = math.nan

    def step(self, stamp: float) -> float | None:
        """Seconds since the last sample; 0 where the filters have to restart; None for a sample to be ignored.

        Ignored are stamps that repeat or step back a little. A step back by more than `max_gap_s` (a recording in a
        loop) is a restart.
        """
        dt = stamp - self.stamp
        if -self._max_gap <= dt <= 0.0:
            return None
        self.stamp = stamp
        before, self._last_step = self._last_step, abs(dt)
        if not 0.0 < dt <= self._max_gap or (dt > GAP and dt > GAP_PERIODS * before):
            return 0.0
        return dt
