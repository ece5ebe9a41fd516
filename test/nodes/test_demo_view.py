# SPDX-License-Identifier: Apache-2.0
"""What the demo shows in a live view while messages arrive."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped

import panda_dynamics_ros as pdr
from nodes.probe import Probe
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.demo_monitor import DemoMonitor, Recording
from panda_dynamics_ros.nodes.demo_report import CONTACT, ESTIMATE, INPUT, show
from panda_dynamics_ros.reporting.web_view import WebView

viser = pytest.importorskip("viser", reason="the live view needs viser")

# As the simulated Panda names its joints, fingers first.
NAMES = ("panda_finger_joint1", *(f"panda_joint{i + 1}" for i in range(7)))
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])


@pytest.fixture
def recording() -> Recording:
    """What a monitor has kept four seconds after the start, and one after the pick."""
    body = pdr.InertialParameters(1.02, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
    zeros, torques = np.zeros(8), np.ones(8)
    return Recording(
        joint_states=[(100.0 + k, NAMES, np.array([0.02, *Q + 0.1 * k]), zeros, torques) for k in range(5)],
        truth=[(100.0, pdr.InertialParameters.zero()), (103.0, body)],
        payload=[(103.9, body)],
        covariance=[np.diag([4e-4, *[1e-6] * 9])],
        diagnostics={INPUT: ("1000 Hz", {}), ESTIMATE: ("estimating", {"identifiable": "1" * 10})},
        changes=[(103.05, "pick")],
        contacts={102.5: "5"},
    )


def test_the_latest_of_the_topics_is_shown(recording: Recording, panda: pdr.RobotModel) -> None:
    with WebView(panda, "demo", 18430) as view:
        show(recording, view)
        nodes = view._server.scene._handle_from_node_name
        np.testing.assert_allclose(nodes["/flange"].position, panda.pose(Q + 0.4)[:3, 3], atol=1e-6)
        assert "/flange/payload/box" in nodes
        words = view._panel._words.content
    for expected in ("1.020", "estimating", "truly 1.020 kg", "1000 Hz", "4.0 s"):
        assert expected in words
    assert words.index("contact on link 5") < words.index("picked up") < words.index("detected pick")


@pytest.mark.parametrize("until", ["", "104.200000"])
def test_a_wrench_is_shown_while_a_contact_lasts(until: str, recording: Recording, panda: pdr.RobotModel) -> None:
    """As in RViz: at other times it is what the model does not explain."""
    recording.wrench = np.array([0.0, 25.0, 0.0, 0.0, 0.0, 0.0])
    recording.diagnostics[CONTACT] = ("", {"link": "6", "since": "103.900000", "until": until})
    with WebView(panda, "demo", 18430) as view:
        show(recording, view)
        nodes = view._server.scene._handle_from_node_name
        assert ("/base/contact/force" in nodes) == ("touched at link 6" in view._panel._words.content) == (not until)
        if not until:  # 25 N at 8 mm/N, from the tail to the flange
            tail = panda.pose(Q + 0.4)[:3, 3] - [0.0, 0.2, 0.0]
            np.testing.assert_allclose(nodes["/base/contact/force"].position, tail, atol=1e-6)
            assert nodes["/labels/contact/size"].text == "25 N"


def test_nothing_is_shown_before_the_first_estimate(recording: Recording, panda: pdr.RobotModel) -> None:
    recording.covariance.clear()
    with WebView(panda, "demo", 18430) as view:
        show(recording, view)
        assert "/flange" not in view._server.scene._handle_from_node_name


def test_the_monitor_keeps_wrench_and_contacts(probe: Probe) -> None:
    monitor = DemoMonitor(with_wrench=True)
    publisher = probe.publisher(WrenchStamped, "/panda_dynamics/contact_wrench")
    wrench = np.array([1.0, -2.0, 3.0, -0.4, 0.5, -0.6])
    message = conversions.wrench_message(Time(), "panda_link0", wrench)

    def heard() -> bool:
        publisher.publish(message)
        rclpy.spin_once(monitor, timeout_sec=0.0)
        return monitor.recording.wrench is not None

    probe.until(heard, "the monitor to hear a wrench")
    np.testing.assert_array_equal(monitor.recording.wrench, wrench)
    for link in ("", "5", "6"):  # none, then one that moves on
        values: dict[str, object] = {"link": link, "since": "103.5" if link else "", "until": ""}
        status = conversions.status_message(DiagnosticStatus.OK, CONTACT, "", values)
        monitor._on_diagnostics(DiagnosticArray(status=[status]))
    assert monitor.recording.contacts == {103.5: "6"}
    monitor.destroy_node()
