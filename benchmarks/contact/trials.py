# SPDX-License-Identifier: Apache-2.0
"""Trials of the contact detector: pushes of five to ten sigmas, firm pushes, motion that nothing touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.contact import recordings
from benchmarks.payload import real_log
from benchmarks.payload.arms import BLOCKS, published, real_own, simulated_own
from benchmarks.payload.learnt import dataset
from benchmarks.payload.samples import Samples, body
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.estimation import Contact, ContactDetector
from panda_dynamics_ros.estimation.regression import ArmTerms

MODELS = ("identified", "published")
BARE, MAPPED = "published, repeated motion", "with its residual map"
ROWS = 5000  # samples at a time: 6 MB of terms
AFTER_PUSH = 1.0  # s from a push's start, in which its end may be reported, too


class Found(NamedTuple):
    """What became of a push: seconds until it was detected (nan: never while it lasted), the link named at its end."""

    model: str
    mass: float
    firm: bool
    link: int
    sigmas: float
    force: float
    delay: float
    named: int


class Watched(NamedTuple):
    """Motion without contacts: its length, s, the stamps at which one was reported, and what came nearest to one.

    `largest`: the largest ratio of a sudden torque to its standard deviation; nan where it was not looked for.
    """

    source: str
    model: str
    mass: float
    duration: float
    alarms: tuple[float, ...]
    largest: float = np.nan


def contacts(robot: RobotModel, data: Samples, payload: InertialParameters) -> list[Contact]:
    """All contacts that the detector reports, as they were when they ended (or the samples did)."""
    detector, terms, found = ContactDetector(robot), ArmTerms(robot), dict[float, Contact]()
    detector.carry(payload)
    for first in range(0, len(data.stamp), ROWS):
        stamp, q, dq, tau = (
            np.ascontiguousarray(values[first : first + ROWS]) for values in (data.stamp, data.q, data.dq, data.tau)
        )
        steps = np.diff(stamp, prepend=data.stamp[first - 1] if first else stamp[0])
        for _, contact in detector.follow(terms.rows(stamp, q, dq, tau), steps):
            found[contact.start] = contact
    return list(found.values())


def largest_ratio(robot: RobotModel, data: Samples) -> float:
    """What a threshold would have to be above for nothing in these samples to be a contact."""
    detector, largest = ContactDetector(robot, threshold=1e9), 0.0
    for stamp, q, dq, tau in zip(data.stamp, data.q, data.dq, data.tau, strict=True):
        detector.update(float(stamp), q, dq, tau)
        largest = max(largest, detector.ratio)
    return largest


def model(name: str, seed: int) -> RobotModel:
    """The model `name` of a simulated arm."""
    return simulated_own(seed) if name == "identified" else published()


@dataclass(frozen=True)
class Pushes:
    """`count` pushes on the arm of `seed`, `firm` ones of 20 to 60 N or, by default, of five to ten sigmas."""

    seed: int
    mass: float
    count: int
    firm: bool = False

    def run(self) -> list[Found | Watched]:
        """A `Found` for each push and model."""
        made = recordings.firmly_pushed if self.firm else recordings.pushed
        data, pushes = made(self.seed, self.mass, self.count)
        found: list[Found | Watched] = []
        for name in MODELS:
            reported = contacts(model(name, self.seed), data, body(self.mass, self.seed))
            for push in pushes:
                hits = [c for c in reported if -1e-6 <= c.start - push.at < push.duration]
                delay, named = (hits[0].start - push.at, hits[0].link) if hits else (np.nan, 0)
                force = float(np.linalg.norm(push.force))
                found.append(Found(name, self.mass, self.firm, push.link, push.sigmas, force, delay, named))
        return found


@dataclass(frozen=True)
class Repeated:
    """`count` light pushes on an arm that repeats a motion, by the published model and with a map of that motion."""

    seed: int
    count: int

    def run(self) -> list[Found | Watched]:
        """For each model a `Found` for each push, and what it reported beside them."""
        untouched, data, pushes = recordings.repeated(self.seed, self.count)
        bare, results = published(), list[Found | Watched]()
        for name, robot in ((BARE, bare), (MAPPED, pdr.learn_residual(dataset(untouched), bare))):
            reported = contacts(robot, data, InertialParameters.zero())
            near = [(push.at - 1e-6, push.at + AFTER_PUSH) for push in pushes]
            alarms = tuple(c.start for c in reported if not any(low <= c.start < high for low, high in near))
            duration = float(data.stamp[-1] - data.stamp[0]) - AFTER_PUSH * len(pushes)
            results.append(Watched("repeated motion", name, 0.0, duration, alarms))
            for push in pushes:
                hits = [c for c in reported if -1e-6 <= c.start - push.at < push.duration]
                delay, named = (hits[0].start - push.at, hits[0].link) if hits else (np.nan, 0)
                force = float(np.linalg.norm(push.force))
                results.append(Found(name, 0.0, False, push.link, push.sigmas, force, delay, named))
        return results


@dataclass(frozen=True)
class Free:
    """The arm of `seed` in motion for `duration` s, carrying `mass` kg of which the detector knows."""

    seed: int
    mass: float
    duration: float

    def run(self) -> list[Found | Watched]:
        """One `Watched` for each model."""
        data = recordings.free(self.seed, self.mass, self.duration)
        return [
            _watched("simulated", name, self.mass, model(name, self.seed), data, body(self.mass, self.seed))
            for name in MODELS
        ]


@dataclass(frozen=True)
class RealLogs:
    """The unloaded logs of real arms: the published model, and own ones fitted to the rest of the 1 kHz log."""

    def run(self) -> list[Found | Watched]:
        """A `Watched` for each log and model; the own model's is pooled over the blocks left out."""
        log, bag = real_log.log(), real_log.log(real_log.LOG_30HZ)
        blocks = [(real_own(k), log.between(*times)) for k, times in enumerate(BLOCKS)]
        return [
            *(_real("real log, 1 kHz", "own, block left out", robot, data) for robot, data in blocks),
            _real("real log, 1 kHz", "published", published(), log),
            _real("real bag, 30 Hz", "published", published(), bag),
        ]


def _real(source: str, name: str, robot: RobotModel, data: Samples) -> Watched:
    watched = _watched(source, name, 0.0, robot, data, InertialParameters.zero())
    return watched._replace(largest=largest_ratio(robot, data))


def _watched(
    source: str, name: str, mass: float, robot: RobotModel, data: Samples, payload: InertialParameters
) -> Watched:
    alarms = tuple(contact.start for contact in contacts(robot, data, payload))
    return Watched(source, name, mass, float(data.stamp[-1] - data.stamp[0]), alarms)


Job = Pushes | Free | Repeated | RealLogs


def trials(seeds: int, pushes: int, minutes: float, real: bool) -> list[Job]:
    """All of them, `minutes` of free motion and `pushes` pushes in all for each payload."""
    jobs: list[Job] = []
    for seed in range(seeds):
        for mass in (0.0, 1.0):
            jobs.append(Pushes(seed, mass, pushes // seeds))
            jobs.append(Free(seed, mass, 60.0 * minutes / seeds))
        jobs.append(Pushes(seed, 0.0, 10, firm=True))
        jobs.append(Repeated(seed, pushes // seeds))
    return [*jobs, RealLogs()] if real else jobs
