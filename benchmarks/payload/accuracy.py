# SPDX-License-Identifier: Apache-2.0
"""Trials of accuracy: how far each method is from a known payload, some time after it came on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import ARMS, BLOCKS, REAL_END, published, real_own, simulated
from benchmarks.payload.baselines import BatchLeastSquares, ForgettingLeastSquares, GravityOnly
from benchmarks.payload.methods import Answer, Method, Ours
from benchmarks.payload.samples import MASSES, TIMES, Samples, body
from panda_dynamics_ros import InertialParameters, RobotModel

METHODS: tuple[Method, ...] = (Ours(), BatchLeastSquares(), ForgettingLeastSquares(), GravityOnly())
Z95 = 1.96
COLD_STARTS = (2.0, 7.0, 11.5)  # s after the pick, of estimators that find the payload attached
WARM_UP = 1.5  # s before a pick in the real log


@dataclass(frozen=True)
class Outcome:
    """One method's answer, `time` s after the payload came on.

    `start` is "cold" (the estimator starts with the payload attached) or "pick" (in motion). Errors: mass in kg,
    com in m (a distance), inertia in kg m^2 (Frobenius norm, about the CoM; nan without a payload). mass_held and
    com_held (three coordinates) say whether the 95 % intervals hold the truth; physical, whether the body can exist.
    """

    source: str
    arm: str
    start: str
    mass: float
    time: float
    method: str
    mass_error: float
    com_error: float
    inertia_error: float
    mass_held: bool
    com_held: tuple[bool, ...]
    physical: bool


@dataclass(frozen=True)
class Trial:
    """One payload on one arm: a job for one process. `seed` is None for the real log."""

    arm: str
    mass: float
    seed: int | None = None

    def run(self) -> list[Outcome]:
        """All its outcomes."""
        return list(self._real() if self.seed is None else self._simulated(self.seed))

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
        for robot, first, end in self._real_parts():
            for begin in np.arange(first, end - 1.0 + 1e-9, 0.5):
                window = loaded.between(begin, min(begin + TIMES[-1], end))
                yield from self._outcomes("real log", "cold", robot, window, begin, payload)
            for pick in np.arange(first + WARM_UP, end - 1.0 + 1e-9, 0.5) if self.mass > 0.0 else ():
                window = log.with_torques(torques * (log.stamp >= pick)[:, None])
                window = window.between(max(0.0, pick - 3.0), min(pick + TIMES[-1], end))
                yield from self._outcomes("real log", "pick", robot, window, pick, payload)

    def _real_parts(self) -> list[tuple[RobotModel, float, float]]:
        """Models, and from when to when they may be tested. A pick's unloaded lead may be from training motion."""
        if self.arm == "published":
            return [(published(), 0.0, REAL_END)]
        return [(real_own(k), start, end) for k, (start, end) in enumerate(BLOCKS)]

    def _outcomes(
        self, source: str, start: str, robot: RobotModel, data: Samples, since: float, payload: InertialParameters
    ) -> Iterator[Outcome]:
        times = [time for time in TIMES if since + time <= data.stamp[-1] + 0.02]
        for method in METHODS:
            track = method.run(robot, data, since, [since + time for time in times])
            for time, answer in zip(times, track.answers, strict=True):
                yield judged(source, self.arm, start, time, method.name, payload, answer)


def judged(
    source: str, arm: str, start: str, time: float, method: str, payload: InertialParameters, answer: Answer
) -> Outcome:
    """The outcome of one answer."""
    mass_error, com_error = answer.mass - payload.mass, answer.com - payload.com
    nothing = payload.mass == 0.0
    return Outcome(
        source, arm, start, payload.mass, time, method,
        mass_error=mass_error,
        com_error=np.nan if nothing else float(np.linalg.norm(com_error)),
        inertia_error=np.nan if nothing else float(np.linalg.norm(answer.body.inertia - payload.inertia)),
        mass_held=bool(abs(mass_error) <= Z95 * np.sqrt(answer.covariance[0, 0])),
        com_held=() if nothing else tuple((np.abs(com_error) <= Z95 * answer.com_std).tolist()),
        physical=answer.body.is_physical(),
    )  # fmt: skip


def trials(seeds: int, real: bool) -> list[Trial]:
    """All of them, the long ones first."""
    simulated_ones = [Trial(arm, mass, seed) for seed in range(seeds) for mass in MASSES for arm in ARMS]
    return simulated_ones + [Trial(arm, mass) for mass in MASSES for arm in ARMS if real]
