# SPDX-License-Identifier: Apache-2.0
"""A scene as RViz markers. All are in the arm's base frame, so that no TF is needed to see them."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.scene import Scene
from panda_dynamics_ros.scene.shapes import Arc, Arrow, Box, Capsule, Cylinder, Ellipsoid, Label, Shape, translation

LIFETIME = Duration(sec=2)  # of a marker that nobody renews: a node that ended leaves nothing behind in RViz
POINTS_OF_ARC = 16
ON_DARK_GROUND = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)

Size = FloatArray | tuple[float, float, float]


class SceneMarkers:
    """Turns scenes into marker arrays; what a scene no longer shows is deleted.

    A marker's `ns` is its shape's layer, which RViz can hide; its `id` stays that of the shape. Messages of shapes
    that stay are kept, and only moved: filling new ones in takes ten times as long.

    Parameters
    ----------
    frame: frame id of the arm's base.
    """

    def __init__(self, frame: str) -> None:
        self._header = Header(frame_id=frame)
        self._drawn: dict[str, tuple[Shape, list[tuple[Shape, Marker]]]] = {}
        self._ids: dict[str, int] = {}
        self._shown: set[tuple[str, int]] = set()

    def message(self, stamp: Time, scene: Scene) -> MarkerArray:
        """Markers of the scene at the stamp of its sample; valid until the next call."""
        self._header.stamp = stamp
        placed = [part for shape in scene.shapes for part in self._parts(shape)]
        if placed:
            T = np.array([scene.frames[shape.frame] for shape, _ in placed]) @ np.array([s.T for s, _ in placed])
            positions, quaternions = T[:, :3, 3].tolist(), matrix_to_quaternion(T[:, :3, :3]).tolist()
            for (_, marker), (x, y, z), (qx, qy, qz, qw) in zip(placed, positions, quaternions, strict=True):
                position, orientation = marker.pose.position, marker.pose.orientation
                position.x, position.y, position.z = x, y, z
                orientation.x, orientation.y, orientation.z, orientation.w = qx, qy, qz, qw
        markers = [marker for _, marker in placed]
        shown = {(marker.ns, marker.id) for marker in markers}
        gone = sorted(self._shown - shown)
        self._shown = shown
        deleted = [Marker(header=self._header, ns=ns, id=number, action=Marker.DELETE) for ns, number in gone]
        return MarkerArray(markers=[*markers, *deleted])

    def _parts(self, shape: Shape) -> list[tuple[Shape, Marker]]:
        """A shape's markers, each with the shape of its own that it shows."""
        known = self._drawn.get(shape.name)
        if known is not None and known[0] is shape:
            return known[1]
        parts = [(part, draw(part)) for part in split(shape)]
        for part, marker in parts:
            marker.header, marker.ns, marker.lifetime = self._header, part.layer, LIFETIME
            marker.id = self._ids.setdefault(part.name, len(self._ids))
        self._drawn[shape.name] = shape, parts
        return parts


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
def draw(shape: Shape) -> Marker:
    """The marker of one shape; the pose is to be that of the shape's own axes.

    Raises
    ------
    TypeError: there is no marker for shapes of this class.
    """
    raise TypeError(f"shape: expected one that RViz has a marker for, got {type(shape).__name__}")


@draw.register
def _ellipsoid(shape: Ellipsoid) -> Marker:
    return _marker(Marker.SPHERE, shape, 2.0 * shape.semi_axes)


@draw.register
def _box(shape: Box) -> Marker:
    return _marker(Marker.CUBE, shape, shape.edges)


@draw.register
def _cylinder(shape: Cylinder) -> Marker:
    return _marker(Marker.CYLINDER, shape, (2.0 * shape.radius, 2.0 * shape.radius, shape.length))


@draw.register
def _arrow(shape: Arrow) -> Marker:
    """Scale: diameter of the shaft, diameter of the head, length of the head."""
    marker = _marker(Marker.ARROW, shape, (2.0 * shape.radius, 2.0 * shape.head_radius, shape.head_length))
    marker.points = [Point(), Point(z=shape.length)]
    return marker


@draw.register
def _arc(shape: Arc) -> Marker:
    marker = _marker(Marker.LINE_STRIP, shape, (2.0 * shape.radius, 0.0, 0.0))
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in shape.points(POINTS_OF_ARC).tolist()]
    return marker


@draw.register
def _label(shape: Label) -> Marker:
    marker = _marker(Marker.TEXT_VIEW_FACING, shape, (0.0, 0.0, shape.height))
    marker.text, marker.color = shape.text, ON_DARK_GROUND
    return marker


def _marker(kind: int, shape: Shape, size: Size) -> Marker:
    red, green, blue, opacity = shape.colour
    x, y, z = (float(edge) for edge in size)
    colour = ColorRGBA(r=red, g=green, b=blue, a=opacity)
    return Marker(type=kind, action=Marker.ADD, scale=Vector3(x=x, y=y, z=z), color=colour)
