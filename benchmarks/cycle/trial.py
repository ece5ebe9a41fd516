# SPDX-License-Identifier: Apache-2.0
"""The recordings of one arm, and what the estimator and the simple methods said of each load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cycle import random_work, real_logs
from benchmarks.cycle.methods import SIMPLE, Rows, Track, estimated
from benchmarks.cycle.recordings import PATIENCE, Recording, brisk, cycles, empty, slips, steady, undeclared
from benchmarks.cycle.signals import SIGNALS

TIMES = (1.0, 2.0)  # s after a load is complete
PUSHES = ("pulled", "lifted", "pushed")
ESTIMATOR, BRISK, SIMULATED = "estimator", "panda, brisk motion", "simulated arms"


@dataclass(frozen=True)
class Weighed:
    """What was said at one moment of a load: `after` s after it was complete. Masses in kg, CoM errors in sigmas."""

    robot: str
    kind: str
    mass: float
    after: float
    errors: dict[str, float]
    mass_sigmas: float
    com_sigmas: tuple[float, ...]


@dataclass(frozen=True)
class Watched:
    """A recording: its false events, kg of each pick and release that was not noticed, and the worst of its sigmas."""

    robot: str
    duration: float
    false_events: tuple[tuple[float, str], ...]
    unnoticed: tuple[float, ...]
    changes: int
    worst: float


def judge(recording: Recording, track: Track, rows: Rows | None) -> tuple[list[Weighed], Watched]:
    """What became of each load; `rows` for the simple methods."""
    r, found = recording, []
    loads = [h for h in r.happenings if h.kind not in PUSHES]
    ends = [*(h.begin for h in r.happenings[1:]), float(r.stamp[-1])][: len(r.happenings)]
    sigmas = [0.0]
    for h, until in zip(r.happenings, ends, strict=True):
        since = max((each.end for each in loads if each.end <= h.end + 1e-9), default=0.0)
        for after in np.arange(1.0, until - h.end, 1.0):
            k = int(np.searchsorted(r.stamp, h.end + after))
            if r.stamp[k] >= until:  # of a slow stream
                break
            truth = r.truth[k]
            sigma = abs(track.mass[k] - truth[0]) / track.mass_std[k]
            sigmas.append(float(sigma))
            if after not in TIMES or h.kind == "release":
                continue
            errors = {ESTIMATOR: float(track.mass[k] - truth[0])}
            if rows is not None and h.kind in ("pick", "handed over"):
                errors |= {name: way(rows, since, h.end + after) - float(truth[0]) for name, way in SIMPLE.items()}
            com = np.abs(track.com[k] - truth[1:4] / max(truth[0], 1e-9)) / track.com_std[k]
            flagged = tuple(com[track.com_known[k] > 0.0].tolist()) if truth[0] > 0.0 else ()
            found.append(Weighed(r.robot.name, h.kind, float(truth[0]), float(after), errors, float(sigma), flagged))
    if not r.happenings:
        each_second = np.searchsorted(r.stamp, np.arange(1.0, r.stamp[-1]))
        sigmas += (np.abs(track.mass[each_second]) / track.mass_std[each_second]).tolist()
    return found, _watched(r, track.events, max(sigmas))


def _watched(r: Recording, events: Sequence[tuple[float, str]], worst: float) -> Watched:
    """Which events nobody caused, and which changes nobody noticed."""
    left, unnoticed, carried = list(events), [], float(r.truth[0, 0])
    changes = [h for h in r.happenings if h.kind in ("pick", "handed over", "steadily", "release")]
    for h in changes:
        kinds = ("release", "load") if h.kind == "release" else ("pick", "load")
        at = next((e for e in left if e[1] in kinds and h.begin <= e[0] < h.end + PATIENCE), None)
        if at is None:
            unnoticed.append(abs(h.payload.mass - carried))
        else:
            left.remove(at)
        carried = h.payload.mass
    for h in r.happenings:
        meanwhile = [e for e in left if h.begin <= e[0] < h.end + PATIENCE]
        right = ("contact", "load") if h.kind in PUSHES else ("release",) if h.kind == "poured" else ()
        told = min((at for at, kind in meanwhile if kind == "load" and h.kind in PUSHES), default=np.inf)
        # At rest a push may be a weight, which has gone when it ends.
        left = [e for e in left if e not in meanwhile or not (e[1] in right or (e[1] == "release" and e[0] > told))]
    return Watched(r.robot.name, float(r.stamp[-1]), tuple(left), tuple(unnoticed), len(changes), worst)


@dataclass(frozen=True)
class Job:
    """The recordings of one arm."""

    robot: str
    seed: int
    empty_for: float
    at_rest: float
    simple: bool


def run(job: Job) -> list[Weighed | Watched]:
    """All recordings, judged, in a worker process."""
    worked = cycles(job.robot, job.seed, at_rest=job.at_rest)
    weighed, watched = judge(worked, estimated(worked), Rows(worked) if job.simple else None)
    idle = empty(job.robot, job.seed, job.empty_for, at_rest=job.at_rest)
    found: list[Weighed | Watched] = [*weighed, watched, judge(idle, estimated(idle), None)[1]]
    others = {
        f"{job.robot}, loads that come on steadily": steady(job.robot, job.seed, at_rest=job.at_rest),
        f"{job.robot}, objects that slip in the hand": slips(job.robot, job.seed, at_rest=job.at_rest),
        f"{job.robot}, a hand that nobody declared": undeclared(job.robot, job.seed, at_rest=job.at_rest),
    }
    if job.robot == "panda":
        others[BRISK] = brisk(job.seed)
    for name, recording in others.items():
        weighed, watched = judge(recording, estimated(recording), None)
        found += [*(replace(each, robot=name) for each in weighed), replace(watched, robot=name)]
    return found


def run_random(job: tuple[str, int], hand: str, loaded: bool) -> list[Weighed | Watched]:
    """A random scenario on simulated arms, or on a real log, of a name and a seed, judged, in a worker process."""
    name, seed = job
    recording = random_work.scenario(seed, hand, loaded) if name == SIMULATED else real_logs.scenario(name, seed)
    weighed, watched = judge(recording, estimated(recording), None)
    return [*(replace(each, robot=name) for each in weighed), replace(watched, robot=name)]


def run_signals(job: Job) -> list[Weighed | Watched]:
    """Cycles and an empty hand by each of `SIGNALS`, judged, in a worker process; `robot` is the signal's name."""
    recordings = cycles(job.robot, job.seed, at_rest=job.at_rest), empty(job.robot, job.seed, job.empty_for)
    found: list[Weighed | Watched] = []
    for name, signal in SIGNALS.items():
        for recording in recordings:
            heard = signal(recording, np.random.default_rng([job.seed, 9]))
            weighed, watched = judge(heard, estimated(heard), None)
            found += [*(replace(each, robot=name) for each in weighed), replace(watched, robot=name)]
    return found
