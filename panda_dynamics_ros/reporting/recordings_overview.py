# SPDX-License-Identifier: Apache-2.0
"""One HTML page about the table of many recordings: what was carried, how good the torques are, what to look at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from panda_dynamics_ros.annotation.job import WORST
from panda_dynamics_ros.annotation.rows import CONTACT, PAYLOAD, RECORDING, Row
from panda_dynamics_ros.annotation.task import RecordingResult
from panda_dynamics_ros.reporting.page import embedded, table, text, write_html
from panda_dynamics_ros.reporting.plots import plot_band
from panda_dynamics_ros.reporting.style import BLUE, GREY, RED, Figure, plain_text, styled

LISTED = 20
"""Arms, failures and problems in a table."""
BIN = 0.1  # kg, width of a bar
_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass
class Overview:
    """What the page is made of, gathered from the table's rows in one pass.

    masses: kg, of what was carried; residuals: N m, by arm; worst: (residual, path) of the recordings with the largest
    residuals; carried_s, seconds, contacts, recordings: totals; problems, errors: how many recordings have each.
    """

    masses: list[float] = field(default_factory=list)
    residuals: dict[str, list[float]] = field(default_factory=dict)
    worst: list[tuple[float, str]] = field(default_factory=list)
    carried_s: float = 0.0
    seconds: float = 0.0
    samples: int = 0
    contacts: int = 0
    recordings: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Overview:
        """Of a table's rows."""
        overview = cls()
        for row in rows:
            overview._add(row)
        return overview

    def _add(self, row: Row) -> None:
        if row["kind"] == PAYLOAD and row["carried"]:
            self.masses.append(row["mass_kg"])
            self.carried_s += row["end_s"] - row["start_s"]
        self.contacts += row["kind"] == CONTACT
        if row["kind"] != RECORDING:
            return
        self.recordings += 1
        if row.get("error"):
            self.errors[row["error"].replace(row["path"], "…")] += 1
            return
        self.seconds += row["end_s"]
        self.samples += row["samples"]
        self.problems.update(_NUMBER.sub("…", problem) for problem in row["problem"].split("\n") if problem)
        if row["residual_nm"] is not None:
            self.residuals.setdefault(row["arm"], []).append(row["residual_nm"])
            self.worst = sorted([*self.worst, (row["residual_nm"], row["path"])], reverse=True)[:WORST]


@styled
def write_overview(overview: Overview, curves: Sequence[RecordingResult], path: Path) -> Path:
    """The page, with its pictures inside.

    Parameters
    ----------
    curves: results with curves for the recordings of `overview.worst`, in any order.
    """
    failed = sum(overview.errors.values())
    parts = [
        "<h1>Recordings</h1>",
        f"<p>Recordings: {overview.recordings} ({failed} failed), {overview.samples:,} samples over "
        f"{overview.seconds / 3600.0:.2f} h. Payloads: {len(overview.masses)}, carried for "
        f"{overview.carried_s / 3600.0:.2f} h. Contacts: {overview.contacts}.</p>",
    ]
    if overview.masses:
        parts += ["<h2>What was carried</h2>", embedded(_masses(overview.masses), "masses")]
    if overview.residuals:
        parts += ["<h2>Residual by arm</h2>", _arms(overview.residuals), embedded(_residuals(overview), "residuals")]
    parts += _counts("Problems", "recordings", overview.problems) + _counts("Failures", "recordings", overview.errors)
    by_path = {result.source.path: result for result in curves if result.curve}
    shown = [(residual, by_path[name]) for residual, name in overview.worst if name in by_path]
    if shown:
        parts.append("<h2>Largest residuals</h2>")
    for residual, result in shown:
        parts.append(f"<h3>{text(result.source.path)}: {residual:.2f} N m</h3>")
        parts.append(embedded(_curve(result), result.source.path))
    return write_html(path, "Recordings", parts)


def _masses(masses: list[float]) -> Figure:
    figure = Figure(figsize=(10.0, 3.0), layout="constrained")
    axes = figure.subplots()
    axes.hist(masses, bins=np.arange(0.0, max(masses) + 2.0 * BIN, BIN).tolist(), color=BLUE, edgecolor="white")
    axes.set_xlabel("mass (kg)")
    axes.set_ylabel("payloads")
    axes.locator_params(axis="y", integer=True)
    axes.grid(alpha=0.25)
    return figure


def _most_recorded(residuals: dict[str, list[float]]) -> list[tuple[str, list[float]]]:
    return sorted(residuals.items(), key=lambda item: (-len(item[1]), item[0]))[:LISTED]


def _arms(residuals: dict[str, list[float]]) -> str:
    rows = [
        (arm, f"{len(values)}", *(f"{np.percentile(values, share):.2f}" for share in (50, 95, 100)))
        for arm, values in _most_recorded(residuals)
    ]
    more = len(residuals) - LISTED
    found = table(("arm", "recordings", "median, N m", "95 %, N m", "largest, N m"), rows)
    return found + (f"<p>{more} more arms are in the table.</p>" if more > 0 else "")


def _residuals(overview: Overview) -> Figure:
    arms = _most_recorded(overview.residuals)
    figure = Figure(figsize=(10.0, 0.35 * len(arms) + 1.2), layout="constrained")
    axes = figure.subplots()
    labels = [plain_text(arm)[-40:] for arm, _ in arms]
    axes.boxplot([values for _, values in arms[::-1]], orientation="horizontal", whis=(5, 95), sym=".", widths=0.6)
    axes.set_yticks(range(1, len(arms) + 1), labels[::-1], parse_math=False)
    axes.set_xlabel("residual of a recording (N m): box 25 to 75 %, whiskers 5 to 95 %")
    axes.set_xlim(left=0.0)
    axes.grid(alpha=0.25)
    return figure


def _curve(result: RecordingResult) -> Figure:
    """Mass, residual and contacts of one recording over time."""
    curve = {name: np.array(values, dtype=float) for name, values in (result.curve or {}).items()}
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    plot_band(above, curve["time"], curve["mass"], curve["mass_std"], BLUE, "")
    top = float(curve["mass"].max(initial=0.0))
    above.set_ylim(-0.25 - 0.1 * top, max(0.5, 1.35 * top))
    above.set_ylabel("mass (kg)")
    below.plot(curve["time"], curve["residual"], color=RED, linewidth=1.0)
    below.set_ylabel("residual (N m)")
    below.set_xlabel("time (s); grey: contacts")
    for row in result.rows:
        if row["kind"] == CONTACT:
            end = row["end_s"] if row["end_s"] is not None else float(curve["time"][-1])
            for axes in (above, below):
                axes.axvspan(row["start_s"], end, color=GREY, alpha=0.25, linewidth=0)
    below.grid(alpha=0.25)
    return figure


def _counts(title: str, heading: str, counts: Counter[str]) -> list[str]:
    if not counts:
        return []
    rows = [(words[:300], f"{count}") for words, count in counts.most_common(LISTED)]
    return [f"<h2>{title}</h2>{table(('', heading), rows)}"]
