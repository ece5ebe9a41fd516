# SPDX-License-Identifier: Apache-2.0
"""The two models of each arm: the published one as it is, and one calibrated on the arm's own unloaded motion."""

from __future__ import annotations

from functools import cache

import panda_dynamics_ros as pdr
from benchmarks.payload import real_log, recordings
from benchmarks.payload.calibration import calibrated

ARMS = ("published", "own")
REAL_END = 7.4  # s: the last tenth of a second of the log is where `true_motion` meets the end of its filter
BLOCKS = ((0.0, 2.5), (2.5, 5.0), (5.0, REAL_END))
"""s: the parts of the 1 kHz log that are left out in turn: the arm is calibrated on the others."""


@cache
def published() -> pdr.RobotModel:
    """Gaz et al., 2019."""
    return pdr.load_robot("panda")


@cache
def simulated_own(seed: int) -> pdr.RobotModel:
    """Calibrated on two motions of the simulated arm that are not the test's."""
    motions = range(1, recordings.TRAINING_MOTIONS + 1)
    return calibrated(published(), [recordings.training(seed, motion) for motion in motions])


@cache
def real_own(block: int) -> pdr.RobotModel:
    """Calibrated on all of the 1 kHz log but one block."""
    return calibrated(
        published(), [real_log.log().between(*times) for k, times in enumerate(BLOCKS) if k != block]
    )  # fmt: skip


def real_parts(arm: str) -> list[tuple[pdr.RobotModel, float, float]]:
    """Models of the real arm, and from when to when in the 1 kHz log each may be tested.

    A pick's unloaded lead may be from training motion.
    """
    if arm == "published":
        return [(published(), 0.0, REAL_END)]
    return [(real_own(k), start, end) for k, (start, end) in enumerate(BLOCKS)]


def simulated(arm: str, seed: int) -> pdr.RobotModel:
    """The model `arm` of a simulated arm."""
    return published() if arm == "published" else simulated_own(seed)
