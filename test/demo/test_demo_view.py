# SPDX-License-Identifier: Apache-2.0
"""What the demo shows in a live view while messages arrive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.demo.recording import CONTACT, INPUT, Recording, Status
from panda_dynamics_ros.demo.report import show
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.recordings import JointStateSample
from panda_dynamics_ros.reporting.web_view import WebView

viser = pytest.importorskip("viser", reason="the live view needs viser")

# As the simulated Panda names its joints, fingers first.
NAMES = ("panda_finger_joint1", *(f"panda_joint{i + 1}" for i in range(7)))
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])


@pytest.fixture
def recording() -> Recording:
    """What a recorder has collected four seconds after the start, and one after the pick."""
    body = pdr.InertialParameters(1.02, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
    zeros, torques = np.zeros(8), np.ones(8)
    covariance = np.diag([4e-4, *[1e-6] * 9])
    return Recording(
        joint_states=tuple(
            JointStateSample(100.0 + k, NAMES, np.array([0.02, *Q + 0.1 * k]), zeros, torques) for k in range(5)
        ),
        truth=((100.0, pdr.InertialParameters.zero()), (103.0, body)),
        estimates=(PayloadEstimate(103.9, body.vector, covariance, np.ones(10, dtype=bool), "estimating"),),
        diagnostics={INPUT: Status("1000 Hz")},
        changes=((103.05, "pick"),),
        contacts=((102.5, "5"),),
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
    contact = Status("", {"link": "6", "since": "103.900000", "until": until})
    recording = replace(
        recording,
        wrench=np.array([0.0, 25.0, 0.0, 0.0, 0.0, 0.0]),
        diagnostics={**recording.diagnostics, CONTACT: contact},
    )
    with WebView(panda, "demo", 18430) as view:
        show(recording, view)
        nodes = view._server.scene._handle_from_node_name
        assert ("/base/contact/force" in nodes) == ("touched at link 6" in view._panel._words.content) == (not until)
        if not until:  # 25 N at 15 mm/N; the arrow ends 5 cm before the flange
            tail = panda.pose(Q + 0.4)[:3, 3] - [0.0, 0.375 + 0.05, 0.0]
            np.testing.assert_allclose(nodes["/base/contact/force"].position, tail, atol=1e-6)
            assert nodes["/labels/contact/size"].text == "25 N"


def test_nothing_is_shown_before_the_first_estimate(recording: Recording, panda: pdr.RobotModel) -> None:
    with WebView(panda, "demo", 18430) as view:
        show(replace(recording, estimates=()), view)
        assert "/flange" not in view._server.scene._handle_from_node_name
