# SPDX-License-Identifier: Apache-2.0
"""A scene as a picture: its triangles, lit and sorted by depth, drawn by matplotlib; no OpenGL and no window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene import Scene
from panda_dynamics_ros.reporting.scene.primitives import Colour, Label, Primitive
from panda_dynamics_ros.reporting.scene.tessellation import tessellate
from panda_dynamics_ros.reporting.style import RED, Axes, Figure, PolyCollection, styled

WIDTH, HEIGHT, VIEW_ANGLE = 1200, 900, 0.62  # px, px, rad
LOOKING = np.array([-0.62, 0.70, -0.36])  # the eye's direction
MARGIN = 0.97  # of the distance from which the scene just fits
LIGHT = np.array([0.30, -0.50, 0.81])  # towards the lamp
AMBIENT, GLOSS = 0.58, 0.25  # shares of the light that comes from everywhere, and that mirrors
FLOOR, LINE, SHADOW = "#f4f5f8", "#d6d9e0", "#dbdfe6"
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "boxstyle": "round,pad=0.2"}  # behind words
CELL = 0.2  # m
AROUND_FLOOR = 0.45  # m of floor about what stands above it
NEAR, LONGEST_EDGE = 0.05, 0.03  # m: nothing nearer to the eye is drawn; of a triangle
LEGEND = (
    ("contact", "contact force"),
    ("payload", "payload: centre of mass with its 95 % ellipsoid, box of equal inertia"),
    ("com", "centre of mass of a link"),
    ("gravity", "gravity torque of a joint: green to red with its share of the limit"),
)


@dataclass(frozen=True, eq=False)
class Camera:
    """Looks from `eye` to `target` (3,), m, z up; `view_angle`, rad, over the picture's height of 2."""

    eye: FloatArray
    target: FloatArray
    view_angle: float

    def project(self, points: FloatArray) -> FloatArray:
        """Points (..., 3) as (..., 3): to the right and up, within -1..1 over the picture's height; and depth, m."""
        back = (self.eye - self.target) / np.linalg.norm(self.eye - self.target)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        seen = (points - self.eye) @ np.column_stack((right, np.cross(back, right), -back))
        depth = np.maximum(seen[..., 2:], NEAR)
        return np.concatenate((seen[..., :2] / (np.tan(0.5 * self.view_angle) * depth), depth), axis=-1)


@styled
def draw_scene(scene: Scene, path: Path, around: FloatArray | None = None, banner: str = "") -> Path:
    """Write a scene as PNG into `path`, over a floor in cells of 20 cm, with the shadows of a lamp above.

    Parameters
    ----------
    around: (N, 3), m, in base: points that camera and floor take in; by default those of the scene itself. Pictures
        of one motion fit together if they have the same.
    banner: what a reader has to know first, in a red line above the scene.
    """
    surfaces = [_surface(scene, primitive) for primitive in scene.primitives]
    solid = np.concatenate([triangles for triangles, _ in surfaces])
    extent = np.concatenate((solid.reshape(-1, 3) if around is None else around, np.zeros((1, 3))))
    camera = _camera(extent)
    figure = Figure(figsize=(WIDTH / 100.0, HEIGHT / 100.0), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(-WIDTH / HEIGHT, WIDTH / HEIGHT), ylim=(-1.0, 1.0))
    axes.set_axis_off()
    _draw_floor(axes, camera, solid, extent)
    draw_triangles(axes, camera, [(each, _lit(each, colour, camera)) for each, colour in surfaces])
    for primitive in scene.primitives:
        if isinstance(primitive, Label):
            x, y, _ = camera.project(scene.place(primitive)[:3, 3])
            x = np.clip(x, 0.25 - WIDTH / HEIGHT, WIDTH / HEIGHT - 0.25)  # all of it is within the picture
            axes.text(x, y, primitive.text, color=primitive.colour, fontsize=15, ha="center", va="center", bbox=PAPER)
    layers = {primitive.layer: primitive.colour[:3] for primitive in reversed(scene.primitives)}
    for row, (layer, words) in enumerate(each for each in reversed(LEGEND) if each[0] in layers):
        figure.text(0.015, 0.02 + 0.028 * row, "●", color=layers[layer], fontsize=11)
        figure.text(0.035, 0.02 + 0.028 * row, words, color="#5a626e", fontsize=11)
    figure.text(0.985, 0.02, f"cells of {CELL:g} m", color="#7a818c", fontsize=11, ha="right")
    if banner:
        figure.text(0.5, 0.985, fill(banner, 110), color=RED, fontsize=13, ha="center", va="top", parse_math=False)
    figure.savefig(path)
    return path


def scene_points(scene: Scene) -> FloatArray:
    """(N, 3), m, in base: the corners of all that the scene's picture draws."""
    return np.concatenate([_surface(scene, primitive)[0] for primitive in scene.primitives]).reshape(-1, 3)


def draw_triangles(axes: Axes, camera: Camera, surfaces: Sequence[tuple[FloatArray, FloatArray]]) -> None:
    """Draw triangles (N, 3, 3), m, with colours (N, 4) each, from the farthest to the nearest.

    Corners are counter-clockwise as seen from outside: triangles that are seen from their back are left out.
    """
    parts = [_split(triangles, colours) for triangles, colours in surfaces]
    corners, colours = (np.concatenate(each) for each in zip(*parts, strict=True))
    corners = camera.project(corners)
    (x0, y0), (x1, y1), (x2, y2) = np.moveaxis(corners[..., :2], 0, -1)
    seen = ((x1 - x0) * (y2 - y0) > (x2 - x0) * (y1 - y0)) & (corners[..., 2] > NEAR).all(axis=1)
    order = np.flatnonzero(seen)[np.argsort(-corners[seen, :, 2].mean(axis=1))]
    # Edges of opaque triangles are drawn, too: else the ground shines through between neighbours.
    edges = np.where(colours[order, 3:] == 1.0, colours[order], 0.0)
    drawn = PolyCollection(list(corners[order, :, :2]), facecolors=colours[order], edgecolors=edges, linewidths=0.4)
    drawn.set_zorder(3)  # above the floor and its lines
    axes.add_collection(drawn)


def _split(triangles: FloatArray, colours: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same surface in triangles without long edges, so that the distance of their middle tells what hides what."""
    while True:
        edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
        long = edges.max(axis=1) > LONGEST_EDGE
        if not long.any():
            return triangles, colours
        first = edges[long].argmax(axis=1)[:, None, None]
        a, b, c = np.moveaxis(np.take_along_axis(triangles[long], (first + np.arange(3)[:, None]) % 3, axis=1), 1, 0)
        halves = (np.stack(half, axis=1) for half in ((a, 0.5 * (a + b), c), (0.5 * (a + b), b, c)))
        triangles = np.concatenate((triangles[~long], *halves))
        colours = np.concatenate((colours[~long], colours[long], colours[long]))


def _surface(scene: Scene, primitive: Primitive) -> tuple[FloatArray, Colour]:
    """Triangles (F, 3, 3) of a primitive, m, in base, and its colour."""
    mesh, T = tessellate(primitive), scene.place(primitive)
    return (mesh.vertices @ T[:3, :3].T + T[:3, 3])[mesh.faces], primitive.colour


def _camera(points: FloatArray) -> Camera:
    """From the direction `LOOKING`, as near as all points (N, 3) can be seen."""
    target = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = float(np.linalg.norm(points - target, axis=1).max())
    distance = MARGIN * radius / np.sin(0.5 * VIEW_ANGLE)
    return Camera(target - distance * LOOKING / np.linalg.norm(LOOKING), target, VIEW_ANGLE)


def _lit(corners: FloatArray, colour: Colour, camera: Camera) -> FloatArray:
    """Colours (F, 4) of triangles: light from everywhere, a lamp (Lambert), and its reflection (Blinn)."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-15)
    to_eye = camera.eye - corners.mean(axis=1)
    half = to_eye / np.linalg.norm(to_eye, axis=1, keepdims=True) + LIGHT
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    shine = GLOSS * np.maximum(np.einsum("ij,ij->i", normals, half), 0.0) ** 30
    brightness = AMBIENT + (1.0 - AMBIENT) * (0.5 + 0.5 * normals @ LIGHT)
    red_green_blue = np.clip(np.outer(1.1 * brightness, colour[:3]) + shine[:, None], 0.0, 1.0)
    return np.column_stack((red_green_blue, np.full(len(corners), colour[3])))


def _draw_floor(axes: Axes, camera: Camera, solid: FloatArray, extent: FloatArray) -> None:
    """The plane z = 0 under `extent` (N, 3), the shadows on it, and the lines of its cells."""
    low, high = (
        np.round((sign * AROUND_FLOOR + edge[:2]) / CELL) * CELL
        for sign, edge in ((-1.0, extent.min(axis=0)), (1.0, extent.max(axis=0)))
    )
    (x0, y0), (x1, y1) = low, high
    plane = camera.project(np.array([(x0, y0, 0.0), (x1, y0, 0.0), (x1, y1, 0.0), (x0, y1, 0.0)]))
    shadow = camera.project((solid - solid[..., 2:] / LIGHT[2] * LIGHT) * [1.0, 1.0, 0.0])
    axes.add_collection(PolyCollection([plane[:, :2]], facecolors=FLOOR, zorder=0))
    axes.add_collection(
        PolyCollection(list(shadow[..., :2]), facecolors=SHADOW, edgecolors=SHADOW, linewidths=0.4, zorder=1)
    )
    for axis in (0, 1):
        for place in np.arange(low[axis], high[axis] + 0.5 * CELL, CELL):
            ends = np.array([(*low, 0.0), (*high, 0.0)])
            ends[:, axis] = place
            x, y, _ = camera.project(ends).T
            axes.plot(x, y, color=LINE, linewidth=1.2)
