# SPDX-License-Identifier: Apache-2.0
"""Trials of change detection: picks and drops, hours in which nothing happens, pushes on a link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import ARMS, published, real_parts, simulated
from benchmarks.payload.methods import Ours
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


def events_of(robot: RobotModel, data: Samples) -> list[tuple[float, str]]:
    """What the estimator reports while it runs over the samples."""
    return Ours().run(robot, data, float(data.stamp[0]), ()).events


def noticed(
    source: str, arm: str, kind: str, mass: float, at: float, events: list[tuple[float, str]], patience: float
) -> Found:
    """The incident at `at`, and what was reported in the `patience` s from then on."""
    after = tuple((stamp - at, name) for stamp, name in events if 0.0 <= stamp - at < patience)
    right = {"pick": "pick", "drop": "release", "collision": "contact"}.get(kind)
    delay = next((delay for delay, name in after if name == right), np.nan)
    return Found(source, arm, kind, mass, patience, delay, after)


@dataclass(frozen=True)
class Picks:
    """A payload picked up and put down `times` times. `seed` is None for the real log."""

    arm: str
    mass: float
    times: int = 8
    seed: int | None = None

    def run(self) -> list[Found]:
        """One `Found` for each pick and each drop."""
        return self._real() if self.seed is None else self._simulated(self.seed)

    def _simulated(self, seed: int) -> list[Found]:
        data = recordings.picking(seed, self.mass, self.times, PERIOD)
        events = events_of(simulated(self.arm, seed), data)
        first = recordings.SKIPPED + PERIOD
        changes = [("pick" if k % 2 == 0 else "drop", first + k * PERIOD) for k in range(2 * self.times)]
        return [noticed("simulated", self.arm, kind, self.mass, at, events, PATIENCE) for kind, at in changes]

    def _real(self) -> list[Found]:
        log, torques, found = real_log.log(), real_log.payload_torques(body(self.mass)), []
        for robot, pick in _real_moments(self.arm, 1.0):
            for kind, on in (("pick", log.stamp >= pick), ("drop", log.stamp < pick)):
                data = log.with_torques(torques * on[:, None]).between(max(pick - 2.5, 0.0), pick + PATIENCE)
                found.append(
                    noticed("real log", self.arm, kind, self.mass, pick, events_of(robot, data), PATIENCE)
                )  # fmt: skip
        return found


@dataclass(frozen=True)
class Steady:
    """Motion with a payload that does not change. `seed` is None for the real logs."""

    arm: str
    mass: float
    duration: float = 0.0
    seed: int | None = None

    def run(self) -> list[Found]:
        """One `Found`, of kind nothing, for each recording."""
        if self.seed is not None:
            recordings_of = [("simulated", recordings.steady(self.seed, self.mass, self.duration))]
            robot = simulated(self.arm, self.seed)
        else:
            robot = published()
            recordings_of = [("real log", real_log.log()), ("real 30 Hz bag", real_log.log(real_log.LOG_30HZ))]
        found = []
        for source, data in recordings_of:
            start, watched = float(data.stamp[0]), float(data.stamp[-1] - data.stamp[0])
            found.append(noticed(source, self.arm, "nothing", self.mass, start, events_of(robot, data), watched + 1.0))
        return found


@dataclass(frozen=True)
class Collisions:
    """Pushes on one link each, with or without a payload. `seed` is None for the real log."""

    arm: str
    mass: float
    pushes: int = 10
    seed: int | None = None

    def run(self) -> list[Found]:
        """One `Found` for each push."""
        return self._real() if self.seed is None else self._simulated(self.seed)

    def _simulated(self, seed: int) -> list[Found]:
        data = recordings.pushed(seed, self.mass, self.pushes, PERIOD)
        events = events_of(simulated(self.arm, seed), data)
        first = recordings.SKIPPED + PERIOD
        at = [first + k * PERIOD for k in range(self.pushes)]
        return [noticed("simulated", self.arm, "collision", self.mass, time, events, PERIOD) for time in at]

    def _real(self) -> list[Found]:
        rng, log = np.random.default_rng(7), real_log.log()
        loaded, found = log.with_torques(real_log.payload_torques(body(self.mass))), []
        for robot, at in _real_moments(self.arm, 1.0):
            link, force, duration = recordings.push(rng)
            on = (log.stamp >= at) & (log.stamp < at + duration)
            data = loaded.with_torques(real_log.push_torques(link, force) * on[:, None])
            data = data.between(max(at - 2.5, 0.0), at + 1.5)
            found.append(noticed("real log", self.arm, "collision", self.mass, at, events_of(robot, data), 1.5))
        return found


def _real_moments(arm: str, room: float) -> list[tuple[RobotModel, float]]:
    """Models, and moments of the 1 kHz log that they have not been fitted to, with `room` s after them."""
    return [
        (robot, at)
        for robot, start, end in real_parts(arm)
        for at in np.arange(max(start, 1.5), end - room + 1e-9, 0.5)
    ]


def trials(seeds: int, minutes: float, real: bool) -> list[Picks | Steady | Collisions]:
    """All of them; `minutes` of steady motion per seed and arm, without and with a payload each."""
    jobs: list[Picks | Steady | Collisions] = []
    for arm in ARMS:
        for seed in range(seeds):
            jobs += [Steady(arm, mass, 60.0 * minutes, seed) for mass in (0.0, 1.0)]
            jobs += [Picks(arm, mass, seed=seed) for mass in PICKED]
            jobs += [Collisions(arm, mass, seed=seed) for mass in (0.0, 1.0)]
        if real:
            jobs += [Picks(arm, mass) for mass in PICKED]
            jobs += [Collisions(arm, mass) for mass in (0.0, 1.0)]
    if real:
        jobs.append(Steady("published", 0.0))
    return jobs
