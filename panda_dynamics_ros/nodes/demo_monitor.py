# SPDX-License-Identifier: Apache-2.0
"""Node `demo_monitor`: keeps what the demo's nodes publish, as any other ROS program could."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image, JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import INPUT_QOS
from panda_dynamics_ros.nodes.runner import make_executor, spin
from panda_dynamics_ros.recordings.bags import JointStateSample
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.stamps import BILLION

ESTIMATE = "payload_estimator: estimate"
LATCHED = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)


class DemoMonitor(Node):
    """Subscribes to the demo's topics. Its lists only grow, so that another thread may read them.

    joint_states: all samples.
    truth: (stamp, body) at the start and at each pick and release, of zero mass for none.
    estimates: payload and covariance of one stamp, in the order in which they came.
    changes: (stamp, kind) of what was detected.
    diagnostics: words and values of each status, by its name.
    """

    def __init__(self) -> None:
        super().__init__("demo_monitor")
        self.joint_states: list[JointStateSample] = []
        self.truth: list[tuple[float, InertialParameters]] = []
        self.estimates: list[PayloadEstimate] = []
        self.changes: list[tuple[float, str]] = []
        self.diagnostics: dict[str, tuple[str, dict[str, str]]] = {}
        self._halves: dict[int, dict[str, FloatArray]] = {}  # by stamp, ns: what has come of an estimate
        estimator = "payload_estimator"
        self.create_subscription(JointState, "joint_states", self._on_joint_state, INPUT_QOS)
        self.create_subscription(InertiaStamped, "simulated_panda/payload_truth", self._on_truth, LATCHED)
        self.create_subscription(InertiaStamped, f"{estimator}/payload", self._on_payload, RELIABLE)
        self.create_subscription(Image, f"{estimator}/payload_covariance_stamped", self._on_covariance, RELIABLE)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)

    def _on_joint_state(self, message: JointState) -> None:
        rows = np.array(message.position), np.array(message.velocity), np.array(message.effort)
        stamp = message.header.stamp
        sample = JointStateSample(
            conversions.seconds(stamp), tuple(message.name), *rows, conversions.nanoseconds(stamp)
        )
        self.joint_states.append(sample)

    def _on_truth(self, message: InertiaStamped) -> None:
        self.truth.append((conversions.seconds(message.header.stamp), conversions.body_from_message(message)))

    def _on_payload(self, message: InertiaStamped) -> None:
        self._complete(message, vector=conversions.body_from_message(message).vector)

    def _on_covariance(self, message: Image) -> None:
        self._complete(message, covariance=np.frombuffer(message.data).reshape(message.height, message.width))

    def _complete(self, message: InertiaStamped | Image, **half: FloatArray) -> None:
        stamp = conversions.nanoseconds(message.header.stamp)
        both = self._halves[stamp] = self._halves.get(stamp, {}) | half
        if len(both) == 2:
            status, values = self.diagnostics.get(ESTIMATE, ("", {}))
            known = np.array([flag == "1" for flag in values.get("identifiable", "0" * 10)])
            del self._halves[stamp]
            estimate = PayloadEstimate(stamp / BILLION, both["vector"], both["covariance"], known, status)
            self.estimates.append(estimate)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self.diagnostics[status.name] = status.message, values
            if values.get("last_change"):
                change = float(values["last_change_stamp"]), values["last_change"]
                if change not in self.changes:
                    self.changes.append(change)


@contextmanager
def monitoring() -> Iterator[DemoMonitor]:
    """Within, the node runs in a thread of its own."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor, monitor = make_executor(), DemoMonitor()
    executor.add_node(monitor)
    finished = threading.Event()
    thread = threading.Thread(target=spin, args=(executor, finished.is_set), daemon=True)
    thread.start()
    try:
        yield monitor
    finally:
        finished.set()
        thread.join(timeout=5.0)
        rclpy.try_shutdown()
