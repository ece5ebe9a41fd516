# SPDX-License-Identifier: Apache-2.0
"""Which estimates are published: the same in the node and offline."""

from __future__ import annotations

import math

from panda_dynamics_ros.estimation.payload_estimate import STAMP_RESOLUTION, ChangeEvent, PayloadEstimate

PERIOD = 0.02
"""s, of publication, where the user says nothing else."""


class PublicationSchedule:
    """One estimate each `period` seconds of stamps, and each change at once.

    Where the stamps jump back (a recording in a loop), publication goes on from there.
    """

    def __init__(self, period: float = PERIOD) -> None:
        self.period = period
        self._published = -math.inf
        self._event: ChangeEvent | None = None

    def due(self, estimate: PayloadEstimate, stamp: float) -> bool:
        """Whether to publish `estimate`, which the estimator gave for the sample at `stamp`; asked once per sample."""
        if estimate.stamp != stamp:
            return False  # the sample was only filtered, or left out for its stamp
        changed = estimate.event is not None and estimate.event is not self._event
        if not changed and 0.0 <= stamp - self._published < self.period - STAMP_RESOLUTION:
            return False
        self._published, self._event = stamp, estimate.event or self._event
        return True
