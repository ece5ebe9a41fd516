# SPDX-License-Identifier: Apache-2.0
"""Which detected changes are announced as events of their own."""

from __future__ import annotations

import math
from dataclasses import replace

from panda_dynamics_ros.estimation.payload.estimate import ChangeEvent

ONE_CHANGE, CORRECTION = 0.5, 0.7
"""s: closer detections of one kind are one event; share of a jump up to which an opposite one corrects it."""


class Announcement:
    """Follows the changes of one payload.

    Attributes
    ----------
    last_change: s, stamp of the last one; -inf before the first.
    """

    def __init__(self) -> None:
        self.last_change, self._kind, self._jump = -math.inf, "", 0.0

    def event(self, change: ChangeEvent, jump: float, stamp: float) -> ChangeEvent | None:
        """The event at `stamp` s; None where the change, by `jump` kg, continues the last one.

        A push that changes while it lasts, and ends, and a load that comes on gradually are one event each. So is a
        change whose first guess was too large and is then corrected.
        """
        opposite = {self._kind, change.kind} == {"pick", "release"}
        continues = change.kind == self._kind or (opposite and jump < CORRECTION * self._jump)
        continues = continues and stamp - self.last_change < ONE_CHANGE
        if not continues:
            self._kind, self._jump = change.kind, jump
        self.last_change = stamp
        return None if continues else replace(change, stamp=stamp)
