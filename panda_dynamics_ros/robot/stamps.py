# SPDX-License-Identifier: Apache-2.0
"""Stamps of samples, and what a stream of them delivers: rate, losses, disorder, rejections.

Stamps are seconds in a double to compute with, and whole nanoseconds as messages carry them. A double since 1970 is a
multiple of 0.24 microseconds: nanoseconds are rounded to it, but it comes back from its own nanoseconds.
"""

import math
from collections import Counter, deque
from typing import Any

import numpy as np

BILLION = 1_000_000_000
STAMP_JUMP = 1.0
"""s: a stamp this far from both its neighbours in time is wrong; a stream that goes on from there has jumped."""
LONGEST_GAP = 10.0  # s: in a longer one no sample counts as lost: a clock was set, or the driver was restarted
DUPLICATE_STAMP = "duplicate stamp"
BACKWARD_STAMP = "backward stamp"
FUTURE_STAMP = "stamp from the future"
MISPLACED_STAMPS = (DUPLICATE_STAMP, BACKWARD_STAMP, FUTURE_STAMP)


def to_seconds(sec: int, nanosec: int) -> float:
    """The double that stands for a message stamp, everywhere in this package."""
    return sec + 1e-9 * nanosec


def nanoseconds(stamp: Any) -> int:
    """Whole nanoseconds of a message stamp, an object with `sec` and `nanosec`."""
    return int(stamp.sec) * BILLION + int(stamp.nanosec)


def to_nanoseconds(seconds: float) -> int:
    """Whole nanoseconds nearest to a finite time; `to_seconds` of them gives `seconds` again."""
    whole = math.floor(seconds)
    return whole * BILLION + round((seconds - whole) * 1e9)


class StreamMonitor:
    """Watches the stamps of one stream.

    A sample is lost where two consecutive stamps lie more than one and a half periods apart; the period is the
    median of recent steps, so that it follows the stream and no single gap moves it. A step of more than a second
    is judged with the sample after it: a gap, a clock that was set (also for a gap beyond `LONGEST_GAP`), or one wrong
    stamp.
    """

    def __init__(self) -> None:
        self.received = self.lost = self.out_of_order = 0
        self.repeated = 0  # samples, up to the last, with the stamp of the one before
        self.rejected: Counter[str] = Counter()
        self.last_stamp = -math.inf
        self.latest_problem = ""
        self._steps: deque[float] = deque(maxlen=200)
        self.period = math.nan  # s, the median step between stamps, once it is known
        self._before_leap = math.nan  # the last stamp before such a step, until the sample after it has come

    @property
    def rate(self) -> float:
        """Samples per second by their stamps; 0 until it is known."""
        return 1.0 / self.period if self.period > 0.0 else 0.0

    def accept(self, stamp: float) -> None:
        """A sample with this stamp (s) arrived."""
        self.received += 1
        before, self._before_leap = self._before_leap, math.nan
        leap = self.last_stamp - before
        if 0.0 < stamp - before <= STAMP_JUMP < abs(stamp - self.last_stamp):  # it was one wrong stamp
            self.last_stamp = before
            if leap > 0.0:
                self._note_disorder(f"stamp jumped ahead by {leap:.6f} s and back")
        elif leap > 0.0:
            self._note_step(leap)
        step = stamp - self.last_stamp
        self.repeated = 0 if step else self.repeated + 1
        if STAMP_JUMP < abs(step) < math.inf:  # to be judged with the sample after it
            self._before_leap = self.last_stamp
        elif 0.0 < step < math.inf:
            self._note_step(step)
        if step <= 0.0:
            self._note_disorder(f"stamp stepped by {step:.6f} s")
        if not -STAMP_JUMP <= step <= 0.0:  # a little back: the stream goes on from the stamp before
            self.last_stamp = stamp

    def _note_disorder(self, problem: str) -> None:
        self.out_of_order += 1
        self.latest_problem = problem

    def _note_step(self, step: float) -> None:
        if step > LONGEST_GAP:
            self.latest_problem = f"pause of {step:.1f} s"
            return
        if step > 1.5 * self.period:
            self.lost += round(step / self.period) - 1
            self.latest_problem = f"gap of {step:.4f} s"
        self._steps.append(step)
        # The median is needed now and then, not at every sample.
        if len(self._steps) < 20 or self.received % 50 == 0:
            self.period = float(np.median(self._steps)) if len(self._steps) >= 5 else math.nan
