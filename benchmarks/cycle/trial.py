# SPDX-License-Identifier: Apache-2.0
"""The recordings of one arm, and what the estimator, which is told nothing, said of each load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.cycle.recordings import PATIENCE, Recording, cycles, empty
from panda_dynamics_ros.checks import FloatArray

TIMES = (1.0, 2.0)  # s after a load is complete


@dataclass(frozen=True, eq=False)
class Track:
    """What the estimator said at each sample: mass (N,), kg; com (N, 3), m; std of both; flags; events: stamp, kind."""

    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray
    com_known: FloatArray
    events: list[tuple[float, str]]


def estimated(recording: Recording) -> Track:
    """The estimator; a load that turns out to be a weight is one event."""
    r, N = recording, len(recording.stamp)
    monitor = pdr.ArmMonitor(r.robot)
    said = [(0, monitor.payload_estimator.estimate)]
    for first in range(0, N, 5000):
        part = slice(first, first + 5000)
        found = monitor.update_rows(r.stamp[part], r.q[part], r.dq[part], r.tau[part])
        said += [(first + k, estimate) for k, estimate, _ in found.estimates]
    held = np.searchsorted([k for k, _ in said], np.arange(N), side="right") - 1
    columns = (
        [e.mass for _, e in said], [e.std[0] for _, e in said], [e.com for _, e in said], [e.com_std for _, e in said],
        [e.identifiable[1:4] for _, e in said],
    )  # fmt: skip
    mass, mass_std, com, com_std, known = (np.array(column, dtype=np.float64)[held] for column in columns)
    events: list[tuple[float, str]] = []
    undecided = -np.inf
    for event in (estimate.event for _, estimate in said if estimate.event is not None):
        if not (event.kind in ("pick", "contact") and event.onset <= undecided):
            events.append((event.stamp, event.kind))
        elif event.kind == "contact":
            events[-1] = (event.stamp, event.kind)
        undecided = event.stamp if event.kind == "load" else undecided
    return Track(mass, mass_std, com, com_std, known, events)


@dataclass(frozen=True)
class Weighed:
    """What was said at one moment of a load: `after` s after it was complete. Masses in kg, CoM errors in sigmas."""

    robot: str
    kind: str
    mass: float
    after: float
    error: float
    mass_sigmas: float
    com_sigmas: tuple[float, ...]


@dataclass(frozen=True)
class Watched:
    """A recording: its false events, picks and releases that were not noticed, and the worst of its sigmas."""

    robot: str
    duration: float
    false_events: tuple[tuple[float, str], ...]
    unnoticed: int
    changes: int
    worst: float


def judge(recording: Recording) -> tuple[list[Weighed], Watched]:
    """What became of each load."""
    r, found, track = recording, [], estimated(recording)
    ends = [*(h.begin for h in r.happenings[1:]), float(r.stamp[-1])][: len(r.happenings)]
    sigmas = [0.0]
    for h, until in zip(r.happenings, ends, strict=True):
        for after in np.arange(1.0, until - h.end, 1.0):
            k = int(np.searchsorted(r.stamp, h.end + after))
            truth = r.truth[k]
            error = float(track.mass[k] - truth[0])
            sigma = abs(error) / track.mass_std[k]
            sigmas.append(float(sigma))
            if after not in TIMES or h.kind == "release":
                continue
            com = np.abs(track.com[k] - truth[1:4] / truth[0]) / track.com_std[k]
            flagged = tuple(com[track.com_known[k] > 0.0].tolist())
            found.append(Weighed(r.robot.name, h.kind, float(truth[0]), float(after), error, float(sigma), flagged))
    if not r.happenings:
        each_second = slice(1000, None, 1000)
        sigmas += (np.abs(track.mass[each_second]) / track.mass_std[each_second]).tolist()
    return found, _watched(r, track.events, max(sigmas))


def _watched(r: Recording, events: Sequence[tuple[float, str]], worst: float) -> Watched:
    """Which events nobody caused, and which changes nobody noticed."""
    left, unnoticed = list(events), 0
    changes = [h for h in r.happenings if h.kind in ("pick", "handed over", "release")]
    for h in changes:
        kinds = ("release", "load") if h.kind == "release" else ("pick", "load")
        at = next((e for e in left if e[1] in kinds and h.begin <= e[0] < h.end + PATIENCE), None)
        if at is None:
            unnoticed += 1
        else:
            left.remove(at)
    for h in r.happenings:  # a contact is right where something pushes, a release where something flows out
        right = {"pulled": ("contact", "load"), "lifted": ("contact", "load"), "poured": ("release",)}.get(h.kind, ())
        left = [e for e in left if not (h.begin <= e[0] < h.end + PATIENCE and e[1] in right)]
    return Watched(r.robot.name, float(r.stamp[-1]), tuple(left), unnoticed, len(changes), worst)


@dataclass(frozen=True)
class Job:
    """The recordings of one arm."""

    robot: str
    seed: int
    empty_for: float
    at_rest: float


def run(job: Job) -> list[Weighed | Watched]:
    """Both recordings, judged, in a worker process."""
    weighed, watched = judge(cycles(job.robot, job.seed, at_rest=job.at_rest))
    return [*weighed, watched, judge(empty(job.robot, job.seed, job.empty_for, at_rest=job.at_rest))[1]]
