# SPDX-License-Identifier: Apache-2.0
"""matplotlib with the package's own style: neither the user's settings nor a file of the working folder change it."""

from __future__ import annotations

from panda_dynamics_ros.untrusted import import_elsewhere

matplotlib = import_elsewhere("matplotlib")  # before anything of it is imported

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # noqa: E402

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "RED",
    "Axes",
    "Figure",
    "Poly3DCollection",
    "add_legend",
    "axes_of_joints",
    "plain_text",
    "styled",
]

BLUE, RED, GREY, GREEN, ORANGE = "#1f5fa8", "#c0392b", "#888888", "#2e8b57", "#d9822b"

styled = matplotlib.rc_context(
    {name: value for name, value in matplotlib.rcParamsDefault.items() if not name.startswith("backend")}
)
"""Decorates a function that makes and saves a figure."""


def plain_text(text: str) -> str:
    """A text that any font can show: names of files may have bytes that are no text."""
    return text.encode(errors="replace").decode()


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
