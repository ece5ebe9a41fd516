# SPDX-License-Identifier: Apache-2.0
"""Pictures of a run as PNG files: payload and torques over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import matplotlib

matplotlib.use("Agg")  # files only: a server or a container has no screen

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate, SmoothedHistory
from panda_dynamics_ros.estimation.payload.estimate import NORMAL_95

BLUE, RED, GREY, GREEN, ORANGE = "#1f5fa8", "#c0392b", "#888888", "#2e8b57", "#d9822b"
AXES = ("x", "y", "z")
SHORTEST_SHOWN = 0.05  # share of the run: a centre of mass that is known for a shorter time is not drawn


@dataclass(frozen=True)
class PayloadHistory:
    """The estimates over time, and the true payload where it is known.

    Attributes
    ----------
    time: (N,), s.
    mass, mass_std: (N,), kg.
    com, com_std: (N, 3), m, in the flange frame.
    com_is_known: (N,), `PayloadEstimate.com_is_known` of each.
    events: (time, label) pairs.
    truth_mass, truth_com: (N,), kg, and (N, 3), m, or None; a centre of mass of nothing is nan.
    smoothed: the payloads from all samples, or None.
    """

    time: FloatArray
    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray
    com_is_known: NDArray[np.bool_]
    events: tuple[tuple[float, str], ...] = ()
    truth_mass: FloatArray | None = None
    truth_com: FloatArray | None = None
    smoothed: SmoothedHistory | None = None

    @classmethod
    def of(
        cls,
        time: FloatArray,
        estimates: Sequence[PayloadEstimate],
        events: Sequence[tuple[float, str]] = (),
        truth_mass: FloatArray | None = None,
        truth_com: FloatArray | None = None,
    ) -> PayloadHistory:
        """The history of N estimates at the times (N,), s."""
        return cls(
            time,
            np.array([estimate.mass for estimate in estimates]),
            np.array([estimate.std[0] for estimate in estimates]),
            np.array([estimate.com for estimate in estimates]).reshape(-1, 3),
            np.array([estimate.com_std for estimate in estimates]).reshape(-1, 3),
            np.array([estimate.com_is_known for estimate in estimates], dtype=bool),
            tuple(events),
            truth_mass,
            truth_com,
        )


def plot_payload(history: PayloadHistory, path: Path, title: str, banner: str = "") -> Path:
    """Mass and centre of mass over time, with 95 % bands, the truth where it is known, and the events.

    `banner`: what a reader has to know first, above the title.
    """
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
    mass_axes.set_title(plain_text(title), loc="left", fontsize=11, parse_math=False)
    _add_banner(figure, banner)
    figure.savefig(path, dpi=130)
    return path


def _add_banner(figure: Figure, banner: str) -> None:
    """A red line above all axes."""
    if banner:
        figure.suptitle(plain_text(fill(banner, 110)), color=RED, fontsize=10, parse_math=False)


def axes_of_joints(figure: Figure, n: int, time: str = "time (s)") -> list[Axes]:
    """Axes for the torques of n joints, one above the other, with one axis of time."""
    every = list(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0])
    for joint, axes in enumerate(every):
        axes.set_ylabel(f"joint {joint + 1}\n(N m)", fontsize=9)
        axes.grid(alpha=0.25)
    every[-1].set_xlabel(time)
    return every


def add_legend(axes: Axes, columns: int) -> None:
    """A legend above the axes, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=9, ncols=columns, frameon=False)


def plain_text(text: str) -> str:
    """A text that any font can show: names of files may have bytes that are no text."""
    return text.encode(errors="replace").decode()


def _plot_mass(axes: Axes, history: PayloadHistory) -> None:
    band = NORMAL_95 * history.mass_std
    axes.fill_between(
        history.time,
        history.mass - band,
        history.mass + band,
        color=BLUE,
        alpha=0.18,
        linewidth=0,
        label="95 % interval",
    )
    axes.plot(history.time, history.mass, color=BLUE, linewidth=1.6, label="estimate")
    top = float(np.nanmax(history.mass))
    if history.smoothed is not None:
        smooth, band = history.smoothed.mass, NORMAL_95 * history.smoothed.mass_std
        axes.fill_between(history.time, smooth - band, smooth + band, color=ORANGE, alpha=0.25, linewidth=0)
        axes.plot(history.time, smooth, color=ORANGE, linewidth=1.6, label="smoothed, with 95 % interval")
    if history.truth_mass is not None:
        axes.plot(history.time, history.truth_mass, color=RED, linewidth=1.2, linestyle="--", label="truth")
        top = max(top, float(np.nanmax(history.truth_mass)))
    # After a change the band is that of the prior, wider than any payload: the scale follows the estimate.
    axes.set_ylim(-0.25 - 0.1 * top, max(0.5, 1.35 * top))
    axes.set_ylabel("payload mass (kg)")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", fontsize=9, framealpha=0.9)


def _plot_com(axes: Axes, history: PayloadHistory) -> None:
    known = history.com_is_known
    if known.mean() < SHORTEST_SHOWN:
        known = np.zeros_like(known)
    for axis, colour in enumerate((RED, GREEN, BLUE)):
        com = np.where(known, 1e3 * history.com[:, axis], np.nan)
        band = np.where(known, 1e3 * NORMAL_95 * history.com_std[:, axis], np.nan)
        axes.fill_between(history.time, com - band, com + band, color=colour, alpha=0.12, linewidth=0)
        axes.plot(history.time, com, color=colour, linewidth=1.4, label=f"CoM {AXES[axis]}")
        if history.smoothed is not None:
            com = np.where(history.smoothed.com_is_known, 1e3 * history.smoothed.com[:, axis], np.nan)
            band = np.where(history.smoothed.com_is_known, 1e3 * NORMAL_95 * history.smoothed.com_std[:, axis], np.nan)
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
        axes.text(0.5, 0.5, "no payload whose centre of mass is known", transform=axes.transAxes, ha="center")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", fontsize=9, ncols=3, framealpha=0.9)


def plot_torques(
    time: FloatArray, measured: FloatArray, model: FloatArray, residual: FloatArray, path: Path, banner: str = ""
) -> Path:
    """Measured torque, what gravity explains of it, and what arm and payload leave unexplained, per joint."""
    n = measured.shape[1]
    figure = Figure(figsize=(10.0, 1.5 * n + 1.0), layout="constrained")
    every = axes_of_joints(figure, n)
    for joint, axes in enumerate(every):
        axes.plot(time, measured[:, joint], color=GREY, linewidth=0.8, label="measured")
        axes.plot(time, model[:, joint], color=BLUE, linewidth=1.0, label="gravity of the unloaded arm")
        axes.plot(time, residual[:, joint], color=RED, linewidth=1.0, label="unexplained by arm and payload")
    add_legend(every[0], 3)
    _add_banner(figure, banner)
    figure.savefig(path, dpi=130)
    return path
