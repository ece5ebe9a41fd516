# SPDX-License-Identifier: Apache-2.0
"""Tables of the trials of the residual map, and what of them was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.payload.incidents import Found
from benchmarks.payload.learnt import WITH, WITHOUT
from benchmarks.payload.report import print_verdicts
from benchmarks.payload.scores import Score, detection, score
from benchmarks.payload.trial import Outcome
from benchmarks.payload.verdicts import Verdict

LIMITS = {("second run", "cold", 2.0): (6.0, 2.0), ("second run", "cold", 3.5): (3.0, 1.0)}
"""g and mm for 1 kg with the own model: RMSE of the mass, median of the CoM."""


def print_learnt(out: Console, outcomes: list[Outcome], found: list[Found]) -> None:
    """All tables and verdicts."""
    shown = Table(title="with and without a residual map", title_justify="left")
    for heading in ("measured on", "model", "start", "kg", "after s", "trials"):
        shown.add_column(heading, justify="right")
    for heading in (WITHOUT, WITH):
        shown.add_column(f"{heading}: mass RMSE, median g / CoM mm / inertia kg m^2; held %")

    def place(o: Outcome) -> tuple[str, str, str, float, float]:
        return o.source, o.arm, o.start, o.mass, o.time

    for (source, arm, start, mass, time), group in groupby(sorted(outcomes, key=place), key=place):
        pooled = list(group)
        cells = [[o for o in pooled if o.method == name] for name in (WITHOUT, WITH)]
        shown.add_row(
            source, arm, start, f"{mass:g}", f"{time:g}", str(len(cells[0])), *(_words(cell) for cell in cells)
        )  # fmt: skip
    out.print(shown)
    for name in (WITHOUT, WITH):
        for mass in sorted({f.mass for f in found if f.mass > 0.0}):
            d = detection(f for f in found if (f.source, f.mass) == (name, mass) and f.kind in ("pick", "drop"))
            late = sum(f.delay > 0.3 for f in found if (f.source, f.mass) == (name, mass))
            out.print(
                f"{name}, {mass:g} kg: {100 * d.noticed:.0f} % of {d.count} changes noticed, median "
                f"{1e3 * d.median:.0f} ms, worst {1e3 * d.worst:.0f} ms, {late} after 300 ms"
            )
    print_verdicts(out, list(_verdicts(outcomes, found)))


def _words(cell: list[Outcome]) -> str:
    s, median = score(cell), float(np.median([abs(o.mass_error) for o in cell]))
    return (
        f"{1e3 * s.mass_rmse:.1f}, {1e3 * median:.1f} / {1e3 * s.com_median:.1f} / {s.inertia_median:.4f}; "
        f"{100 * s.mass_held:.0f} {100 * s.com_held:.0f}"
    )


def _verdicts(outcomes: list[Outcome], found: list[Found]) -> Iterable[Verdict]:
    def cell(source: str, arm: str, start: str, time: float, name: str = WITH, mass: float = 1.0) -> list[Outcome]:
        key = (source, arm, start, time, name, mass)
        return [o for o in outcomes if (o.source, o.arm, o.start, o.time, o.method, o.mass) == key]

    for (source, start, time), (mass, com) in LIMITS.items():
        if pooled := cell(source, "own", start, time):
            s = score(pooled)
            yield Verdict(
                f"1 kg, own model, {source}: {mass:g} g and {com:g} mm at {time:g} s", _figures(s),
                1e3 * s.mass_rmse <= mass and 1e3 * s.com_median <= com,
            )  # fmt: skip
    for arm in ("own", "published"):
        for time in (1.0, 2.0):
            if pooled := cell("held out", arm, "cold", time):
                before = score(cell("held out", arm, "cold", time, WITHOUT))
                yield _no_worse(f"held-out blocks, {arm} model, {time:g} s", before, score(pooled))
    for source in sorted({o.source for o in outcomes}):
        s = score(o for o in outcomes if o.source == source and o.method == WITH)
        yield Verdict(
            f"95 % intervals hold 90-99 %: {source}", f"mass {100 * s.mass_held:.0f} %, CoM {100 * s.com_held:.0f} %",
            0.90 <= s.mass_held <= 0.99 and 0.90 <= s.com_held <= 0.99,
        )  # fmt: skip
    for arm in ("own", "published"):
        if light := [f for f in found if (f.source, f.arm, f.mass, f.kind) == (WITH, arm, 0.1, "pick")]:
            d = detection(light)
            yield Verdict(
                f"0.1 kg noticed within 0.3 s: {arm} model",
                f"{100 * d.noticed:.0f} % of {d.count}, worst {1e3 * d.worst:.0f} ms",
                all(f.delay <= 0.3 for f in light),
            )


def _no_worse(measured_on: str, before: Score, after: Score) -> Verdict:
    """Up to the errors of rounding and of chance: 2 %."""
    return Verdict(
        f"{measured_on}: no worse than without",
        f"{_figures(after)}; without {_figures(before)}",
        after.mass_rmse <= 1.02 * before.mass_rmse and after.com_median <= 1.02 * before.com_median,
    )


def _figures(s: Score) -> str:
    return f"{1e3 * s.mass_rmse:.1f} g and {1e3 * s.com_median:.1f} mm"
