# SPDX-License-Identifier: Apache-2.0
"""The tables of the benchmark, for a terminal, and everything as JSON."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.payload.accuracy import METHODS
from benchmarks.payload.incidents import Found
from benchmarks.payload.samples import SCORED
from benchmarks.payload.scores import Score, detection, score, table
from benchmarks.payload.trial import Outcome
from benchmarks.payload.verdicts import Verdict

WORDS = {True: "[green]met[/]", False: "[red]missed[/]", None: "open"}


def console() -> Console:
    """Standard output, wide enough for the tables where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 150)


def print_accuracy(out: Console, outcomes: list[Outcome]) -> None:
    """For each source, model and start: mass RMSE / median CoM error / median inertia error at the scored times."""
    cells = table(outcomes)
    for (source, arm, start), group in groupby(cells, key=lambda cell: cell[:3]):
        shown = Table(
            title=f"{source}, {arm} model, {start}: mass RMSE g / CoM mm / inertia 1e-3 kg m^2", title_justify="left"
        )
        for heading in ("kg", "method", *(f"{time:g} s" for time in SCORED)):
            shown.add_column(heading, justify="left" if heading == "method" else "right")
        for mass, times in groupby(group, key=lambda cell: cell.mass):
            scored = {cell.time: cells[cell] for cell in times}
            for row, method in enumerate(m.name for m in METHODS):
                entries = [_entry(scored.get(time, {}).get(method)) for time in SCORED]
                shown.add_row(
                    f"{mass:g}" if row == 0 else "", method, *entries,
                    end_section=row == len(METHODS) - 1, style="bold" if row == 0 else None,
                )  # fmt: skip
        out.print(shown)


def _entry(s: Score | None) -> str:
    if s is None:
        return "-"
    if math.isnan(s.com_median):
        return f"{1e3 * s.mass_rmse:.0f}"
    return f"{1e3 * s.mass_rmse:.0f} / {1e3 * s.com_median:.1f} / {1e3 * s.inertia_median:.1f}"


def print_coverage(out: Console, outcomes: list[Outcome]) -> None:
    """How often 95 % intervals of each method held the truth: mass / CoM."""
    shown = Table(title="95 % intervals that held the truth: mass / CoM, %", title_justify="left")
    for heading in ("source", "model", "method", *(f"{time:g} s" for time in SCORED)):
        shown.add_column(heading)
    for source, arm in sorted({(o.source, o.arm) for o in outcomes}):
        for method in METHODS:
            row = [source, arm, method.name]
            for time in SCORED:
                pooled = [
                    o for o in outcomes if (o.source, o.arm, o.method, o.time) == (source, arm, method.name, time)
                ]
                s = score(pooled) if pooled else None
                row.append(f"{100 * s.mass_held:.0f} / {100 * s.com_held:.0f}" if s else "-")
            shown.add_row(*row)
    out.print(shown)


def print_detection(out: Console, found: list[Found]) -> None:
    """Delays by payload."""
    shown = Table(title="picks and drops", title_justify="left")
    for heading in ("source", "model", "kg", "kind", "number", "noticed", "<= 80 ms", "<= 150 ms", "median", "worst"):
        shown.add_column(heading, justify="right")
    changes = [f for f in found if f.kind in ("pick", "drop")]
    if not changes:
        return
    for key in sorted({(f.source, f.arm, f.mass, f.kind) for f in changes}):
        d = detection(f for f in changes if (f.source, f.arm, f.mass, f.kind) == key)
        shown.add_row(
            key[0], key[1], f"{key[2]:g}", key[3], str(d.count), f"{d.noticed:.0%}", f"{d.within_80ms:.0%}",
            f"{d.within_150ms:.0%}", f"{1e3 * d.median:.0f} ms", f"{1e3 * d.worst:.0f} ms",
        )  # fmt: skip
    out.print(shown)


def print_verdicts(out: Console, verdicts: list[Verdict]) -> None:
    """Targets and what was measured."""
    shown = Table(title="targets", title_justify="left")
    shown.add_column("target", overflow="fold")
    shown.add_column("measured", overflow="fold")
    shown.add_column("verdict", no_wrap=True)
    for verdict in verdicts:
        shown.add_row(verdict.target, verdict.measured, WORDS[verdict.met])
    out.print(shown)


def as_json(outcomes: list[Outcome], found: list[Found], verdicts: list[Verdict], settings: dict[str, Any]) -> str:
    """All scores, incidents and verdicts. What is not a number is null."""
    scores = [
        {**cell._asdict(), "method": method, **asdict(s)}
        for cell, methods in table(outcomes).items()
        for method, s in methods.items()
    ]
    document = {
        "settings": settings,
        "accuracy": scores,
        "incidents": [asdict(f) for f in found],
        "verdicts": [asdict(verdict) for verdict in verdicts],
    }
    return json.dumps(_without_nan(document), indent=1)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if hasattr(value, "item") else value
