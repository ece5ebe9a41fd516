# SPDX-License-Identifier: Apache-2.0
"""Shapes in the terms of visualization_msgs/Marker, without ROS: nodes send them, a replay writes them into a bag."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.scene.shapes import (
    Arc,
    Arrow,
    Box,
    Capsule,
    Colour,
    Cylinder,
    Ellipsoid,
    Label,
    Shape,
    translation,
)

ARROW, CUBE, SPHERE, CYLINDER, LINE_STRIP, TEXT_VIEW_FACING = 0, 1, 2, 3, 4, 9  # Marker's types
ADD, DELETE = 0, 2  # Marker's actions
LIFETIME = 2  # s, of a marker that nobody renews: a node that ended leaves nothing behind in RViz
POINTS_OF_ARC = 16
ON_DARK_GROUND: Colour = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a marker of this type is made of; `points` (k, 3) are in the shape's own axes."""

    kind: int
    scale: tuple[float, float, float]
    colour: Colour
    points: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    text: str = ""


def split(shape: Shape) -> tuple[Shape, ...]:
    """The shape; of a capsule, which RViz does not have, a cylinder and two balls."""
    if not isinstance(shape, Capsule):
        return (shape,)
    ball, half = np.full(3, shape.radius), 0.5 * shape.length
    wall = Cylinder(shape.name, shape.frame, shape.T, shape.colour, shape.radius, shape.length)
    ends = (
        Ellipsoid(f"{shape.name}{end}", shape.frame, shape.T @ translation([0.0, 0.0, z]), shape.colour, ball)
        for end, z in ((".start", -half), (".end", half))
    )
    return (wall, *ends)


@singledispatch
def draw(shape: Shape) -> Drawing:
    """The drawing of one shape; the marker's pose is to be that of the shape's own axes.

    Raises
    ------
    TypeError: there is no marker for shapes of this class.
    """
    raise TypeError(f"shape: expected one that RViz has a marker for, got {type(shape).__name__}")


@draw.register
def _ellipsoid(shape: Ellipsoid) -> Drawing:
    x, y, z = (2.0 * shape.semi_axes).tolist()
    return Drawing(SPHERE, (x, y, z), shape.colour)


@draw.register
def _box(shape: Box) -> Drawing:
    x, y, z = np.asarray(shape.edges, dtype=np.float64).tolist()
    return Drawing(CUBE, (x, y, z), shape.colour)


@draw.register
def _cylinder(shape: Cylinder) -> Drawing:
    return Drawing(CYLINDER, (2.0 * shape.radius, 2.0 * shape.radius, float(shape.length)), shape.colour)


@draw.register
def _arrow(shape: Arrow) -> Drawing:
    """Scale: diameter of the shaft, diameter of the head, length of the head."""
    scale = (2.0 * shape.radius, 2.0 * shape.head_radius, float(shape.head_length))
    return Drawing(ARROW, scale, shape.colour, np.array([[0.0, 0.0, 0.0], [0.0, 0.0, shape.length]]))


@draw.register
def _arc(shape: Arc) -> Drawing:
    return Drawing(LINE_STRIP, (2.0 * shape.radius, 0.0, 0.0), shape.colour, shape.points(POINTS_OF_ARC))


@draw.register
def _label(shape: Label) -> Drawing:
    return Drawing(TEXT_VIEW_FACING, (0.0, 0.0, float(shape.height)), ON_DARK_GROUND, text=shape.text)
