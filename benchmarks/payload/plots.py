# SPDX-License-Identifier: Apache-2.0
"""Error over time, as a picture for each source, model and start."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only

from matplotlib.figure import Figure

from benchmarks.payload.accuracy import METHODS
from benchmarks.payload.scores import table
from benchmarks.payload.trial import Outcome

COLOURS = ("#1f5fa8", "#c0392b", "#e08e0b", "#888888")


def plot_errors(outcomes: list[Outcome], folder: Path) -> list[Path]:
    """Mass RMSE and median CoM error over time, a column for each payload; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    cells, paths = table(outcomes), []
    for (source, arm, start), group in groupby(cells, key=lambda cell: cell[:3]):
        by_mass = [(mass, list(times)) for mass, times in groupby(group, key=lambda cell: cell.mass)]
        figure = Figure(figsize=(3.0 * len(by_mass), 5.5), layout="constrained")
        axes = figure.subplots(2, len(by_mass), sharex=True, sharey="row", squeeze=False)
        for column, (mass, times) in enumerate(by_mass):
            for method, colour in zip((m.name for m in METHODS), COLOURS, strict=True):
                at = [cell.time for cell in times]
                scores = [cells[cell][method] for cell in times]
                style = {"color": colour, "marker": ".", "linewidth": 2.2 if colour == COLOURS[0] else 1.2}
                axes[0, column].loglog(at, [1e3 * s.mass_rmse for s in scores], label=method, **style)
                axes[1, column].loglog(at, [1e3 * s.com_median for s in scores], **style)
            axes[0, column].set_title(f"{mass:g} kg", fontsize=10)
            axes[1, column].set_xlabel("s with the payload")
            for row in (0, 1):
                axes[row, column].grid(alpha=0.25, which="both")
        axes[0, 0].set_ylabel("mass RMSE (g)")
        axes[1, 0].set_ylabel("median CoM error (mm)")
        axes[0, -1].legend(fontsize=8)
        figure.suptitle(f"{source}, {arm} model, {start}", fontsize=11)
        path = folder / f"error_{source.replace(' ', '_')}_{arm}_{start}.png"
        figure.savefig(path, dpi=110)
        paths.append(path)
    return paths
