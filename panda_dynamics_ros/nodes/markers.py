# SPDX-License-Identifier: Apache-2.0
"""RViz markers: arm and payload (`~/robot_markers` of `dynamics`), and the payload alone (`~/payload_markers`).

The payload's own markers are in the flange frame. `dynamics` places them by its model at the sample that it draws the
arm at, and sends both in one message, in the arm's base frame: so they are right without TF and cannot part.
"""

import time
from collections.abc import Sequence
from copy import copy

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import PayloadEstimator
from panda_dynamics_ros.nodes.conversions import numbers_of
from panda_dynamics_ros.nodes.interface import every, publisher, subscribe
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput, Sample
from panda_dynamics_ros.pose import matrix_to_quaternion, pose_to_matrix
from panda_dynamics_ros.reporting import scene as scenes

PERIOD = 0.1  # s
LIFETIME = 2  # s, of a marker that nobody renews: a node that ended leaves nothing behind in RViz
TYPES = {
    scenes.ELLIPSOID: Marker.SPHERE,
    scenes.BOX: Marker.CUBE,
    scenes.CYLINDER: Marker.CYLINDER,
    scenes.ARROW: Marker.ARROW,
    scenes.LABEL: Marker.TEXT_VIEW_FACING,
}
MOST_MARKERS = 100  # of the payload, which anybody may publish
NEARER = (0.18, 0.15, 0.07)  # m, of a text in base: towards the camera of the package's layout


class SceneMarkers:
    """Turns scenes into marker arrays; what a scene no longer shows is deleted."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}  # of each primitive's name, for good: RViz goes by it
        self._shown: set[tuple[str, int]] = set()

    def message(self, header: Header, scene: scenes.Scene, others: Sequence[Marker] = ()) -> MarkerArray:
        """Markers of the scene, and others in layers of their own."""
        markers = [marker_of(each, self._ids.setdefault(each.name, len(self._ids))) for each in scene.primitives]
        if markers:
            _place(markers, header, np.array([scene.place(primitive) for primitive in scene.primitives]))
        markers += others
        before, self._shown = self._shown, {(marker.ns, marker.id) for marker in markers}
        gone = sorted(before - self._shown)
        deleted = [Marker(header=header, ns=ns, id=number, action=Marker.DELETE) for ns, number in gone]
        return MarkerArray(markers=[*markers, *deleted])


def _place(markers: Sequence[Marker], header: Header, T: FloatArray) -> None:
    """Move k markers to the transforms (k, 4, 4) in the header's frame."""
    rows = zip(markers, T[:, :3, 3].tolist(), matrix_to_quaternion(T[:, :3, :3]).tolist(), strict=True)
    for marker, (x, y, z), (qx, qy, qz, qw) in rows:
        marker.header = header
        marker.pose = Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def marker_of(primitive: scenes.Primitive, number: int) -> Marker:
    """The marker of a primitive, with this id, without its place; arrows and texts have their own scales in RViz."""
    red, green, blue, opacity = primitive.colour
    x, y, z = primitive.size.tolist()
    points, text = [], ""
    if primitive.shape == scenes.ARROW:
        points, (y, z) = [Point(), Point(z=z)], primitive.head
    elif primitive.shape == scenes.LABEL:  # x is the width of a space, and the text is ASCII
        x, y, text = 0.5 * z, 0.0, primitive.text.replace("±", "+/-")
    return Marker(
        type=TYPES[primitive.shape],
        ns=primitive.layer,
        id=number,
        scale=Vector3(x=x, y=y, z=z),
        color=ColorRGBA(r=red, g=green, b=blue, a=opacity),
        points=points,
        text=text,
        lifetime=Duration(sec=LIFETIME),
    )


def readable(message: MarkerArray) -> MarkerArray:
    """The message, markers in base, with the texts where arm and payload hide them less."""
    for at in (each.pose.position for each in message.markers if each.type == Marker.TEXT_VIEW_FACING):
        at.x, at.y, at.z = at.x + NEARER[0], at.y + NEARER[1], at.z + NEARER[2]
    return message


class PayloadMarkers:
    """The payload of an estimator in the flange frame, ten times a second while somebody subscribes."""

    def __init__(self, node: Node, samples: JointStateInput, estimator: PayloadEstimator) -> None:
        self._samples, self._estimator, self._markers = samples, estimator, SceneMarkers()
        self._publisher = publisher(node, MarkerArray, "~/payload_markers", 1)
        every(node, PERIOD, self._publish)

    def message(self, markers: SceneMarkers | None = None) -> MarkerArray:
        """The payload's, and the deletion of what `markers` have shown; of any stamp: the flange carries them."""
        scene = scenes.Scene({"flange": np.eye(4)}, scenes.payload_primitives(self._estimator.estimate))
        return (markers or SceneMarkers()).message(Header(frame_id=self._samples.flange_frame), scene)

    def _publish(self) -> None:
        if self._samples.joint_names and self._publisher.get_subscription_count():
            self._publisher.publish(self.message(self._markers))


class RobotMarkers:
    """The arm with the torques of gravity, the force of a contact and the payload; as often, while somebody subscribes.

    payload_topic: of the payload, whose markers are expected on `<payload_topic>_markers`; empty: on none.
    payload: gives the payload's markers in the flange frame.
    """

    def __init__(self, node: Node, samples: JointStateInput, payload_topic: str) -> None:
        self._samples, self._markers = samples, SceneMarkers()
        self._latest: tuple[Sample, FloatArray | None] | None = None
        self._received, self._expires = MarkerArray(), 0.0
        self.payload = lambda: self._received if time.monotonic() < self._expires else MarkerArray()
        self._publisher = publisher(node, MarkerArray, "~/robot_markers", 1)
        if payload_topic:
            subscribe(node, MarkerArray, f"{payload_topic}_markers", self._on_payload, QoSProfile(depth=1))
        every(node, PERIOD, self._publish)

    def _on_payload(self, message: MarkerArray) -> None:
        self._received, self._expires = message, time.monotonic() + LIFETIME

    def update(self, sample: Sample, wrench: FloatArray | None) -> None:
        """Draw the arm at this sample from now on, with the wrench (6,) on the flange, if any."""
        self._latest = sample, wrench

    def _publish(self) -> None:
        if self._latest is None or not self._publisher.get_subscription_count():
            return
        (sample, wrench), self._latest = self._latest, None
        header = Header(stamp=sample.header_stamp, frame_id=self._samples.base_frame)
        scene = scenes.arm_scene(self._samples.robot, sample.q, wrench=wrench)
        self._publisher.publish(readable(self._markers.message(header, scene, self._carried(header, scene))))

    def _carried(self, header: Header, scene: scenes.Scene) -> list[Marker]:
        carried = [copy(each) for each in self.payload().markers[:MOST_MARKERS] if each.action == Marker.ADD]
        try:
            numbers = np.reshape([numbers_of(each.pose) for each in carried], (-1, 7))
            T = checks.real_array(scene.frames["flange"] @ pose_to_matrix(numbers[:, :3], numbers[:, 3:]), "pose")
        except ArgumentError:  # a pose that is none
            return []
        _place(carried, header, T)
        return carried
