# SPDX-License-Identifier: Apache-2.0
"""Pictures of a run, as PNG files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only: a server or a container has no screen

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import SmoothedHistory

BLUE, RED, GREY, GREEN, ORANGE = "#1f5fa8", "#c0392b", "#888888", "#2e8b57", "#d9822b"
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class PayloadHistory:
    """The estimate over time; `truth_*` are nan or None where nobody knows.

    smoothed: the payloads from all samples, where somebody asked for them.
    time (N,) s; mass, mass_std (N,) kg; com, com_std (N, 3) m; events: (time, label) pairs.
    """

    time: FloatArray
    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray
    events: tuple[tuple[float, str], ...] = ()
    truth_mass: FloatArray | None = None
    truth_com: FloatArray | None = None
    smoothed: SmoothedHistory | None = None


def plot_payload(history: PayloadHistory, path: Path, title: str) -> Path:
    """Mass and centre of mass over time, with two-sigma bands, the truth where known, and the events."""
    figure = Figure(figsize=(10.0, 6.5), layout="constrained")
    mass_axes, com_axes = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _plot_mass(mass_axes, history)
    _plot_com(com_axes, history)
    for time, label in history.events:
        mass_axes.axvline(time, color=GREY, linewidth=0.8, linestyle=":")
        com_axes.axvline(time, color=GREY, linewidth=0.8, linestyle=":")
        mass_axes.annotate(
            f" {label}", (time, 0.02), xycoords=("data", "axes fraction"), fontsize=8, color="#444444", rotation=90,
            ha="left", va="bottom",
        )  # fmt: skip
    mass_axes.set_title(title, loc="left", fontsize=11)
    figure.savefig(path, dpi=130)
    return path


def _plot_mass(axes: Axes, history: PayloadHistory) -> None:
    band = 2.0 * history.mass_std
    axes.fill_between(
        history.time, history.mass - band, history.mass + band, color=BLUE, alpha=0.18, linewidth=0, label="± 2 σ"
    )
    axes.plot(history.time, history.mass, color=BLUE, linewidth=1.6, label="estimate")
    top = float(np.nanmax(history.mass))
    if history.smoothed is not None:
        smooth, band = history.smoothed.mass, 2.0 * history.smoothed.mass_std
        axes.fill_between(history.time, smooth - band, smooth + band, color=ORANGE, alpha=0.25, linewidth=0)
        axes.plot(history.time, smooth, color=ORANGE, linewidth=1.6, label="smoothed ± 2 σ")
    if history.truth_mass is not None:
        axes.plot(history.time, history.truth_mass, color=RED, linewidth=1.2, linestyle="--", label="truth")
        top = max(top, float(np.nanmax(history.truth_mass)))
    # The prior's band after a change is wider than any payload: the scale follows the estimate.
    axes.set_ylim(-0.25 - 0.1 * top, max(0.5, 1.35 * top))
    axes.set_ylabel("payload mass (kg)")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", fontsize=9, framealpha=0.9)


def _plot_com(axes: Axes, history: PayloadHistory) -> None:
    known = np.all(history.com_std < 0.05, axis=1)
    if known.mean() < 0.05:
        known[:] = False  # a glimpse between two doubts is no history
    for axis, colour in enumerate((RED, GREEN, BLUE)):
        com = np.where(known, 1e3 * history.com[:, axis], np.nan)
        band = np.where(known, 2e3 * history.com_std[:, axis], np.nan)
        axes.fill_between(history.time, com - band, com + band, color=colour, alpha=0.12, linewidth=0)
        axes.plot(history.time, com, color=colour, linewidth=1.4, label=f"CoM {AXES[axis]}")
        if history.smoothed is not None:
            known_well = history.smoothed.com_std[:, axis] < 0.05
            com = np.where(known_well, 1e3 * history.smoothed.com[:, axis], np.nan)
            band = np.where(known_well, 2e3 * history.smoothed.com_std[:, axis], np.nan)
            axes.fill_between(history.time, com - band, com + band, color=colour, alpha=0.2, linewidth=0)
            axes.plot(history.time, com, color=colour, linewidth=1.2, linestyle="-.")
        if history.truth_com is not None:
            truth = 1e3 * history.truth_com[:, axis]
            axes.plot(history.time, truth, color=colour, linewidth=1.0, linestyle="--")
    known_truth = "" if history.truth_com is None else "\n(dashed: truth)"
    known_truth += "" if history.smoothed is None else "\n(dash-dotted: smoothed)"
    axes.set_ylabel(f"CoM in the flange frame (mm){known_truth}")
    axes.set_xlabel("time (s)")
    if not known.any():
        axes.text(0.5, 0.5, "no payload heavy enough to have a known CoM", transform=axes.transAxes, ha="center")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", fontsize=9, ncols=3, framealpha=0.9)


def plot_torques(time: FloatArray, measured: FloatArray, model: FloatArray, residual: FloatArray, path: Path) -> Path:
    """Measured torque, what gravity explains of it, and what arm and payload leave unexplained, per joint."""
    n = measured.shape[1]
    figure = Figure(figsize=(10.0, 1.5 * n + 1.0), layout="constrained")
    for joint, axes in enumerate(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]):
        axes.plot(time, measured[:, joint], color=GREY, linewidth=0.8, label="measured")
        axes.plot(time, model[:, joint], color=BLUE, linewidth=1.0, label="gravity of the unloaded arm")
        axes.plot(time, residual[:, joint], color=RED, linewidth=1.0, label="unexplained by arm and payload")
        axes.set_ylabel(f"joint {joint + 1}\n(N m)", fontsize=9)
        axes.grid(alpha=0.25)
        if joint == 0:
            axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=9, ncols=3, frameon=False)
        if joint == n - 1:
            axes.set_xlabel("time (s)")
    figure.savefig(path, dpi=130)
    return path
