# SPDX-License-Identifier: Apache-2.0
"""Listens to what the demo's nodes publish, as any other ROS program would, and keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.topics import INPUT_QOS
from panda_dynamics_ros.robot import InertialParameters

LATCHED = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class Recording:
    """What came over the topics: (stamp, body) of truth and estimate, covariances, raw joint states, last wrench."""

    joint_states: list[tuple[float, tuple[str, ...], FloatArray, FloatArray, FloatArray]] = field(default_factory=list)
    truth: list[tuple[float, InertialParameters]] = field(default_factory=list)
    payload: list[tuple[float, InertialParameters]] = field(default_factory=list)
    covariance: list[FloatArray] = field(default_factory=list)
    diagnostics: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    changes: list[tuple[float, str]] = field(default_factory=list)
    wrench: FloatArray | None = None
    contacts: dict[float, str] = field(default_factory=dict)  # stamp of the beginning: link


class DemoMonitor(Node):
    """Subscribes to the demo's topics and fills a `Recording`; to a thousand wrenches a second only if asked to."""

    def __init__(self, with_wrench: bool = False) -> None:
        super().__init__("demo_monitor")
        self.recording = Recording()
        self.create_subscription(JointState, "joint_states", self._on_joint_state, INPUT_QOS)
        self.create_subscription(InertiaStamped, "simulated_panda/payload_truth", self._on_truth, LATCHED)
        self.create_subscription(InertiaStamped, "payload_estimator/payload", self._on_payload, RELIABLE)
        self.create_subscription(
            Float64MultiArray, "payload_estimator/payload_covariance", self._on_covariance, RELIABLE
        )
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)
        if with_wrench:
            self.create_subscription(WrenchStamped, "panda_dynamics/contact_wrench", self._on_wrench, LATEST)

    def _on_joint_state(self, message: JointState) -> None:
        stamp = conversions.seconds(message.header.stamp)
        arrays = (np.array(message.position), np.array(message.velocity), np.array(message.effort))
        self.recording.joint_states.append((stamp, tuple(message.name), *arrays))

    def _on_truth(self, message: InertiaStamped) -> None:
        stamp = conversions.seconds(message.header.stamp)
        self.recording.truth.append((stamp, conversions.body_from_message(message)))

    def _on_payload(self, message: InertiaStamped) -> None:
        stamp = conversions.seconds(message.header.stamp)
        self.recording.payload.append((stamp, conversions.body_from_message(message)))

    def _on_covariance(self, message: Float64MultiArray) -> None:
        # The estimator publishes the covariance right after the payload that it belongs to.
        if len(self.recording.covariance) < len(self.recording.payload):
            self.recording.covariance.append(np.array(message.data).reshape(10, 10))

    def _on_wrench(self, message: WrenchStamped) -> None:
        self.recording.wrench = conversions.wrench_from_message(message)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self.recording.diagnostics[status.name] = (status.message, values)
            self._note_change(values)
            if values.get("since"):
                self.recording.contacts[float(values["since"])] = values["link"]

    def _note_change(self, values: dict[str, str]) -> None:
        if not values.get("last_change"):
            return
        change = (float(values["last_change_stamp"]), values["last_change"])
        if change not in self.recording.changes:
            self.recording.changes.append(change)
