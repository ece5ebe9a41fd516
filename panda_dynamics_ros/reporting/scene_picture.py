# SPDX-License-Identifier: Apache-2.0
"""A scene as a picture, with no OpenGL and no window."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

import matplotlib

matplotlib.use("Agg")  # files only: a server or a container has no screen

import numpy as np
from matplotlib.figure import Figure

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.rasteriser import Camera, render
from panda_dynamics_ros.reporting.scene import Scene
from panda_dynamics_ros.reporting.scene.primitives import Colour, Label, Primitive
from panda_dynamics_ros.reporting.scene.tessellation import tessellate

WIDTH, HEIGHT, VIEW_ANGLE = 1200, 900, 0.62  # px, px, rad
LOOKING = np.array([-0.62, 0.70, -0.36])  # the eye's direction
MARGIN = 0.97  # of the distance from which the scene just fits
LIGHT = np.array([0.30, -0.50, 0.81])  # towards the lamp
AMBIENT, GLOSS = 0.58, 0.25  # shares of the light that comes from everywhere, and that mirrors
SKY = np.array([1.0, 1.0, 1.0])
FLOOR: Colour = (0.955, 0.962, 0.972, 1.0)
LINE: Colour = (0.84, 0.86, 0.89, 1.0)
SHADOW: Colour = (0.86, 0.875, 0.90, 1.0)
RED = "#c0392b"
CELL, LINE_WIDTH = 0.2, 0.004  # m
AROUND_FLOOR = 0.45  # m of floor about what stands above it


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
    extent = solid.reshape(-1, 3) if around is None else around
    camera = _camera(extent)
    floor, floor_colours = _floor(solid, extent)
    triangles = np.concatenate((floor, solid))
    colours = np.concatenate((floor_colours, *(_lit(corners, colour, camera) for corners, colour in surfaces)))
    figure = Figure(figsize=(WIDTH / 100.0, HEIGHT / 100.0), dpi=100)
    figure.figimage(render(camera, triangles, colours, SKY))
    for primitive in scene.primitives:
        if isinstance(primitive, Label):
            x, y, _ = camera.project(scene.place(primitive)[:3, 3])
            figure.text(
                x / WIDTH,
                1.0 - y / HEIGHT,
                primitive.text,
                color=primitive.colour,
                fontsize=15,
                ha="center",
                va="center",
            )
    if banner:
        figure.text(0.5, 0.985, fill(banner, 110), color=RED, fontsize=13, ha="center", va="top", parse_math=False)
    figure.text(0.985, 0.02, f"cells of {CELL:g} m", color="#7a818c", fontsize=11, ha="right")
    figure.savefig(path)
    return path


def scene_points(scene: Scene) -> FloatArray:
    """(N, 3), m, in base: the corners of all that the scene's picture draws."""
    return np.concatenate([_surface(scene, primitive)[0] for primitive in scene.primitives]).reshape(-1, 3)


def _surface(scene: Scene, primitive: Primitive) -> tuple[FloatArray, Colour]:
    """Triangles (F, 3, 3) of a primitive, m, in base, and its colour."""
    mesh, T = tessellate(primitive), scene.place(primitive)
    return (mesh.vertices @ T[:3, :3].T + T[:3, 3])[mesh.faces], primitive.colour


def _camera(extent: FloatArray) -> Camera:
    """From the direction `LOOKING`, as near as all points of `extent` (N, 3) and the arm's foot can be seen."""
    points = np.concatenate((extent, [[0.0, 0.0, 0.0]]))
    target = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = float(np.linalg.norm(points - target, axis=1).max())
    distance = MARGIN * radius / np.sin(0.5 * VIEW_ANGLE)
    return Camera(target - distance * LOOKING / np.linalg.norm(LOOKING), target, VIEW_ANGLE, WIDTH, HEIGHT)


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


def _floor(solid: FloatArray, extent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Triangles and colours of the plane z = 0 under `extent` (N, 3), of its cells, and of the shadows on it."""
    low = np.floor((np.minimum(extent.min(axis=0), 0.0)[:2] - AROUND_FLOOR) / CELL) * CELL
    high = np.ceil((np.maximum(extent.max(axis=0), 0.0)[:2] + AROUND_FLOOR) / CELL) * CELL
    level = -0.004  # m: each layer of the floor a millimetre above the one below
    layers = [(_rectangle(low, high, level), FLOOR)]
    shadow = solid - solid[..., 2:] / LIGHT[2] * LIGHT
    shadow[..., 2] = level + 0.001
    layers.append((np.concatenate((shadow, shadow[:, ::-1])), SHADOW))  # whichever way round it falls
    for axis in (0, 1):
        for place in np.arange(low[axis], high[axis] + 0.5 * CELL, CELL):
            start, end = low.copy(), high.copy()
            start[axis], end[axis] = place - 0.5 * LINE_WIDTH, place + 0.5 * LINE_WIDTH
            layers.append((_rectangle(start, end, level + 0.002), LINE))
    colours = [np.tile(colour, (len(triangles), 1)) for triangles, colour in layers]
    return np.concatenate([triangles for triangles, _ in layers]), np.concatenate(colours)


def _rectangle(low: FloatArray, high: FloatArray, z: float) -> FloatArray:
    (x0, y0), (x1, y1) = low, high
    return np.array([[(x0, y0, z), (x1, y0, z), (x1, y1, z)], [(x0, y0, z), (x1, y1, z), (x0, y1, z)]])
