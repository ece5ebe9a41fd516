# SPDX-License-Identifier: Apache-2.0
"""A pick and a release on one unfamiliar arm, and what many of them come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.payload.methods import ours
from benchmarks.payload.trial import judged
from benchmarks.unfamiliar.arms import KINDS, published
from benchmarks.unfamiliar.recordings import recording

TIMES = (2.0, 5.0, 8.0)  # s after the pick
PATIENCE = 1.0  # s, in which a pick or release must be noticed


@dataclass(frozen=True)
class Outcome:
    """At `TIMES`: mass errors, kg, CoM distances, m, whether 95 % intervals held them; delays and false events."""

    kind: str
    coloured: bool
    mass_error: tuple[float, ...]
    com_error: tuple[float, ...]
    mass_held: tuple[bool, ...]
    com_held: tuple[tuple[bool, ...], ...]
    delays: tuple[float, ...]
    false_events: int
    watched: float


def trial(kind: str, seed: int, coloured: bool) -> Outcome:
    """What the estimator makes of one kind of arm; nobody tells it anything."""
    arm = KINDS[kind](np.random.default_rng([seed, 31]))
    made = recording(arm, seed, coloured)
    track = ours(published(), made.data, made.pick, [made.pick + time for time in TIMES])
    answers = [judged("", kind, "pick", t, "", made.payload, a) for t, a in zip(TIMES, track.answers, strict=True)]
    delays = [
        next((t - at for t, kind in track.events if kind == name and 0.0 <= t - at < PATIENCE), np.nan)
        for name, at in (("pick", made.pick), ("release", made.drop))
    ]
    return Outcome(
        kind, coloured,
        mass_error=tuple(o.mass_error for o in answers),
        com_error=tuple(o.com_error for o in answers),
        mass_held=tuple(o.mass_held for o in answers),
        com_held=tuple(o.com_held for o in answers),
        delays=tuple(delays),
        false_events=len(track.events) - int(np.isfinite(delays).sum()),
        watched=float(made.data.stamp[-1] - made.data.stamp[0]),
    )  # fmt: skip


def run_seed(trials: Iterable[tuple[str, int, bool]]) -> list[Outcome]:
    """All trials of one seed, in a worker process: they share the motion."""
    return [trial(*each) for each in trials]


@dataclass(frozen=True)
class Score:
    """Of one kind: medians at `TIMES` (kg, m), shares of truths in the 95 % intervals, events."""

    mass: tuple[float, ...]
    com: tuple[float, ...]
    mass_held: float
    com_held: float
    unnoticed: int
    false_per_ten_minutes: float


def score(outcomes: Sequence[Outcome]) -> Score:
    """Of outcomes that belong together."""
    watched = sum(o.watched for o in outcomes)
    return Score(
        mass=tuple(np.median([np.abs(o.mass_error) for o in outcomes], axis=0).tolist()),
        com=tuple(np.median([o.com_error for o in outcomes], axis=0).tolist()),
        mass_held=float(np.mean([o.mass_held for o in outcomes])),
        com_held=float(np.mean([o.com_held for o in outcomes])),
        unnoticed=sum(not np.isfinite(delay) for o in outcomes for delay in o.delays),
        false_per_ten_minutes=600.0 / watched * sum(o.false_events for o in outcomes),
    )
