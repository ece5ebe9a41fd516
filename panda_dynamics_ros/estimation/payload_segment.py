# SPDX-License-Identifier: Apache-2.0
"""Stretches of a recording in which the payload stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.payload_estimate import PayloadEstimate

SMOOTHED = "smoothed"
UNLOADED = "told"
SHORT = "too little motion"
STOOD_STILL = "stood still"


@dataclass(frozen=True, eq=False)
class PayloadSegment:
    """The payload between two changes, from all samples of the recording.

    Attributes
    ----------
    start, end: s, stamps of its onset and of the next one (or of the recording's first and last sample).
    motion_s: s in motion that were listened to.
    estimate: the payload; its status is "smoothed", or says why little is known, or that it was told.
    """

    start: float
    end: float
    motion_s: float
    estimate: PayloadEstimate


@dataclass(frozen=True, eq=False)
class SmoothedHistory:
    """The segments as curves: mass, mass_std (N,), kg; com, com_std (N, 3), m, in the flange frame."""

    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray

    @classmethod
    def at(cls, stamp: FloatArray, segments: Sequence[PayloadSegment]) -> SmoothedHistory:
        """Of the stamps (N,), s, of a recording."""
        which = np.searchsorted([segment.start for segment in segments[1:]], stamp, side="right")
        estimates = [segment.estimate for segment in segments]
        return cls(
            np.array([e.mass for e in estimates])[which],
            np.array([e.std[0] for e in estimates])[which],
            np.array([e.com for e in estimates])[which],
            np.array([e.com_std for e in estimates])[which],
        )
