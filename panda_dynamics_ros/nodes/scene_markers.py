# SPDX-License-Identifier: Apache-2.0
"""A scene as RViz markers. All are in the arm's base frame, so that no TF is needed to see them."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.scene import Scene
from panda_dynamics_ros.scene.markers import ADD, DELETE, LIFETIME, Drawing, MarkerIds, draw, split
from panda_dynamics_ros.scene.primitives import Primitive


class SceneMarkers:
    """Turns scenes into marker arrays; what a scene no longer shows is deleted.

    Messages of primitives that stay are kept, and only moved: filling new ones in takes ten times as long.

    Parameters
    ----------
    frame: frame id of the arm's base.
    """

    def __init__(self, frame: str) -> None:
        self._header = Header(frame_id=frame)
        self._drawn: dict[str, tuple[Primitive, list[tuple[Primitive, Marker]]]] = {}
        self._ids = MarkerIds()

    def message(self, stamp: Time, scene: Scene) -> MarkerArray:
        """Markers of the scene at the stamp of its sample; valid until the next call."""
        self._header.stamp = stamp
        placed = [part for primitive in scene.primitives for part in self._parts(primitive)]
        if placed:
            T = np.array([scene.frames[primitive.frame] for primitive, _ in placed]) @ np.array(
                [s.T for s, _ in placed]
            )
            positions, quaternions = T[:, :3, 3].tolist(), matrix_to_quaternion(T[:, :3, :3]).tolist()
            for (_, marker), (x, y, z), (qx, qy, qz, qw) in zip(placed, positions, quaternions, strict=True):
                position, orientation = marker.pose.position, marker.pose.orientation
                position.x, position.y, position.z = x, y, z
                orientation.x, orientation.y, orientation.z, orientation.w = qx, qy, qz, qw
        markers = [marker for _, marker in placed]
        gone = self._ids.gone({(marker.ns, marker.id) for marker in markers})
        deleted = [Marker(header=self._header, ns=ns, id=number, action=DELETE) for ns, number in gone]
        return MarkerArray(markers=[*markers, *deleted])

    def _parts(self, primitive: Primitive) -> list[tuple[Primitive, Marker]]:
        """A primitive's markers, each with the primitive of its own that it shows."""
        known = self._drawn.get(primitive.name)
        if known is not None and known[0] is primitive:
            return known[1]
        parts = [(part, _message(draw(part))) for part in split(primitive)]
        for part, marker in parts:
            marker.header, (marker.ns, marker.id) = self._header, self._ids.key(part)
        self._drawn[primitive.name] = primitive, parts
        return parts


def _message(drawing: Drawing) -> Marker:
    red, green, blue, opacity = drawing.colour
    x, y, z = drawing.scale
    return Marker(
        type=drawing.kind,
        action=ADD,
        scale=Vector3(x=x, y=y, z=z),
        color=ColorRGBA(r=red, g=green, b=blue, a=opacity),
        points=[Point(x=x, y=y, z=z) for x, y, z in drawing.points.tolist()],
        text=drawing.text,
        lifetime=Duration(sec=LIFETIME),
    )
