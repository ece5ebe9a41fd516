# SPDX-License-Identifier: Apache-2.0
"""Time between samples: whether a filter continues, restarts after a gap, or ignores a sample for its stamp."""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.compiled import compiled

GAP, GAP_PERIODS = 0.1, 3.0
"""s, and steps like the one before: a longer step is a gap. The filters take their inputs as linear between samples;
across 0.2 s of brisk motion their error exceeds the torque of a small payload."""

PAUSE = 0.025
"""s, and steps like the one before: a longer step is bridged, but the filters show it for some time constants."""


def is_pause(dt, before):
    """Whether a step of `dt` s, after one of `before` s, is a pause; elementwise for arrays."""
    return (dt > PAUSE) & (dt > GAP_PERIODS * before)


def is_gap(dt, before, max_gap):
    """Whether a step of `dt` s, after one of `before` s, does not continue the stream."""
    return not 0.0 < dt <= max_gap or (dt > GAP and dt > GAP_PERIODS * before)


compiled_is_gap = compiled(is_gap)


@compiled
def regular_steps(stamp, last, before, max_gap, steps):
    """Into `steps` (N,), how much later each of `stamp` (N,) is than the one before; how many come before a gap."""
    for k in range(stamp.shape[0]):
        dt = stamp[k] - last
        if compiled_is_gap(dt, before, max_gap):
            return k
        steps[k] = before = dt
        last = stamp[k]
    return stamp.shape[0]


class SampleClock:
    """Follows the stamps of one stream.

    Parameters
    ----------
    max_gap_s: a longer step, forward or back, is a gap whatever the stream's period.

    Attributes
    ----------
    stamp: s, of the last sample that was not ignored; -inf before the first. last_step: s, before it.
    paused: whether that step was a pause, or a gap.
    """

    def __init__(self, max_gap_s: float) -> None:
        self._max_gap = max_gap_s
        self.stamp = -math.inf
        self.last_step, self.paused = math.nan, False

    def step(self, stamp: float) -> float | None:
        """Seconds since the last sample; 0 where the filters have to restart; None for a sample to be ignored.

        Ignored are stamps that repeat or step back a little. A step back by more than `max_gap_s` (a recording in a
        loop) is a restart.
        """
        dt = stamp - self.stamp
        if -self._max_gap <= dt <= 0.0:
            return None
        self.stamp = stamp
        before, self.last_step = self.last_step, abs(dt)
        self.paused = bool(is_pause(self.last_step, before))
        return 0.0 if is_gap(dt, before, self._max_gap) else dt

    def regular(self, stamp: FloatArray) -> FloatArray:
        """What `step` would say of the first of these stamps (N,), as many as neither repeat nor come after a gap."""
        steps = np.empty(len(stamp))
        return steps[: regular_steps(stamp, self.stamp, self.last_step, self._max_gap, steps)]

    def before_pause(self, steps: FloatArray) -> FloatArray:
        """As many of `steps`, which are s from now on, as come before a pause."""
        pauses = np.flatnonzero(is_pause(steps, np.append(self.last_step, steps)[:-1]))
        return steps[: pauses[0]] if pauses.size else steps

    def follow(self, stamp: float, step: float) -> None:
        """Go on from the last of several samples, and the step before it, which is no pause."""
        self.stamp, self.last_step, self.paused = stamp, step, False
