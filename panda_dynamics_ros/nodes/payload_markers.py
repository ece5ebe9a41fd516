# SPDX-License-Identifier: Apache-2.0
"""`~/payload_markers` of the payload estimator: the payload in RViz, carried along by the arm's own kinematics."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput
from panda_dynamics_ros.nodes.scene_markers import SceneMarkers
from panda_dynamics_ros.nodes.topics import publisher
from panda_dynamics_ros.scene import Scene
from panda_dynamics_ros.scene.payload import payload_primitives

PERIOD = 0.1  # s


class PayloadMarkers:
    """Publishes the payload at the latest joint positions that it was told, while somebody listens.

    The markers are in the arm's base frame, not in the flange's: they are right where nobody publishes TF.
    """

    def __init__(self, node: Node, source: JointStateInput, estimate: Callable[[], PayloadEstimate]) -> None:
        self._source, self._estimate = source, estimate
        source.robot.pose(source.robot.limits.lower, "flange")  # compiles, while nothing waits for an answer yet
        self._latest: tuple[Time, FloatArray] | None = None
        self._markers: SceneMarkers | None = None
        self._publisher = publisher(node, MarkerArray, "~/payload_markers", 1)
        node.create_timer(PERIOD, self._publish)

    def remember(self, stamp: Time, q: FloatArray) -> None:
        """The arm's joint positions (n,), rad, at the stamp of their sample."""
        self._latest = stamp, q

    def _publish(self) -> None:
        if self._latest is None or not self._publisher.get_subscription_count():
            return
        stamp, q = self._latest
        self._markers = self._markers or SceneMarkers(self._source.base_frame)
        flange = {"flange": self._source.robot.pose(q, "flange")}
        self._publisher.publish(self._markers.message(stamp, Scene(flange, payload_primitives(self._estimate()))))
