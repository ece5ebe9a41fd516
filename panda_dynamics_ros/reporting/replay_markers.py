# SPDX-License-Identifier: Apache-2.0
"""Scenes of a replay as serialised visualization_msgs/MarkerArray."""

from __future__ import annotations

from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.reporting.scene import Scene
from panda_dynamics_ros.reporting.scene.markers import ADD, DELETE, LIFETIME, Drawing, Key, MarkerIds, draw, split
from panda_dynamics_ros.robot.stamps import BILLION

MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"
_NO_DRAWING = Drawing(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
_ORIGIN, _NO_TURN = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])


class SceneSerialiser:
    """Turns scenes of one arm into messages; what a scene no longer shows is deleted, as in the nodes.

    Parameters
    ----------
    frame: frame id of the arm's base.
    """

    def __init__(self, frame: str) -> None:
        self._types = rosbag2.typestore()
        self._frame = frame
        self._ids = MarkerIds()
        make = self._types.types
        self._nothing = make["sensor_msgs/msg/CompressedImage"](
            header=self._header(0), format="", data=np.empty(0, dtype=np.uint8)
        )
        self._no_mesh = make["visualization_msgs/msg/MeshFile"](filename="", data=np.empty(0, dtype=np.uint8))

    def message(self, stamp_ns: int, scene: Scene) -> bytes:
        """Markers of the scene at the stamp of its sample."""
        header, parts = self._header(stamp_ns), [part for primitive in scene.primitives for part in split(primitive)]
        places = np.array([scene.place(part) for part in parts]).reshape(-1, 4, 4)
        turns = matrix_to_quaternion(places[:, :3, :3])
        keys = [self._ids.key(part) for part in parts]
        markers = [
            self._marker(header, key, ADD, draw(part), T[:3, 3], turn)
            for key, part, T, turn in zip(keys, parts, places, turns, strict=True)
        ]
        markers += [self._marker(header, key, DELETE, _NO_DRAWING) for key in self._ids.gone(set(keys))]
        array = self._types.types[MARKER_ARRAY](markers=markers)
        return bytes(self._types.serialize_cdr(array, MARKER_ARRAY))

    def _header(self, stamp_ns: int) -> Any:
        sec, nanosec = divmod(stamp_ns, BILLION)
        make = self._types.types
        return make["std_msgs/msg/Header"](
            stamp=make["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec), frame_id=self._frame
        )

    def _marker(
        self,
        header: Any,
        key: Key,
        action: int,
        drawing: Drawing,
        place: FloatArray = _ORIGIN,
        turn: FloatArray = _NO_TURN,
    ) -> Any:
        """A marker with all its fields: `rosbags` has no defaults."""
        make = self._types.types
        point, colour = make["geometry_msgs/msg/Point"], make["std_msgs/msg/ColorRGBA"]
        pose = make["geometry_msgs/msg/Pose"](
            position=point(*place.tolist()), orientation=make["geometry_msgs/msg/Quaternion"](*turn.tolist())
        )
        return make["visualization_msgs/msg/Marker"](
            header=header,
            ns=key[0],
            id=key[1],
            type=drawing.kind,
            action=action,
            pose=pose,
            scale=make["geometry_msgs/msg/Vector3"](*drawing.scale),
            color=colour(*drawing.colour),
            lifetime=make["builtin_interfaces/msg/Duration"](sec=LIFETIME, nanosec=0),
            frame_locked=False,
            points=[point(*corner) for corner in drawing.points.tolist()],
            colors=[],
            texture_resource="",
            texture=self._nothing,
            uv_coordinates=[],
            text=drawing.text,
            mesh_resource="",
            mesh_file=self._no_mesh,
            mesh_use_embedded_materials=False,
        )
