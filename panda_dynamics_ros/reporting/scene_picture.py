# SPDX-License-Identifier: Apache-2.0
"""A scene as a picture by matplotlib's mplot3d, which needs neither OpenGL nor a window."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene import Scene
from panda_dynamics_ros.reporting.scene.primitives import Colour, Label, Primitive
from panda_dynamics_ros.reporting.style import RED, Figure, Poly3DCollection, save, styled

WIDTH, HEIGHT = 1200, 900  # px
ELEVATION, AZIMUTH, ZOOM = 21.0, -48.0, 1.45  # deg, deg, of mplot3d's cube
LIGHT = np.array([0.30, -0.50, 0.81])  # towards the lamp
AMBIENT = 0.6  # share of the light that comes from everywhere
LINE, SHADOW = "#d6d9e0", "#dbdfe6"
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "boxstyle": "round,pad=0.2"}  # behind words
CELL = 0.2  # m
AROUND_FLOOR = 0.3  # m of floor about what stands above it
LEGEND = (
    ("contact", "contact force"),
    ("payload", "payload: centre of mass with its 95 % ellipsoid, box of equal inertia"),
    ("com", "centre of mass of a link"),
    ("gravity", "gravity torque of a joint: green to red with its share of the limit"),
)


@styled
def draw_scene(scene: Scene, path: Path, around: FloatArray | None = None, banner: str = "") -> Path:
    """Write a scene as PNG into `path`, over a floor in cells of 20 cm, with the shadows of a lamp above.

    Camera and floor take in the points `around` (N, 3), m, in base, or else the scene: pictures of one motion fit
    together if they have the same. `banner` is what a reader has to know first, in red above the scene.
    """
    surfaces = [(_triangles(scene, primitive), primitive.colour) for primitive in scene.primitives]
    triangles, colours = np.concatenate([each for each, _ in surfaces]), np.concatenate([_lit(*e) for e in surfaces])
    extent = np.concatenate((triangles.reshape(-1, 3) if around is None else around, np.zeros((1, 3))))
    figure = Figure(figsize=(WIDTH / 100.0, HEIGHT / 100.0), dpi=100)
    axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d", computed_zorder=False)
    axes.view_init(ELEVATION, AZIMUTH)
    axes.set_axis_off()
    _draw_floor(axes, extent)
    shadow = (triangles - triangles[..., 2:] / LIGHT[2] * LIGHT) * [1.0, 1.0, 0.0]
    axes.add_collection3d(Poly3DCollection(shadow, facecolors=SHADOW, edgecolors=SHADOW, linewidths=0.4, zorder=1))
    # What is translucent comes first: sorted by their middles, its triangles would hide parts of what is within.
    opaque = colours[:, 3] == 1.0
    for chosen, edges, order in ((~opaque, "none", 2), (opaque, colours[opaque], 3)):  # no gaps between opaque ones
        drawn = Poly3DCollection(triangles[chosen], facecolors=colours[chosen], edgecolors=edges, linewidths=0.4)
        drawn.set_zorder(order)
        axes.add_collection3d(drawn)
    for primitive in scene.primitives:
        if isinstance(primitive, Label):
            at, style = scene.place(primitive)[:3, 3], {"ha": "center", "va": "center", "bbox": PAPER}
            axes.text(*at, primitive.text, color=primitive.colour, fontsize=15, zorder=4, **style)
    layers = {primitive.layer: primitive.colour[:3] for primitive in reversed(scene.primitives)}
    for row, (layer, words) in enumerate(each for each in reversed(LEGEND) if each[0] in layers):
        figure.text(0.015, 0.02 + 0.028 * row, "●", color=layers[layer], fontsize=11)
        figure.text(0.035, 0.02 + 0.028 * row, words, color="#5a626e", fontsize=11)
    figure.text(0.985, 0.02, f"cells of {CELL:g} m", color="#7a818c", fontsize=11, ha="right")
    if banner:
        figure.text(0.5, 0.985, fill(banner, 110), color=RED, fontsize=13, ha="center", va="top", parse_math=False)
    return save(figure, path, dpi=100)


def scene_points(scene: Scene) -> FloatArray:
    """(N, 3), m, in base: the corners of all that the scene's picture draws."""
    return np.concatenate([_triangles(scene, primitive) for primitive in scene.primitives]).reshape(-1, 3)


def _triangles(scene: Scene, primitive: Primitive) -> FloatArray:
    """(F, 3, 3), m, in base."""
    mesh, T = primitive.mesh(), scene.place(primitive)
    return (mesh.vertices @ T[:3, :3].T + T[:3, 3])[mesh.faces]


def _lit(triangles: FloatArray, colour: Colour) -> FloatArray:
    """Colours (F, 4) of triangles, with light from everywhere and from a lamp (Lambert)."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-15)
    brightness = AMBIENT + (1.0 - AMBIENT) * (0.5 + 0.5 * normals @ LIGHT)
    red_green_blue = np.clip(np.outer(brightness, colour[:3]), 0.0, 1.0)
    return np.column_stack((red_green_blue, np.full(len(triangles), colour[3])))


def _draw_floor(axes: Any, extent: FloatArray) -> None:
    """Lines of the cells of the plane z = 0 under `extent` (N, 3), and axes that take in both."""
    low, high = extent.min(axis=0), extent.max(axis=0)
    low[:2], high[:2] = (np.round((edge[:2]) / CELL) * CELL for edge in (low - AROUND_FLOOR, high + AROUND_FLOOR))
    style = {"color": LINE, "linewidth": 1.2, "zorder": 0, "clip_on": False}
    for x in np.arange(low[0], high[0] + 0.5 * CELL, CELL):
        axes.plot([x, x], [low[1], high[1]], [0.0, 0.0], **style)
    for y in np.arange(low[1], high[1] + 0.5 * CELL, CELL):
        axes.plot([low[0], high[0]], [y, y], [0.0, 0.0], **style)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=ZOOM)
