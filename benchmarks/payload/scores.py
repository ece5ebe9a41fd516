# SPDX-License-Identifier: Apache-2.0
"""Trials pooled to the figures of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from benchmarks.common import table
from benchmarks.payload.incidents import Found
from benchmarks.payload.trial import Outcome


@dataclass(frozen=True)
class Score:
    """Mass RMSE (kg), median CoM error (m) and inertia error (kg m^2), share of intervals that held."""

    mass_rmse: float
    com_median: float
    inertia_median: float
    mass_held: float
    com_held: float
    trials: int

    @property
    def errors(self) -> str:
        """For a table: g / mm / 1e-3 kg m^2; without a payload, the mass alone."""
        if np.isnan(self.com_median):
            return f"{1e3 * self.mass_rmse:.0f}"
        return f"{1e3 * self.mass_rmse:.1f} / {1e3 * self.com_median:.1f} / {1e3 * self.inertia_median:.1f}"

    @property
    def held(self) -> str:
        """For a table: mass / CoM, %."""
        return f"{100 * self.mass_held:.0f} / {100 * self.com_held:.0f}"


def score(outcomes: Iterable[Outcome]) -> Score:
    """The score of trials that belong together."""
    pooled = list(outcomes)
    loaded = [outcome for outcome in pooled if outcome.com_held]
    com_held = [held for outcome in loaded for held in outcome.com_held]
    return Score(
        mass_rmse=float(np.sqrt(np.mean([outcome.mass_error**2 for outcome in pooled]))),
        com_median=float(np.median([o.com_error for o in loaded])) if loaded else np.nan,
        inertia_median=float(np.median([o.inertia_error for o in loaded])) if loaded else np.nan,
        mass_held=float(np.mean([outcome.mass_held for outcome in pooled])),
        com_held=float(np.mean(com_held)) if com_held else np.nan,
        trials=len(pooled),
    )


def pivot(
    title: str, outcomes: Sequence[Outcome], rows: Sequence[str], column: str, cell: Callable[[Score], str]
) -> Table:
    """A row for each combination of the attributes `rows`, a column for each value of `column`."""
    groups: dict[tuple[object, ...], dict[object, list[Outcome]]] = {}
    for o in outcomes:
        key = tuple(getattr(o, name) for name in rows)
        groups.setdefault(key, {}).setdefault(getattr(o, column), []).append(o)
    values = list(dict.fromkeys(value for found in groups.values() for value in found))
    values = values if isinstance(values[0], str) else sorted(values)  # type: ignore[type-var]
    lines = [
        [*map(str, key), *(cell(score(found[value])) if value in found else "-" for value in values)]
        for key, found in groups.items()
    ]
    return table(title, [*rows, *map(str, values)], lines)


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


def incidents(found: Sequence[Found]) -> Table:
    """Delays of picks and drops; pushes that were taken for a payload; events where nothing happened."""
    lines = []
    for key in dict.fromkeys((f.source, f.arm, f.kind, f.mass) for f in found):
        pooled = [f for f in found if (f.source, f.arm, f.kind, f.mass) == key]
        d, payload = detection(pooled), sum(f.payload_events for f in pooled)
        contacts = sum(len(f.events) for f in pooled) - payload
        shares = [f"{x:.0%}" for x in (d.noticed, d.within_80ms, d.within_150ms)]
        times = [f"{1e3 * d.median:.0f} / {1e3 * d.worst:.0f}"]
        minutes = f"{sum(f.duration for f in pooled) / 60.0:.1f}"
        quiet = key[2] == "nothing"
        lines.append([*map(str, key), str(d.count), *(["", "", "", ""] if quiet else [*shares, *times]),
                      str(payload), str(contacts), minutes])  # fmt: skip
    columns = ["source", "model", "kind", "kg", "number", "noticed", "<= 80 ms", "<= 150 ms", "median / worst ms"]
    return table("what happens to the arm", [*columns, "payload events", "contacts", "minutes"], lines)
