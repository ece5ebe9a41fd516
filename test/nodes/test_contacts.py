# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics`: the wrench on the flange, contacts in words and for programs, and a payload that is known."""

from collections.abc import Callable

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from motion import PAYLOAD
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from nodes.probe import Probe, values_of
from nodes.processes import Nodes
from nodes.robot_stream import EPOCH, LATCHED, Script, feed, greet, nanoseconds_of
from panda_dynamics_ros import RobotModel, load_robot
from panda_dynamics_ros.nodes.conversions import inertia_message

WRENCH = np.array([25.0, -15.0, 20.0, 0.5, -1.0, 0.5])  # N, N m: on the flange, base axes
BEGIN, END, SAMPLES = 700, 1000, 1600


class Stream:
    """A node `dynamics`, what it is fed and what it says."""

    def __init__(self, probe: Probe, nodes: Nodes, **parameters: object) -> None:
        nodes.start("dynamics", friction="none", **parameters)  # which has a memory
        self._probe, self.node = probe, f"{nodes.namespace}/panda_dynamics"
        self.publisher: Publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
        self.wrenches: list[WrenchStamped] = probe.listen(WrenchStamped, f"{self.node}/contact_wrench")
        self.external: list[JointState] = probe.listen(JointState, f"{self.node}/external_torques")
        self.stamped: list[DiagnosticArray] = probe.listen(DiagnosticArray, f"{self.node}/contact_stamped", LATCHED)
        self.of_contacts = probe.listen(WrenchStamped, f"{self.node}/contact_stamped_wrench", LATCHED)
        self.contacts: list[DiagnosticStatus] = probe.listen(DiagnosticStatus, f"{self.node}/contact", LATCHED)

    def feed(self, script: Script, start: int = 0, stop: int | None = None) -> None:
        """The script's samples, each answered."""
        messages = [script.message(k) for k in range(start, len(script) if stop is None else stop)]
        if start == 0:
            first = script.message(0)
            greet(self._probe, self.publisher, first, lambda: self.wrenches and self.external)
            self._probe.until(lambda: self._answered(first), "the answer to the last greeting")
            self.wrenches.clear()
            self.external.clear()
        feed(self._probe, self.publisher, messages, self._answered)

    def _answered(self, sample: JointState) -> bool:
        return all(got and got[-1].header.stamp == sample.header.stamp for got in (self.wrenches, self.external))

    def diagnostic(self, ready: Callable[[dict[str, str]], object] = bool) -> DiagnosticStatus:
        return self._probe.diagnostic(f"{self.node[1:]}: contact", ready)


def pushed(panda: RobotModel, script: Script) -> Script:
    """The script with WRENCH on the flange from BEGIN to END."""
    script.tau[BEGIN:END] -= np.einsum("kij,i->kj", panda.jacobian(script.motion.q[BEGIN:END]), WRENCH)
    return script


@pytest.fixture(scope="module")
def stream(probe, nodes, panda):
    """The node after a push."""
    stream = Stream(probe, nodes)
    stream.feed(pushed(panda, Script(load_robot("panda", friction="none"), 0.001 * SAMPLES)))
    return stream


def test_the_wrench_on_the_flange_is_found(stream):
    """.15 s are nine time constants of the filter of 10 Hz, which is 16 ms late for joint torques that move with q."""
    assert {message.header.frame_id for message in stream.wrenches} == {"panda_link0"}
    assert [nanoseconds_of(m.header.stamp) for m in stream.wrenches] == [1_000_000 * k for k in range(SAMPLES)]
    found = np.array(
        [[getattr(part, axis) for part in (m.wrench.force, m.wrench.torque) for axis in "xyz"] for m in stream.wrenches]
    )
    np.testing.assert_allclose(found[BEGIN + 150 : END], np.tile(WRENCH, (END - BEGIN - 150, 1)), rtol=0.02, atol=0.15)
    np.testing.assert_allclose(found[600:BEGIN], 0.0, atol=0.05)


def test_a_contact_is_said_when_it_begins_and_when_it_ends(stream):
    said = [(status.level, values_of(status)) for status in stream.contacts]
    assert said[0][0] == DiagnosticStatus.OK
    assert said[0][1]["since"] == ""
    (first, *_), (*_, last) = (
        [each for each in said if each[0] == level] for level in (DiagnosticStatus.WARN, DiagnosticStatus.OK)
    )
    assert 0.0 < float(first[1]["since"]) - EPOCH - 0.001 * BEGIN < 0.05
    assert last[1]["link"] == "7"
    assert last[1]["joint"] == "panda_joint7"
    assert last[1]["ended_by"] == "released"
    assert 0.0 < float(last[1]["until"]) - EPOCH - 0.001 * END < 0.4
    assert stream.contacts[-1].message.startswith("no contact; the last, on link 7, ended at")


def test_each_contact_has_a_stamp_and_a_wrench_with_the_same(stream):
    """The torques of a contact are those at the largest test statistic, a short while after its beginning."""
    stamps = [nanoseconds_of(message.header.stamp) for message in stream.stamped]
    assert stamps == [nanoseconds_of(message.header.stamp) for message in stream.of_contacts]
    assert [message.status[0] for message in stream.stamped] == stream.contacts[-len(stamps) :]
    first, last = stream.stamped[0], stream.stamped[-1]
    since, until = values_of(first.status[0])["since"], values_of(last.status[0])["until"]
    assert stamps[0] * 1e-9 == pytest.approx(float(since) - EPOCH, abs=1e-6)
    assert stamps[-1] * 1e-9 == pytest.approx(float(until) - EPOCH, abs=1e-6)
    force = stream.of_contacts[-1].wrench.force
    assert stream.of_contacts[-1].header.frame_id == "panda_link0"
    found = np.array([force.x, force.y, force.z])
    # Along the push, at the size that it has after two filters of some 10 ms.
    assert found @ WRENCH[:3] / np.linalg.norm(found) / np.linalg.norm(WRENCH[:3]) > 0.9
    assert 0.3 < np.linalg.norm(found) / np.linalg.norm(WRENCH[:3]) < 1.2


def test_a_payload_counts_as_external_until_it_is_known(probe, fresh, panda):
    """It is neither a contact when told of, nor an external torque from then on; another frame's is refused."""
    topic = f"{fresh.namespace}/payload"
    stream = Stream(probe, fresh, payload_topic=topic)
    payloads = probe.publisher(InertiaStamped, topic, qos=LATCHED)
    script = Script(load_robot("panda", friction="none"), 1.2, PAYLOAD)
    stream.feed(script, 0, 600)
    assert np.abs(stream.external[-1].effort).max() > 2.0
    payloads.publish(inertia_message(Time(), "panda_hand", PAYLOAD))
    assert "panda_link8" in values_of(stream.diagnostic(lambda values: values["payload_problem"]))["payload_problem"]
    payloads.publish(inertia_message(Time(), "panda_link8", PAYLOAD))
    stream.diagnostic(lambda values: values["payload_kg"] == "1.000" and not values["payload_problem"])
    stream.feed(script, 600)
    # What the filter's integration over 1 ms leaves.
    np.testing.assert_allclose(np.array([message.effort for message in stream.external[600:]]), 0.0, atol=2e-3)
    assert values_of(stream.diagnostic())["contacts"] == "0"
