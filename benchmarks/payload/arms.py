# SPDX-License-Identifier: Apache-2.0
"""The two models of each arm: the published one as it is, and one identified from the arm's own unloaded motion."""

from __future__ import annotations

from functools import cache

import panda_dynamics_ros as pdr
from benchmarks.payload import real_log, recordings
from benchmarks.payload.samples import Samples

ARMS = ("published", "own")
REAL_END = 7.4  # s: the last tenth of a second of the log is where `true_motion` meets the end of its filter
BLOCKS = ((0.0, 2.5), (2.5, 5.0), (5.0, REAL_END))
"""s: the parts of the 1 kHz log that are left out in turn: the arm is identified from the others."""


@cache
def published() -> pdr.RobotModel:
    """Gaz et al., 2019."""
    return pdr.load_robot("panda")


def dataset(data: Samples) -> pdr.JointDataset:
    """The samples as a recording."""
    return pdr.JointDataset(data.stamp, data.q, data.dq, data.tau, published().joint_names, "benchmark")


def identified(parts: list[Samples]) -> pdr.RobotModel:
    """The published model fitted to unloaded stretches of one arm's motion."""
    return pdr.identify(map(dataset, parts), robot=published()).robot


@cache
def simulated_own(seed: int) -> pdr.RobotModel:
    """Identified from motions of the simulated arm that are not the test's."""
    return identified([recordings.training(seed, 1 + k) for k in range(recordings.TRAINING_MOTIONS)])


@cache
def real_own(block: int) -> pdr.RobotModel:
    """Identified from all of the 1 kHz log but one block."""
    return identified([real_log.log().between(*times) for k, times in enumerate(BLOCKS) if k != block])


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
