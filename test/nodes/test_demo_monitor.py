# SPDX-License-Identifier: Apache-2.0
"""The demo's subscriber: messages reach the command as values."""

from __future__ import annotations

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from sensor_msgs.msg import Image

from nodes.probe import Probe
from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.cli.demo import CONTACT, Topics
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.demo_monitor import DemoMonitor

BODY = InertialParameters(1.02, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))


def test_messages_reach_the_topics(probe: Probe) -> None:
    topics = Topics()
    monitor = DemoMonitor(topics, with_wrench=True)
    stamp, wrench = Time(sec=1_700_000_000, nanosec=123_456_789), np.array([1.0, -2.0, 3.0, -0.4, 0.5, -0.6])
    covariance = np.arange(100.0).reshape(10, 10) + np.arange(100.0).reshape(10, 10).T + 1.0
    sent = {
        "/panda_dynamics/contact_wrench": conversions.wrench_message(stamp, "panda_link0", wrench),
        "/payload_estimator/payload": conversions.inertia_message(stamp, "panda_link8", BODY),
        "/payload_estimator/payload_covariance_stamped": conversions.matrix_image(stamp, "panda_link8", covariance),
    }
    types = dict(zip(sent, (WrenchStamped, InertiaStamped, Image), strict=True))
    publishers = {topic: probe.publisher(kind, topic) for topic, kind in types.items()}

    def complete() -> bool:
        for topic, message in sent.items():
            publishers[topic].publish(message)
        rclpy.spin_once(monitor, timeout_sec=0.0)
        return topics.wrench is not None and len(topics.estimates) > 0

    probe.until(complete, "the monitor to receive wrench, payload and covariance")
    np.testing.assert_array_equal(topics.wrench, wrench)
    np.testing.assert_allclose(topics.estimates[0].payload.com, BODY.com, rtol=1e-12)
    np.testing.assert_array_equal(topics.estimates[0].covariance, covariance)
    for link in ("", "5", "6"):  # none, then one that moves on
        values: dict[str, object] = {"link": link, "since": "103.5" if link else "", "until": ""}
        status = conversions.status_message(DiagnosticStatus.OK, CONTACT, "", values, "panda")
        monitor._on_diagnostics(DiagnosticArray(status=[status]))
    assert topics.contacts == {103.5: "6"}
    monitor.destroy_node()
