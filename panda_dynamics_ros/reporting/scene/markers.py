# SPDX-License-Identifier: Apache-2.0
"""Primitives in the terms of visualization_msgs/Marker, without ROS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene.primitives import Arc, Arrow, Box, Colour, Cylinder, Ellipsoid, Label, Primitive

ARROW, CUBE, SPHERE, CYLINDER, SPHERE_LIST, TEXT_VIEW_FACING = 0, 1, 2, 3, 7, 9  # Marker's types
ADD, DELETE = 0, 2  # Marker's actions
Key = tuple[str, int]
"""`ns` and `id` of a marker, by which RViz knows it."""

LIFETIME = 2  # s, of a marker that nobody renews: a node that ended leaves nothing behind in RViz
LABEL: Colour = (0.93, 0.33, 0.08, 1.0)
"""As far from white robots as from the layout's dark ground: 3.3 and 3.8 in the contrast ratio of WCAG 2."""


class Drawing(NamedTuple):
    """The fields of a marker that depend on the primitive; `points` (k, 3), m, are in its own axes."""

    kind: int
    scale: tuple[float, float, float]
    colour: Colour
    points: FloatArray = np.empty((0, 3))
    text: str = ""


def draw(primitive: Primitive) -> Drawing:
    """The drawing of one primitive, in the primitive's axes. TypeError: there is no marker for its class."""
    colour = primitive.colour
    if isinstance(primitive, Ellipsoid):
        x, y, z = (2.0 * primitive.semi_axes).tolist()
        return Drawing(SPHERE, (x, y, z), colour)
    if isinstance(primitive, Box):
        x, y, z = np.asarray(primitive.edges, dtype=np.float64).tolist()
        return Drawing(CUBE, (x, y, z), colour)
    if isinstance(primitive, Cylinder):
        return Drawing(CYLINDER, (2.0 * primitive.radius, 2.0 * primitive.radius, float(primitive.length)), colour)
    if isinstance(primitive, Arrow):  # diameters of shaft and head, length of the head
        scale = (2.0 * primitive.radius, 2.0 * primitive.head_radius, float(primitive.head_length))
        return Drawing(ARROW, scale, colour, np.array([[0.0, 0.0, 0.0], [0.0, 0.0, primitive.length]]))
    if isinstance(primitive, Arc):  # beads, one radius apart: RViz draws lines as flat ribbons
        length, thickness = abs(primitive.angle) * primitive.bend_radius, 2.0 * primitive.radius
        beads = primitive.points(2 + int(length / primitive.radius))
        return Drawing(SPHERE_LIST, (thickness, thickness, thickness), colour, beads)
    if isinstance(primitive, Label):  # scale x is the width of a space in RViz 2, and its text is ASCII
        height = float(primitive.height)
        return Drawing(TEXT_VIEW_FACING, (0.5 * height, 0.0, height), LABEL, text=primitive.text.replace("±", "+/-"))
    raise TypeError(f"primitive: expected a class that RViz has a marker for, got {type(primitive).__name__}")


class MarkerIds:
    """Keys of the markers of one topic, and which markers a scene no longer has.

    `ns` is the primitive's layer, which RViz can hide as a whole; `id` belongs to its name for good.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._shown: set[Key] = set()

    def key(self, primitive: Primitive) -> Key:
        """The key of a primitive's marker."""
        return primitive.layer, self._ids.setdefault(primitive.name, len(self._ids))

    def gone(self, shown: set[Key]) -> list[Key]:
        """Markers to be deleted: those of the last call that are not in `shown`."""
        gone, self._shown = sorted(self._shown - shown), shown
        return gone
