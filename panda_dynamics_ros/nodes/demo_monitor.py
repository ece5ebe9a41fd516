# SPDX-License-Identifier: Apache-2.0
"""Subscribes to what the demo's nodes publish, as any other ROS program would, and hands it to `cli.demo.Topics`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image, JointState

from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import INPUT_QOS
from panda_dynamics_ros.nodes.runner import make_executor, spin
from panda_dynamics_ros.recordings.bags import JointStateSample

LATCHED = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@contextmanager
def monitoring(topics: Any, with_wrench: bool) -> Iterator[None]:
    """Within, a node in a thread of its own fills the topics."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = make_executor()
    executor.add_node(DemoMonitor(topics, with_wrench))
    finished = threading.Event()
    thread = threading.Thread(target=spin, args=(executor, finished.is_set), daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join(timeout=5.0)
        rclpy.try_shutdown()


class DemoMonitor(Node):
    """Subscribes to the demo's topics; to a thousand wrenches a second only if asked to."""

    def __init__(self, topics: Any, with_wrench: bool = False) -> None:
        super().__init__("demo_monitor")
        self._topics = topics
        self.create_subscription(JointState, "joint_states", self._on_joint_state, INPUT_QOS)
        self.create_subscription(InertiaStamped, "simulated_panda/payload_truth", self._on_truth, LATCHED)
        self.create_subscription(InertiaStamped, "payload_estimator/payload", self._on_payload, RELIABLE)
        covariance = "payload_estimator/payload_covariance_stamped"
        self.create_subscription(Image, covariance, self._on_covariance, RELIABLE)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)
        if with_wrench:
            self.create_subscription(WrenchStamped, "panda_dynamics/contact_wrench", self._on_wrench, LATEST)

    def _on_joint_state(self, message: JointState) -> None:
        rows = np.array(message.position), np.array(message.velocity), np.array(message.effort)
        nanoseconds = conversions.nanoseconds(message.header.stamp)
        stamp = conversions.seconds(message.header.stamp)
        self._topics.joint_states.append(JointStateSample(stamp, tuple(message.name), *rows, nanoseconds))

    def _on_truth(self, message: InertiaStamped) -> None:
        self._topics.truth.append((conversions.seconds(message.header.stamp), conversions.body_from_message(message)))

    def _on_payload(self, message: InertiaStamped) -> None:
        body = conversions.body_from_message(message)
        self._topics.add_payload(conversions.nanoseconds(message.header.stamp), body)

    def _on_covariance(self, message: Image) -> None:
        matrix = conversions.matrix_from_image(message)
        self._topics.add_payload(conversions.nanoseconds(message.header.stamp), matrix)

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._topics.wrench = conversions.wrench_from_message(message)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._topics.set_status(status.name, status.message, {pair.key: pair.value for pair in status.values})
