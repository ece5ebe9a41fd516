# SPDX-License-Identifier: Apache-2.0
"""What the demo collects, whatever came or got lost between, and what it shows of it while messages arrive."""

from __future__ import annotations

import numpy as np
import pytest

from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.cli.demo import CONTACT, ESTIMATE, INPUT, Topics, show
from panda_dynamics_ros.recordings import JointStateSample

BODY = InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))


def body(mass: float) -> InertialParameters:
    return InertialParameters(mass, BODY.com, BODY.inertia)


def test_payload_and_covariance_are_paired_by_stamp() -> None:
    """Number 2's covariance and number 4's payload are lost, and number 5's covariance comes before its payload."""
    topics = Topics()
    messages = [("body", k) for k in (1, 2, 3)] + [("covariance", k) for k in (1, 3, 4, 5)] + [("body", 5)]
    for kind, k in messages:
        if kind == "body":
            topics.add_payload(20_000_000 * k, body(k))
        else:
            topics.add_payload(20_000_000 * k, k * np.eye(10))
    estimates = topics.estimates
    assert [round(estimate.stamp / 0.02) for estimate in estimates] == [1, 3, 5]
    assert [estimate.mass for estimate in estimates] == [1.0, 3.0, 5.0]
    assert [estimate.covariance[0, 0] for estimate in estimates] == [1.0, 3.0, 5.0]


def test_an_estimate_has_the_status_of_the_diagnostics() -> None:
    topics = Topics()
    topics.set_status(ESTIMATE, "estimating", {"identifiable": "1100000001"})
    topics.add_payload(0, BODY)
    topics.add_payload(0, np.eye(10))
    (estimate,) = topics.estimates
    assert estimate.status == "estimating"
    assert np.flatnonzero(estimate.identifiable).tolist() == [0, 1, 9]


@pytest.mark.parametrize(("ended_by", "kept"), [("released", True), ("steady", True), ("payload", False)])
def test_a_pick_that_was_taken_for_a_contact_is_none(ended_by: str, kept: bool) -> None:
    topics = Topics()
    topics.set_status(CONTACT, "", {"since": "3.5", "link": "7", "until": "", "ended_by": ""})
    assert topics.contacts == {3.5: "7"}
    topics.set_status(CONTACT, "", {"since": "3.5", "link": "6", "until": "3.9", "ended_by": ended_by})
    assert topics.contacts == ({3.5: "6"} if kept else {})


# As the simulated Panda names its joints, fingers first.
NAMES = ("panda_finger_joint1", *(f"panda_joint{i + 1}" for i in range(7)))
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])


@pytest.mark.parametrize("until", ["", "104.200000"])
def test_the_latest_of_the_topics_is_shown(until: str, panda: RobotModel) -> None:
    """Four seconds after the start, one after the pick; the wrench while a contact lasts, as in RViz."""
    pytest.importorskip("viser", reason="the live view needs viser")
    from panda_dynamics_ros.reporting.web_view import WebView

    topics = Topics()
    zeros, torques, carried = np.zeros(8), np.ones(8), body(1.02)
    topics.joint_states += [
        JointStateSample(100.0 + k, NAMES, np.array([0.02, *Q + 0.1 * k]), zeros, torques) for k in range(5)
    ]
    topics.truth += [(100.0, InertialParameters.zero()), (103.0, carried)]
    topics.wrench = np.array([0.0, 25.0, 0.0, 0.0, 0.0, 0.0])
    topics.set_status(INPUT, "1000 Hz", {"last_change": "pick", "last_change_stamp": "103.05"})
    topics.set_status(CONTACT, "", {"link": "6", "since": "102.500000", "until": until})
    with WebView(panda, "demo", 18430) as view:
        show(topics, view)  # before the first estimate
        nodes = view._server.scene._handle_from_node_name
        assert "/flange" not in nodes
        topics.add_payload(103_900_000_000, carried)
        topics.add_payload(103_900_000_000, np.diag([4e-4, *[1e-6] * 9]))
        show(topics, view)
        np.testing.assert_allclose(nodes["/flange"].position, panda.pose(Q + 0.4)[:3, 3], atol=1e-6)
        words = view._words.content
        for expected in ("1.020", "truly 1.020 kg", "1000 Hz", "4.0 s"):
            assert expected in words
        assert words.index("contact on link 6") < words.index("picked up") < words.index("detected pick")
        assert ("/base/contact/force" in nodes) == ("touched at link 6" in words) == (not until)
        if not until:  # 25 N at 15 mm/N; the arrow ends 5 cm before the flange
            tail = panda.pose(Q + 0.4)[:3, 3] - [0.0, 0.375 + 0.05, 0.0]
            np.testing.assert_allclose(nodes["/base/contact/force"].position, tail, atol=1e-6)
            assert nodes["/labels/contact/size"].text == "25 N"
