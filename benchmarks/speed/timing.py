# SPDX-License-Identifier: Apache-2.0
"""Two things timed in turns by the CPU time of this process, so that a busy machine slows both alike."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]


@dataclass(frozen=True)
class Comparison:
    """Median times of one call, here and with Pinocchio, in seconds; `ratio` is the median of the turns' ratios."""

    name: str
    ours: float
    theirs: float
    ratio: float

    def as_dict(self) -> dict[str, float | str]:
        """For JSON; `ratio` is ours over theirs."""
        return {"name": self.name, "ours_s": self.ours, "pinocchio_s": self.theirs, "ratio": self.ratio}


def compare(name: str, ours: Call, theirs: Call, *, turns: int, calls: int) -> Comparison:
    """Time `calls` of each, `turns` times in turns, after one of each that does not count."""
    ours(), theirs()

    def seconds(call: Call) -> float:
        return timeit.timeit(call, timer=time.process_time, number=calls) / calls

    pairs = [(seconds(ours), seconds(theirs)) for _ in range(turns)]
    here, there = ([pair[side] for pair in pairs] for side in (0, 1))
    ratio = statistics.median(a / b for a, b in pairs)
    return Comparison(name, statistics.median(here), statistics.median(there), ratio)
