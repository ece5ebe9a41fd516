# SPDX-License-Identifier: Apache-2.0
"""Trials of accuracy: how far each method is from a known payload, some time after it came on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import real_parts, simulated
from benchmarks.payload.baselines import BatchLeastSquares, ForgettingLeastSquares, GravityOnly
from benchmarks.payload.methods import Method, Ours
from benchmarks.payload.samples import MASSES, TIMES, Samples, body
from benchmarks.payload.trial import Outcome, Trial, judged
from panda_dynamics_ros import InertialParameters, RobotModel

METHODS: tuple[Method, ...] = (Ours(), BatchLeastSquares(), ForgettingLeastSquares(), GravityOnly())
COLD_STARTS = (2.0, 7.0, 11.5)  # s after the pick, of estimators that find the payload attached
WARM_UP = 1.5  # s before a pick in the real log


@dataclass(frozen=True)
class AccuracyTrial(Trial):
    """All methods, at all times after a pick, and after starting with the payload attached."""

    def _simulated(self, seed: int) -> Iterator[Outcome]:
        data, robot, payload = recordings.carrying(seed, self.mass), simulated(self.arm, seed), body(self.mass, seed)
        start = recordings.SKIPPED
        pick = start + recordings.LEAD
        last = pick + recordings.CARRIED
        if self.mass > 0.0:
            yield from self._outcomes("simulated", "pick", robot, data.between(start, pick + TIMES[-1]), pick, payload)
        for offset in COLD_STARTS:
            begin = pick + offset
            window = data.between(begin, min(begin + TIMES[-1], last - 1e-3))
            yield from self._outcomes("simulated", "cold", robot, window, begin, payload)

    def _real(self) -> Iterator[Outcome]:
        payload, log = body(self.mass), real_log.log()
        torques = real_log.payload_torques(payload)
        loaded = log.with_torques(torques)
        for robot, first, end in real_parts(self.arm):
            for begin in np.arange(first, end - 1.0 + 1e-9, 0.5):
                window = loaded.between(begin, min(begin + TIMES[-1], end))
                yield from self._outcomes("real log", "cold", robot, window, begin, payload)
            for pick in np.arange(first + WARM_UP, end - 1.0 + 1e-9, 0.5) if self.mass > 0.0 else ():
                window = log.with_torques(torques * (log.stamp >= pick)[:, None])
                window = window.between(max(0.0, pick - 3.0), min(pick + TIMES[-1], end))
                yield from self._outcomes("real log", "pick", robot, window, pick, payload)

    def _outcomes(
        self, source: str, start: str, robot: RobotModel, data: Samples, since: float, payload: InertialParameters
    ) -> Iterator[Outcome]:
        times = [time for time in TIMES if since + time <= data.stamp[-1] + 0.02]
        for method in METHODS:
            track = method.run(robot, data, since, [since + time for time in times])
            for time, answer in zip(times, track.answers, strict=True):
                yield judged(source, self.arm, start, time, method.name, payload, answer)


def trials(seeds: int, real: bool) -> list[AccuracyTrial]:
    """All of them."""
    return AccuracyTrial.all(MASSES, seeds, real)
