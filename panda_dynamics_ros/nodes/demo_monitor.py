# SPDX-License-Identifier: Apache-2.0
"""Node `demo_monitor`: keeps what the demo's nodes publish, as any other ROS program could."""

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import Image, JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import INPUT_QOS
from panda_dynamics_ros.nodes.runner import make_executor
from panda_dynamics_ros.recordings.bags import JointStateSample
from panda_dynamics_ros.robot.stamps import BILLION, nanoseconds

ESTIMATE = "payload_estimator: estimate"
DEPTH = 100  # of the queues


class DemoMonitor(Node):
    """Subscribes to the demo's topics, and keeps what comes while `receive` runs.

    joint_states: all samples.
    estimates: payload and covariance of one stamp, in the order in which they came.
    changes: (stamp, kind) of what was detected.
    diagnostics: words and values of each status, by its name.
    """

    def __init__(self) -> None:
        super().__init__("demo_monitor")
        self.joint_states: list[JointStateSample] = []
        self.estimates: list[PayloadEstimate] = []
        self.changes: list[tuple[float, str]] = []
        self.diagnostics: dict[str, tuple[str, dict[str, str]]] = {}
        self._halves: dict[int, dict[str, FloatArray]] = {}  # by stamp, ns: what has come of an estimate
        self.create_subscription(JointState, "joint_states", self._on_joint_state, INPUT_QOS)
        self.create_subscription(InertiaStamped, "payload_estimator/payload", self._on_payload, DEPTH)
        self.create_subscription(Image, "payload_estimator/payload_covariance_stamped", self._on_covariance, DEPTH)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, DEPTH)
        self._served = make_executor()
        self._served.add_node(self)

    def receive(self, seconds: float) -> None:
        """Take what comes within this time."""
        self._served.spin_until_future_complete(Future(), timeout_sec=seconds)

    def _on_joint_state(self, message: JointState) -> None:
        rows = np.array(message.position), np.array(message.velocity), np.array(message.effort)
        stamp, names = message.header.stamp, tuple(message.name)
        self.joint_states.append(JointStateSample(conversions.seconds(stamp), names, *rows, nanoseconds(stamp)))

    def _on_payload(self, message: InertiaStamped) -> None:
        self._complete(message, vector=conversions.body_from_message(message).vector)

    def _on_covariance(self, message: Image) -> None:
        self._complete(message, covariance=np.frombuffer(message.data).reshape(message.height, message.width))

    def _complete(self, message: InertiaStamped | Image, **half: FloatArray) -> None:
        """Both halves of an estimate come in any order."""
        stamp = nanoseconds(message.header.stamp)
        both = self._halves[stamp] = self._halves.get(stamp, {}) | half
        if len(both) == 2:
            _, values = self.diagnostics.get(ESTIMATE, ("", {}))
            known = np.array([flag == "1" for flag in values.get("identifiable", "0" * 10)])
            del self._halves[stamp]
            vector, covariance, status = both["vector"], both["covariance"], values.get("status", "")
            self.estimates.append(PayloadEstimate(stamp / BILLION, vector, covariance, known, status))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self.diagnostics[status.name] = status.message, values
            if values.get("last_change"):
                change = float(values["last_change_stamp"]), values["last_change"]
                if change not in self.changes:
                    self.changes.append(change)
