# SPDX-License-Identifier: Apache-2.0
"""RViz markers: the arm (`~/robot_markers` of `dynamics`) and the payload (`~/payload_markers` of the estimator).

All markers are in the arm's base frame, placed by the model's own kinematics, so that they are right without TF.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Vector3
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes.interface import fixed, publisher
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.reporting.scene import ArmScene, Scene
from panda_dynamics_ros.reporting.scene.markers import ADD, DELETE, LIFETIME, Drawing, MarkerIds, draw, split
from panda_dynamics_ros.reporting.scene.payload import payload_primitives
from panda_dynamics_ros.reporting.scene.primitives import Primitive

PERIOD = 0.02  # s, of looking for a sample to draw
TENTH = 100_000_000  # ns


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
        mesh_resource=drawing.uri,
        mesh_use_embedded_materials=bool(drawing.uri),
        lifetime=Duration(sec=LIFETIME),
    )


class _MarkerOutput:
    """Publishes markers ten times a second of stamps, while somebody subscribes.

    It draws the first sample after each whole tenth of a second, as any other node that draws the same stream, so
    that arm and payload are at the same place.
    """

    def __init__(self, node: Node, samples: JointStateInput, topic: str) -> None:
        self._samples = samples
        self._tenth = 0
        self._pending: tuple[Time, FloatArray, FloatArray | None] | None = None
        self._markers: SceneMarkers | None = None
        self._publisher = publisher(node, MarkerArray, topic, 1)
        node.create_timer(PERIOD, self._publish)

    def update(self, stamp: Time, q: FloatArray, wrench: FloatArray | None = None) -> None:
        """Joint positions (n,), rad, at the stamp of their sample, and the wrench (6,) on the flange, if any."""
        tenth = stamp.sec * 10 + stamp.nanosec // TENTH
        if tenth != self._tenth:
            self._tenth, self._pending = tenth, (stamp, q, wrench)

    def _publish(self) -> None:
        if self._pending is None or not self._publisher.get_subscription_count():
            return
        (stamp, q, wrench), self._pending = self._pending, None
        self._markers = self._markers or SceneMarkers(self._samples.base_frame)
        self._publisher.publish(self._markers.message(stamp, self._scene_at(q, wrench)))

    def _scene_at(self, q: FloatArray, wrench: FloatArray | None) -> Scene:
        raise NotImplementedError


class RobotMarkers(_MarkerOutput):
    """The arm from its model, with the torques of gravity and the force of a contact."""

    def __init__(self, node: Node, samples: JointStateInput) -> None:
        super().__init__(node, samples, "~/robot_markers")
        words = "Whether ~/robot_markers show the meshes of the arm's description, if its files are on this machine."
        # Triangles without a file would be sent ten times a second.
        have_files = all(each.triangles is None for each in samples.robot.visuals)
        self._scene = ArmScene(samples.robot, meshes=fixed(node, "draw_meshes", True, words) and have_files)
        self._scene.at(samples.robot.limits.lower.copy())  # compiles, while no sample is waiting

    def _scene_at(self, q: FloatArray, wrench: FloatArray | None) -> Scene:
        return self._scene.at(q, wrench=wrench)


class PayloadMarkers(_MarkerOutput):
    """The payload of the latest `estimate()`, where the arm's flange is."""

    def __init__(self, node: Node, samples: JointStateInput, estimate: Callable[[], PayloadEstimate]) -> None:
        super().__init__(node, samples, "~/payload_markers")
        self._estimate = estimate
        samples.robot.pose(samples.robot.limits.lower.copy(), "flange")  # compiles, while no sample is waiting

    def _scene_at(self, q: FloatArray, wrench: FloatArray | None) -> Scene:
        return Scene({"flange": self._samples.robot.pose(q, "flange")}, payload_primitives(self._estimate()))
