# SPDX-License-Identifier: Apache-2.0
"""One HTML page about the table of many recordings: what was carried, how good the torques are, what to look at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from panda_dynamics_ros.annotation.rows import CONTACT, PAYLOAD, RECORDING, Row
from panda_dynamics_ros.reporting.page import embedded, table, write_html
from panda_dynamics_ros.reporting.style import BLUE, Figure, plain_text, styled

LISTED = 20
"""Arms, failures, problems and recordings with the largest residuals in a table."""
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
        self.problems.update(_NUMBER.sub("…", problem) for problem in row.get("problem", "").split("\n") if problem)
        if row.get("residual_nm") is not None:
            self.residuals.setdefault(row.get("arm", ""), []).append(row["residual_nm"])
            self.worst = sorted([*self.worst, (row["residual_nm"], row["path"])], reverse=True)[:LISTED]


@styled
def write_overview(overview: Overview, path: Path) -> Path:
    """The page, with its pictures inside."""
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
    if overview.worst:
        lines = [(name, f"{residual:.2f}") for residual, name in overview.worst]
        parts.append("<h2>Largest residuals</h2><p>`panda-dynamics replay PATH` shows one over time.</p>")
        parts.append(table(("recording", "N m"), lines))
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
    lines = [
        (
            arm,
            f"{len(values)}",
            *(f"{each:.2f}" for each in (np.median(values), np.percentile(values, 95), max(values))),
        )
        for arm, values in _most_recorded(residuals)
    ]
    found = table(("arm", "recordings", "median, N m", "95 %, N m", "largest, N m"), lines)
    more = len(residuals) - LISTED
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


def _counts(title: str, heading: str, counts: Counter[str]) -> list[str]:
    if not counts:
        return []
    lines = [(words[:300], f"{count}") for words, count in counts.most_common(LISTED)]
    return [f"<h2>{title}</h2>", table(("", heading), lines)]
