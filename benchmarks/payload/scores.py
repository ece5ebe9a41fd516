# SPDX-License-Identifier: Apache-2.0
"""Trials pooled to the figures of the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.payload.incidents import Found
from benchmarks.payload.trial import Outcome


class Cell(NamedTuple):
    """Which trials are pooled."""

    source: str
    arm: str
    start: str
    mass: float
    time: float


@dataclass(frozen=True)
class Score:
    """Mass RMSE and bias (kg), median CoM error (m) and inertia error (kg m^2), share of intervals that held."""

    mass_rmse: float
    mass_bias: float
    com_median: float
    inertia_median: float
    mass_held: float
    com_held: float
    physical: float
    trials: int


def score(outcomes: Iterable[Outcome]) -> Score:
    """The score of trials that belong together."""
    pooled = list(outcomes)
    errors = np.array([outcome.mass_error for outcome in pooled])
    com_held = [held for outcome in pooled for held in outcome.com_held]
    loaded = [outcome for outcome in pooled if outcome.com_held]
    return Score(
        mass_rmse=float(np.sqrt(np.mean(errors**2))),
        mass_bias=float(np.mean(errors)),
        com_median=float(np.median([o.com_error for o in loaded])) if loaded else np.nan,
        inertia_median=float(np.median([o.inertia_error for o in loaded])) if loaded else np.nan,
        mass_held=float(np.mean([outcome.mass_held for outcome in pooled])),
        com_held=float(np.mean(com_held)) if com_held else np.nan,
        physical=float(np.mean([outcome.physical for outcome in pooled])),
        trials=len(pooled),
    )


def table(outcomes: Iterable[Outcome]) -> dict[Cell, dict[str, Score]]:
    """Scores by cell and method."""
    groups: dict[Cell, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for o in outcomes:
        groups[Cell(o.source, o.arm, o.start, o.mass, o.time)][o.method].append(o)
    return {
        cell: {method: score(pooled) for method, pooled in methods.items()} for cell, methods in sorted(groups.items())
    }


@dataclass(frozen=True)
class Detection:
    """Delays of one kind of change, s: median and worst of those noticed; shares of all."""

    count: int
    noticed: float
    within_80ms: float
    within_150ms: float
    median: float
    worst: float


def detection(found: Iterable[Found]) -> Detection:
    """How fast changes were noticed."""
    delays = np.array([f.delay for f in found])
    seen = delays[np.isfinite(delays)]
    return Detection(
        count=len(delays),
        noticed=float(np.mean(np.isfinite(delays))),
        within_80ms=float(np.mean(delays <= 0.08)),
        within_150ms=float(np.mean(delays <= 0.15)),
        median=float(np.median(seen)) if seen.size else np.nan,
        worst=float(seen.max()) if seen.size else np.nan,
    )


@dataclass(frozen=True)
class Alarms:
    """Events while nothing happened: payload events and contacts, in so many hours."""

    hours: float
    payload: int
    contact: int

    @property
    def per_hour(self) -> float:
        """Of both kinds."""
        return (self.payload + self.contact) / self.hours


def alarms(found: Iterable[Found]) -> Alarms:
    """False alarms."""
    quiet = list(found)
    payload = sum(f.payload_events for f in quiet)
    return Alarms(sum(f.duration for f in quiet) / 3600.0, payload, sum(len(f.events) for f in quiet) - payload)
