# SPDX-License-Identifier: Apache-2.0
"""Trials of change detection: picks and drops, hours in which nothing happens, pushes on a link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import ARMS, published, real_parts, simulated
from benchmarks.payload.methods import ours
from benchmarks.payload.samples import Samples, body
from panda_dynamics_ros import RobotModel

PICKED = (0.3, 0.5, 1.0)
PERIOD = 4.0  # s between what happens to a simulated arm
PATIENCE = 1.0  # s, after which a change counts as missed


@dataclass(frozen=True)
class Found:
    """What the estimator made of one incident.

    kind: "pick", "drop", "collision" or "nothing". mass: of the payload concerned, kg. duration: s watched.
    delay: s until the right event; nan if there was none. events: all (seconds after it, kind) in that time.
    """

    source: str
    arm: str
    kind: str
    mass: float
    duration: float
    delay: float
    events: tuple[tuple[float, str], ...]

    @property
    def payload_events(self) -> int:
        """How many events speak of a payload."""
        return sum(kind != "contact" for _, kind in self.events)


def noticed(
    source: str, arm: str, kind: str, mass: float, at: float, events: list[tuple[float, str]], patience: float
) -> Found:
    """The incident at `at`, and what was reported in the `patience` s from then on."""
    after = tuple((stamp - at, name) for stamp, name in events if 0.0 <= stamp - at < patience)
    right = {"pick": "pick", "drop": "release", "collision": "contact"}.get(kind)
    delay = next((delay for delay, name in after if name == right), np.nan)
    return Found(source, arm, kind, mass, patience, delay, after)


def events_of(robot: RobotModel, data: Samples) -> list[tuple[float, str]]:
    """What the estimator reports while it runs over the samples."""
    return ours(robot, data, float(data.stamp[0]), ()).events


@dataclass(frozen=True)
class Picks:
    """A payload picked up and put down `times` times. `seed` is None for the real log."""

    arm: str
    mass: float
    seed: int | None = None
    times: int = 8

    def run(self) -> Iterator[Found]:
        """One `Found` for each pick and each drop."""
        if self.seed is None:
            log, torques = real_log.log(), real_log.payload_torques(body(self.mass))
            for robot, pick in _real_moments(self.arm):
                for kind, on in (("pick", log.stamp >= pick), ("drop", log.stamp < pick)):
                    data = log.with_torques(torques * on[:, None]).between(max(pick - 2.5, 0.0), pick + PATIENCE)
                    yield noticed("real log", self.arm, kind, self.mass, pick, events_of(robot, data), PATIENCE)
            return
        data = recordings.picking(self.seed, self.mass, self.times, PERIOD)
        events = events_of(simulated(self.arm, self.seed), data)
        for k in range(2 * self.times):
            at, kind = recordings.SKIPPED + (k + 1) * PERIOD, ("pick", "drop")[k % 2]
            yield noticed("simulated", self.arm, kind, self.mass, at, events, PATIENCE)


@dataclass(frozen=True)
class Steady:
    """Motion with a payload that does not change. `seed` is None for the real logs."""

    arm: str
    mass: float
    seed: int | None = None
    duration: float = 0.0

    def run(self) -> Iterator[Found]:
        """One `Found`, of kind nothing, for each recording."""
        if self.seed is not None:
            robot, watched = simulated(self.arm, self.seed), {}
            watched["simulated"] = recordings.steady(self.seed, self.mass, self.duration)
        else:
            robot, watched = published(), {"real log": real_log.log(), "real bag": real_log.log(real_log.LOG_30HZ)}
        for source, data in watched.items():
            start, duration = float(data.stamp[0]), float(data.stamp[-1] - data.stamp[0])
            yield noticed(source, self.arm, "nothing", self.mass, start, events_of(robot, data), duration + 1.0)


@dataclass(frozen=True)
class Collisions:
    """Pushes on one link each, with or without a payload. `seed` is None for the real log."""

    arm: str
    mass: float
    seed: int | None = None
    pushes: int = 10

    def run(self) -> Iterator[Found]:
        """One `Found` for each push."""
        if self.seed is None:
            rng, log = np.random.default_rng(7), real_log.log()
            loaded = log.with_torques(real_log.payload_torques(body(self.mass)))
            for robot, at in _real_moments(self.arm):
                link, force, duration = recordings.push(rng)
                on = (log.stamp >= at) & (log.stamp < at + duration)
                data = loaded.with_torques(real_log.push_torques(link, force) * on[:, None])
                events = events_of(robot, data.between(max(at - 2.5, 0.0), at + 1.5))
                yield noticed("real log", self.arm, "collision", self.mass, at, events, 1.5)
            return
        events = events_of(simulated(self.arm, self.seed), recordings.pushed(self.seed, self.mass, self.pushes, PERIOD))
        for k in range(self.pushes):
            at = recordings.SKIPPED + (k + 1) * PERIOD
            yield noticed("simulated", self.arm, "collision", self.mass, at, events, PERIOD)


Job = Picks | Steady | Collisions


def _real_moments(arm: str) -> list[tuple[RobotModel, float]]:
    """Models, and moments of the 1 kHz log that they have not been fitted to, with a second after them."""
    return [
        (robot, at) for robot, start, end in real_parts(arm) for at in np.arange(max(start, 1.5), end - 1.0 + 1e-9, 0.5)
    ]


def trials(seeds: int, minutes: float, real: bool) -> list[Job]:
    """All of them; `minutes` of steady motion per seed and arm, without and with a payload each."""
    jobs: list[Job] = []
    for arm in ARMS:
        for seed in [*range(seeds), *([None] if real else [])]:
            jobs += [Picks(arm, mass, seed) for mass in PICKED]
            jobs += [Collisions(arm, mass, seed) for mass in (0.0, 1.0)]
            if seed is not None:
                jobs += [Steady(arm, mass, seed, 60.0 * minutes) for mass in (0.0, 1.0)]
    return [*jobs, Steady("published", 0.0)] if real else jobs


def run(job: Any) -> list[Any]:
    """A job's results, in a worker process, which finds no function of the package's `__main__`."""
    return [*job.run()]
