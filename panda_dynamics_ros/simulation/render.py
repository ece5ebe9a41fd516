# SPDX-License-Identifier: Apache-2.0
"""A picture of the arm, drawn with Matplotlib: no OpenGL, no window, no meshes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import pose
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.robot import InertialParameters, RobotDescription

LINK_COLOUR, JOINT_COLOUR, PAYLOAD_COLOUR, BASE_COLOUR = "#e8eaee", "#3d4450", "#e07b39", "#9aa1ab"
DENSITY = 2700.0  # kg/m^3, aluminium: the ball drawn for a payload has its mass


def draw_arm(robot: RobotDescription, q: ArrayLike, payload: InertialParameters | None = None, ax: Any = None) -> Any:
    """Draw the arm at joint positions q (n,), and its payload as a ball of aluminium at its centre of mass.

    Parameters
    ----------
    q: (n,), rad.
    payload: in flange axes.
    ax: 3-D Matplotlib axes to draw into; a new figure without a window if absent.

    Returns
    -------
    The axes; `draw_arm(robot, q).figure.savefig("arm.png")` writes a picture.

    Raises
    ------
    ArgumentError: `q` is not a finite (n,) array, or `ax` is not 3-D.
    MissingDependencyError: Matplotlib is not installed.
    """
    q = checks.exactly(q, (robot.n,), "q")
    ax = _new_axes() if ax is None else ax
    if not hasattr(ax, "plot_surface"):
        raise ArgumentError(f"ax: expected 3-D Matplotlib axes, got {type(ax).__name__}")
    frames = [pose(robot, q, frame) for frame in robot.frames[:-1]]
    origins = np.array([T[:3, 3] for T in frames])
    radii = np.linspace(0.065, 0.04, len(origins))
    for i, (start, end) in enumerate(pairwise(origins)):
        _tube(ax, start, end, radii[i], LINK_COLOUR)
    for i, T in enumerate(frames[1:-1]):
        z = T[:3, 2] * 1.25 * radii[i]
        _tube(ax, T[:3, 3] - z, T[:3, 3] + z, 1.1 * radii[i], JOINT_COLOUR)
    flange = frames[-1]
    _tube(ax, np.array([0.0, 0.0, -0.02]), np.array([0.0, 0.0, 0.02]), 0.11, BASE_COLOUR)
    _tube(ax, flange[:3, 3] - 0.012 * flange[:3, 2], flange[:3, 3], 0.05, JOINT_COLOUR)
    shown = [*origins]
    if payload is not None and payload.mass > 0.0:
        centre = flange[:3, :3] @ payload.com + flange[:3, 3]
        radius = (3.0 * payload.mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
        ax.plot(*np.transpose([flange[:3, 3], centre]), color=PAYLOAD_COLOUR, linewidth=2)
        _ball(ax, centre, radius, PAYLOAD_COLOUR)
        shown.append(centre)
    _frame_view(ax, np.array(shown))
    return ax


def _new_axes() -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(f"drawing needs Matplotlib (pip install matplotlib): {error}") from error
    figure = Figure(figsize=(6.0, 6.0), dpi=120)  # outside pyplot: no display is needed, nothing is kept alive
    FigureCanvasAgg(figure)
    return figure.add_subplot(projection="3d")


def _tube(ax: Any, start: FloatArray, end: FloatArray, radius: float, colour: str) -> None:
    """A cylinder from start to end with flat domes on both ends."""
    axis = end - start
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        return
    z = axis / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    around = np.linspace(0.0, 2.0 * np.pi, 25)
    # A profile of radius and height, turned about the axis: a cap, the wall, a cap.
    heights = np.array([-0.3 * radius, -0.2 * radius, 0.0, length, length + 0.2 * radius, length + 0.3 * radius])
    widths = radius * np.array([0.0, 0.75, 1.0, 1.0, 0.75, 0.0])
    ring = np.cos(around)[:, None] * x + np.sin(around)[:, None] * y
    points = start + heights[:, None, None] * z + widths[:, None, None] * ring
    ax.plot_surface(*np.moveaxis(points, -1, 0), color=colour, linewidth=0, antialiased=False, shade=True)


def _ball(ax: Any, centre: FloatArray, radius: float, colour: str) -> None:
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), np.linspace(0.0, np.pi, 13))
    points = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    ax.plot_surface(*(centre[:, None, None] + radius * points), color=colour, linewidth=0, shade=True)


def _frame_view(ax: Any, points: FloatArray) -> None:
    """The same scale along all three axes, the table at z = 0 in view."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.5 * max(float(np.max(high - low)), 0.8) + 0.1
    middle = 0.5 * (low + high)
    ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), zlim=(0.0, 2.0 * half))
    ax.set_box_aspect((1.0, 1.0, 1.0))
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    ax.view_init(elev=18.0, azim=-55.0)
