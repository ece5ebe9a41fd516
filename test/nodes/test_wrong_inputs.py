# SPDX-License-Identifier: Apache-2.0
"""Node `payload_estimator` on wrong input: the sentence of the library, as a warning beside the mass."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from std_srvs.srv import Trigger
from wrong_inputs import REFUSED, WRONG, Recording, recording

import panda_dynamics_ros as pdr
from nodes.payload_stream import PayloadStream
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import joint_state

RATE, SECONDS, BURST = 200.0, 4.0, 20
APART = 10**14  # ns from one recording to the next: the longest takes 4000 s


@pytest.fixture(scope="module")
def stream(probe: Probe, nodes: Nodes) -> PayloadStream:
    return PayloadStream(probe, nodes)


@pytest.fixture(scope="module")
def good(panda: pdr.RobotModel) -> Recording:
    return recording(panda, SECONDS, RATE)


def said(stream: PayloadStream, probe: Probe, r: Recording, number: int, words: str) -> DiagnosticStatus:
    """The diagnostics after a recording, once `words` are in their problem."""
    assert probe.call(Trigger, f"{stream.node}/reset").success
    for k in range(len(r.tau)):
        stamp = number * APART + round(1e9 * r.motion.stamp[k])
        stream.publisher.publish(joint_state(stamp, r.motion.q[k], r.motion.dq[k], r.tau[k]))
        if k % BURST == BURST - 1:
            probe.spin(0.01)
    name = f"{stream.node[1:]}: estimate"
    return probe.diagnostic(name, lambda got: words in got["problem"] if words else not got["problem"])


@pytest.mark.parametrize(("number", "name"), enumerate(["sign", "milliseconds", "degrees", "two robots"]))
def test_wrong_input_is_a_warning(number: int, name: str, stream: PayloadStream, probe: Probe, good: Recording) -> None:
    change, words = (WRONG | REFUSED)[name][:2]
    status = said(stream, probe, change(good), number + 1, words)
    assert status.level == DiagnosticStatus.WARN
    assert words in status.message
    assert " kg; " in status.message


def test_a_good_recording_is_none(stream: PayloadStream, probe: Probe, good: Recording) -> None:
    status = said(stream, probe, good, 5, "")
    assert status.level == DiagnosticStatus.OK
