# SPDX-License-Identifier: Apache-2.0
"""`~/robot_markers` of the dynamics node: the arm itself in RViz, from its model, with the torques of gravity."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput
from panda_dynamics_ros.nodes.scene_markers import SceneMarkers
from panda_dynamics_ros.nodes.topics import publisher
from panda_dynamics_ros.scene import ArmScene

PERIOD = 0.1  # s


class RobotMarkers:
    """Publishes the latest state that it was told, ten times a second, while somebody listens."""

    def __init__(self, node: Node, source: JointStateInput) -> None:
        self._source, self._scene = source, ArmScene(source.robot)
        self._scene.at(source.robot.limits.lower)  # compiles, while nothing waits for an answer yet
        self._latest: tuple[Time, FloatArray, FloatArray | None] | None = None
        self._markers: SceneMarkers | None = None
        self._publisher = publisher(node, MarkerArray, "~/robot_markers", 1)
        node.create_timer(PERIOD, self._publish)

    def remember(self, stamp: Time, q: FloatArray, wrench: FloatArray | None = None) -> None:
        """Joint positions (n,), rad, at the stamp of their sample, and the wrench (6,) on the flange, if known."""
        self._latest = stamp, q, wrench

    def _publish(self) -> None:
        if self._latest is None or not self._publisher.get_subscription_count():
            return
        stamp, q, wrench = self._latest
        self._markers = self._markers or SceneMarkers(self._source.base_frame)
        self._publisher.publish(self._markers.message(stamp, self._scene.at(q, wrench=wrench)))
