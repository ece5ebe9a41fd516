# SPDX-License-Identifier: Apache-2.0
"""matplotlib with the package's own style: neither the user's settings nor a file of the working folder change it."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.untrusted import import_elsewhere, replacing

matplotlib = import_elsewhere("matplotlib")  # before anything of it is imported

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "RED", "Axes", "Figure", "save", "styled"]

BLUE, RED, GREY, GREEN, ORANGE = "#1f5fa8", "#c0392b", "#888888", "#2e8b57", "#d9822b"

styled = matplotlib.rc_context(
    {name: value for name, value in matplotlib.rcParamsDefault.items() if not name.startswith("backend")}
)
"""Decorates a function that makes and saves a figure."""


@styled
def plot_joints(
    path: Path,
    time: FloatArray,
    curves: Sequence[tuple[str, FloatArray, str, float, str]],
    *,
    title: str = "",
    colour: str = "black",
    time_label: str = "time (s)",
    scaled_by: Sequence[str] = (),
) -> Path:
    """Write a picture of torques, N m, over time, s, with one axes for each joint.

    `curves` have label, values (N, n), colour, width and line style; those with labels in `scaled_by` (left out: all)
    decide on the scale, and others may leave the picture. `title` stands above all, in `colour`.
    """
    n = curves[0][1].shape[1]
    figure = Figure(figsize=(10.0, 1.4 * n + 1.0), layout="constrained")
    every = list(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0])
    for joint, axes in enumerate(every):
        for label, values, line_colour, width, style in curves:
            axes.plot(time, values[:, joint], color=line_colour, linewidth=width, linestyle=style, label=label)
        if scaled_by:
            largest = 1.15 * max(abs(values[:, joint]).max() for label, values, *_ in curves if label in scaled_by)
            axes.set_ylim(-largest, largest)
        axes.set_ylabel(f"joint {joint + 1}\n(N m)", fontsize=9)
        axes.grid(alpha=0.25)
    every[-1].set_xlabel(time_label)
    every[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=9, ncols=len(curves), frameon=False)
    add_title(figure, title, colour)
    return save(figure, path, dpi=110)


def save(figure: Figure, path: Path, dpi: float) -> Path:
    """Write a picture, and return its path."""
    with replacing(path) as file:
        figure.savefig(file, dpi=dpi)
    return path


def add_title(figure: Figure, title: str, colour: str = "black") -> None:
    """A line above all axes, of any text."""
    if title:
        figure.suptitle(plain_text(fill(title, 110)), color=colour, fontsize=10, parse_math=False)


def plain_text(text: str) -> str:
    """A text that any font can show: names of files may have bytes that are no text."""
    return text.encode(errors="replace").decode()
