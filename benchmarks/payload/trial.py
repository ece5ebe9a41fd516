# SPDX-License-Identifier: Apache-2.0
"""Trials: a known payload on one arm, and what becomes of the answers about it.

Accuracy    all methods, some time after the payload came on
Whole       the estimator at the end of a recording, and the smoother
SecondRun   with a map of what the arm does unloaded: of the public log's first run, on its second run and on held-out
            blocks of the first
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.common import Z95
from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import ARMS, BLOCKS, dataset, identified, published, real_own, real_parts, simulated
from benchmarks.payload.methods import METHODS, Answer, ours
from benchmarks.payload.samples import MASSES, TIMES, Samples, body
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.estimation import smooth_payloads

COLD_STARTS = (2.0, 7.0, 11.5)  # s after the pick, of estimators that find the payload attached
WARM_UP = 1.5  # s before a pick in the real log
CARRIED = (2.0, 5.0, recordings.CARRIED)  # s with the payload, of whole recordings of simulated arms
FORWARD, SMOOTHED = "estimator, at the end", "smoothed"
WITHOUT, WITH = "without map", "with map"
AFTER, SHAPES = (1.0, 2.0, 3.5), (None, 0, 1, 2, 3, 4)  # s; payloads of `body` on the second run
SECOND_PICKS = (0.8, 1.2, 1.6)  # s, in the second run, whose first 0.4 s the first run does not have
SECOND_END = 3.55  # s: there the second run's true motion meets the end of its filter


@dataclass(frozen=True)
class Outcome:
    """One method's answer, `time` s after the payload came on.

    `start` is "cold" (the estimator starts with the payload attached) or "pick" (in motion). Errors: mass in kg,
    com in m (a distance), inertia in kg m^2 (Frobenius norm, about the CoM; nan without a payload). mass_held and
    com_held (three coordinates) say whether the 95 % intervals hold the truth.
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
    )  # fmt: skip


def trials(kind: type[Accuracy | Whole], seeds: int, real: bool) -> list[Accuracy | Whole]:
    """Each mass on each arm: the simulated ones, which take long, first."""
    masses = [mass for mass in MASSES if mass > 0.0 or kind is Accuracy]
    seeds_of_arms = [*range(seeds), *([None] if real else [])]
    return [kind(arm, mass, seed) for seed in seeds_of_arms for mass in masses for arm in ARMS]


@dataclass(frozen=True)
class Accuracy:
    """All methods, at all times after a pick, and after starting with the payload attached. No seed: the real log."""

    arm: str
    mass: float
    seed: int | None = None

    def run(self) -> list[Outcome]:
        """All its outcomes."""
        return list(self._real() if self.seed is None else self._simulated(self.seed))

    def _simulated(self, seed: int) -> Iterator[Outcome]:
        data, robot, payload = recordings.carrying(seed, self.mass), simulated(self.arm, seed), body(self.mass, seed)
        start, pick = recordings.SKIPPED, recordings.SKIPPED + recordings.LEAD
        last = pick + recordings.CARRIED
        if self.mass > 0.0:
            yield from self._outcomes("simulated", "pick", robot, data.between(start, pick + TIMES[-1]), pick, payload)
        for begin in (pick + offset for offset in COLD_STARTS):
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
        for name, method in METHODS.items():
            track = method(robot, data, since, [since + time for time in times])
            for time, answer in zip(times, track.answers, strict=True):
                yield judged(source, self.arm, start, time, name, payload, answer)


@dataclass(frozen=True)
class Whole:
    """Estimator and smoother over whole recordings; an outcome's `time` is that with the payload, 0 on the real log."""

    arm: str
    mass: float
    seed: int | None = None

    def run(self) -> list[Outcome]:
        """All its outcomes."""
        return list(self._real() if self.seed is None else self._simulated(self.seed))

    def _simulated(self, seed: int) -> Iterator[Outcome]:
        data, robot = recordings.carrying(seed, self.mass), simulated(self.arm, seed)
        start, pick = recordings.SKIPPED, recordings.SKIPPED + recordings.LEAD
        for carried in CARRIED:
            end, rest = pick + carried, recordings.REST if carried == recordings.CARRIED else 0.0
            window = data.between(start, end + rest)
            yield from self._outcomes("simulated", robot, window, pick, end, carried, body(self.mass, seed))

    def _real(self) -> Iterator[Outcome]:
        payload, log = body(self.mass), real_log.log()
        torques = real_log.payload_torques(payload)
        for robot, first, end in real_parts(self.arm):
            for pick in np.arange(first + 1.0, end - 1.0 + 1e-9, 0.5):
                for since, until in ((pick, end), (first, pick)):
                    carried = (log.stamp >= since) & (log.stamp < until)
                    data = log.with_torques(torques * carried[:, None]).between(first, end)
                    # One row for all: few of them last equally long.
                    yield from self._outcomes("real log", robot, data, since, until, 0.0, payload)

    def _outcomes(
        self, source: str, robot: RobotModel, data: Samples, since: float, until: float, carried: float,
        payload: InertialParameters,
    ) -> Iterator[Outcome]:  # fmt: skip
        segments = smooth_payloads(robot, data.stamp, data.q, data.dq, data.tau)
        middle = 0.5 * (since + until)
        smoothed = next(segment.estimate for segment in reversed(segments) if segment.start <= middle)
        forward = ours(robot, data, since, [until - 1e-6]).answers[0]
        for name, answer in ((FORWARD, forward), (SMOOTHED, Answer(smoothed.vector, smoothed.covariance))):
            yield judged(source, self.arm, "pick", carried, name, payload, answer)


@dataclass(frozen=True)
class SecondRun:
    """Payloads of one mass on motion after that which model and map were fitted to."""

    arm: str
    mass: float

    def run(self) -> list[Outcome]:
        """Outcomes of cold starts and picks."""
        return [*self._second(), *self._held_out()]

    def _second(self) -> Iterator[Outcome]:
        first, data = real_log.log(), real_log.log(real_log.SECOND_PASS)
        bare = published() if self.arm == "published" else identified([first])
        for name, robot in ((WITHOUT, bare), (WITH, pdr.learn_residual(dataset(first), bare))):
            for payload in (body(self.mass, shape) for shape in SHAPES):
                torques = real_log.payload_torques(payload, real_log.SECOND_PASS)
                cold = data.with_torques(torques).between(0.0, SECOND_END)
                yield from self._outcomes("second run", "cold", name, robot, cold, 0.0, AFTER, payload)
                for pick in SECOND_PICKS:
                    loaded = data.with_torques(torques * (data.stamp >= pick)[:, None]).between(0.0, SECOND_END)
                    yield from self._outcomes("second run", "pick", name, robot, loaded, pick, (1.0,), payload)

    def _held_out(self) -> Iterator[Outcome]:
        log = real_log.log()
        for k, (start, end) in enumerate(BLOCKS):
            bare = published() if self.arm == "published" else real_own(k)
            others = [dataset(log.between(*times)) for other, times in enumerate(BLOCKS) if other != k]
            for name, robot in ((WITHOUT, bare), (WITH, pdr.learn_residual(others, bare))):
                for payload in (body(self.mass, shape) for shape in SHAPES[:3]):
                    loaded = log.with_torques(real_log.payload_torques(payload))
                    for begin in np.arange(start, end - 1.0 + 1e-9, 0.5):
                        times = [time for time in AFTER if begin + time <= end]
                        window = loaded.between(begin, end)
                        yield from self._outcomes("held out", "cold", name, robot, window, begin, times, payload)

    def _outcomes(
        self, source: str, start: str, name: str, robot: RobotModel, data: Samples, since: float,
        times: Sequence[float], payload: InertialParameters,
    ) -> Iterator[Outcome]:  # fmt: skip
        answers = ours(robot, data, since, [since + time for time in times]).answers
        for time, answer in zip(times, answers, strict=True):
            yield judged(source, self.arm, start, time, name, payload, answer)
