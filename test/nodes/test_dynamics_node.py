# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics`: what it publishes is what the library says about the same sample."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import panda_dynamics_ros as pdr
from nodes.probe import Probe, values_of
from nodes.robot_stream import SHUFFLED, Script, feed, greet, nanoseconds_of, stamp_of
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes import joint_state_input
from panda_dynamics_ros.nodes.dynamics import DynamicsNode
from panda_dynamics_ros.nodes.suite import make_nodes

# A tool turned by 45 degrees about the flange's z, 10 cm out: as F_T_EE of the Franka Hand, column-major.
HALF = float(np.sqrt(0.5))
F_T_EE = [HALF, -HALF, 0.0, 0.0, HALF, HALF, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.1034, 1.0]
SAMPLES, MORE = 1000, 200
EXTERNAL = np.array([3.0, -2.0, 1.0, -4.0, 0.5, 0.8, -0.3])  # N m
# Both sides evaluate the same kernel on the same doubles.
EXACT = 1e-12


class Listener:
    """Everything that the node publishes, by topic."""

    def __init__(self, probe: Probe, node: str) -> None:
        types: dict[str, type] = dict.fromkeys(("gravity_torques", "coriolis_torques", "external_torques"), JointState)
        types |= {"current_pose": PoseStamped, "o_t_ee": Float64MultiArray}
        self.got: dict[str, list[Any]] = {topic: probe.listen(kind, f"{node}/{topic}") for topic, kind in types.items()}

    def begin(self, probe: Probe, publisher: Any, message: JointState, last: JointState) -> None:
        """Make sure that all topics are heard, and forget what was. `last` has another pose than `message`."""
        greet(probe, publisher, message, lambda: all(self.got.values()))
        last.header.stamp = stamp_of(-1_000_000_000)
        feed(probe, publisher, [last], self.answered)  # so those to the last greetings have come, too
        for messages in self.got.values():
            messages.clear()

    def answered(self, sample: JointState) -> bool:
        """Whether the last message of each topic belongs to the sample, whose pose differs from the one before."""
        if not all(self.got.values()):
            return False
        *stamped, o_t_ee = (messages[-1] for messages in self.got.values())
        has_come = all(message.header.stamp == sample.header.stamp for message in stamped)
        return has_come and bool(o_t_ee.data[12] == stamped[-1].pose.position.x)


@pytest.fixture(scope="module")
def tool(panda):
    return panda.with_end_effector(pdr.pose.from_column_major(F_T_EE))


@pytest.fixture(scope="module")
def script(panda):
    """A motion under constant external torques, without friction, which has a memory."""
    script = Script(pdr.load_robot("panda", friction="none"), 0.001 * (SAMPLES + MORE))
    script.tau -= EXTERNAL  # tau + tau_ext is what moves the arm
    return script


@pytest.fixture(scope="module")
def publisher(probe, nodes):
    """Joint states for a node with an end effector of its own."""
    nodes.start("dynamics", friction="none", F_T_EE=F_T_EE)
    return probe.publisher(JointState, f"{nodes.namespace}/joint_states")


@pytest.fixture(scope="module")
def listener(probe, nodes, publisher, script):
    listener = Listener(probe, f"{nodes.namespace}/panda_dynamics")
    listener.begin(probe, publisher, script.message(0), script.message(SAMPLES))
    return listener


@pytest.fixture(scope="module")
def got(probe, publisher, listener, script):
    """All answers to the script's beginning, whose samples come shuffled, with fingers in between."""
    feed(probe, publisher, [script.message(k, SHUFFLED) for k in range(SAMPLES)], listener.answered)
    return {topic: list(messages) for topic, messages in listener.got.items()}


def test_every_sample_is_answered_with_its_own_stamp(got, script):
    for topic in ("gravity_torques", "coriolis_torques", "external_torques", "current_pose"):
        stamps = [nanoseconds_of(message.header.stamp) for message in got[topic]]
        assert stamps == [script.stamp(k) for k in range(SAMPLES)], topic
    assert len(got["o_t_ee"]) == SAMPLES


def test_external_torques_are_those_that_act(got):
    """After .5 s a filter of 10 Hz has come within e^-31; what is left is the filter's integration over 1 ms."""
    external = np.array([message.effort for message in got["external_torques"]])
    np.testing.assert_allclose(external[500:], np.tile(EXTERNAL, (500, 1)), rtol=0.0, atol=1e-3)


def test_poses_are_the_librarys_with_the_end_effector_asked_for(got, script, tool):
    T_base_ee = tool.pose(script.motion.q[:SAMPLES], "ee")
    # Reading column by column: the transpose of the rows.
    o_t_ee = np.array([message.data for message in got["o_t_ee"]])
    np.testing.assert_allclose(o_t_ee, np.swapaxes(T_base_ee, 1, 2).reshape(-1, 16), rtol=0.0, atol=EXACT)
    poses = [message.pose for message in got["current_pose"]]
    positions = np.array([[p.position.x, p.position.y, p.position.z] for p in poses])
    np.testing.assert_allclose(positions, T_base_ee[:, :3, 3], rtol=0.0, atol=EXACT)
    quaternions = [[p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w] for p in poses]
    np.testing.assert_allclose(pdr.pose.quaternion_to_matrix(quaternions), T_base_ee[:, :3, :3], rtol=0.0, atol=EXACT)


def test_the_stream_is_accounted_for(got, probe, nodes, publisher, listener, script):
    name = f"{nodes.namespace[1:]}/panda_dynamics: input"
    before = values_of(probe.diagnostic(name))
    feed(probe, publisher, [script.message(k, SHUFFLED) for k in range(SAMPLES, SAMPLES + MORE)], listener.answered)
    expected = str(int(before["received"]) + MORE)
    after = values_of(probe.diagnostic(name, lambda values: values["received"] == expected))
    assert {after[key] for key in ("out_of_order", "rejected")} == {"0"}
    assert after["lost"] == before["lost"]
    assert float(after["rate_hz"]) == pytest.approx(1000.0, abs=0.5)  # stamps are doubles, 2.4e-7 s apart


def test_a_pause_of_a_second_loses_no_sample(dynamics, probe, script, monkeypatch):
    """They wait in the queue of a node whose executor has no turn, and one turn takes them all, however long it is."""
    monkeypatch.setattr(joint_state_input, "TURN", math.inf)
    publisher = probe.publisher(JointState, "joint_states")
    for k in range(1, SAMPLES):
        publisher.publish(script.message(k))
    answers(dynamics, script)
    probe.node.destroy_publisher(publisher)  # of a topic that other tests listen to
    seen = dynamics.samples.monitor
    assert (seen.received, seen.lost, seen.rejected.total()) == (SAMPLES, 0, 0)


@pytest.fixture
def steady(monkeypatch):
    """The steady clock of the input, s, set by hand; to sleep takes no time."""
    clock: Any = SimpleNamespace(time=100.0, monotonic=lambda: clock.time, sleep=lambda _: None)
    monkeypatch.setattr(joint_state_input, "time", clock)
    return clock


def test_a_busy_machine_is_no_silent_robot(dynamics, probe, script, steady, monkeypatch):
    """Samples that are taken together take longer than `stale_timeout_s`, as they do where the processor is shared."""

    def answer(_: Any) -> None:
        steady.time += 0.001

    monkeypatch.setattr(dynamics.samples, "answer", answer)
    dynamics.set_parameters([Parameter("stale_timeout_s", value=0.01)])
    publisher = probe.publisher(JointState, "joint_states")
    for k in range(1, 50):
        publisher.publish(script.message(k))
    answers(dynamics, script)
    probe.node.destroy_publisher(publisher)
    assert dynamics.samples.monitor.received == 50
    assert dynamics.samples.silence < 0.002


@pytest.mark.parametrize("name", ["dynamics", "estimator"])
def test_timers_have_their_turn_while_the_estimators_are_behind(name, probe, script, steady, monkeypatch, request):
    """By time, not by samples; until they have had it, what the executor still has is taken, and no more."""
    samples, blocks = request.getfixturevalue(name).samples, []

    def estimate(block: list[Any]) -> None:
        blocks.append(len(block))
        steady.time += 1.0

    monkeypatch.setattr(samples, "estimate", estimate)
    monkeypatch.setattr(samples, "is_estimating", lambda: True)
    samples._served = steady.time
    publisher = probe.publisher(JointState, "joint_states")
    for k in range(1, 100):
        publisher.publish(script.message(k))
    for _ in range(3):
        samples._on_message(serialize_message(script.message(0)))
        assert blocks == [joint_state_input.BLOCK]
    samples._on_timer()
    assert blocks == [joint_state_input.BLOCK] * 2
    assert samples.monitor.received == 102
    probe.node.destroy_publisher(publisher)


def two_armed(message: JointState) -> JointState:
    """The sample as the left arm's, beside a right arm in another pose."""
    message.name = [f"{side}_fr3_joint{i + 1}" for side in ("right", "left") for i in range(7)]
    for field in ("position", "velocity", "effort"):
        values = list(getattr(message, field))
        setattr(message, field, [value + 1.0 for value in values] + values)
    return message


def test_any_publisher_is_heard_and_any_prefix_found(probe, fresh, script, panda):
    topic = f"{fresh.namespace}/best_effort/states"
    fresh.start("dynamics", "-r", f"joint_states:={topic}", arm_prefix="left")
    publisher = probe.publisher(JointState, topic, qos=QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT))
    listener = Listener(probe, f"{fresh.namespace}/panda_dynamics")
    listener.begin(probe, publisher, *(two_armed(script.message(k)) for k in (0, SAMPLES)))
    feed(probe, publisher, [two_armed(script.message(k)) for k in range(100)], listener.answered)
    assert listener.got["current_pose"][-1].header.frame_id == "left_fr3_link0"
    last = listener.got["gravity_torques"][-1]
    assert list(last.name) == [f"left_fr3_joint{i + 1}" for i in range(7)]
    np.testing.assert_allclose(last.effort, panda.gravity_torques(script.motion.q[99]), rtol=0.0, atol=EXACT)
    said = probe.diagnostic(f"{fresh.namespace[1:]}/panda_dynamics: input", lambda values: values["received"] != "0")
    assert said.hardware_id == f"{fresh.namespace[1:]}/left_fr3"  # each arm has one of its own


@pytest.mark.parametrize("make", [make_nodes, lambda: [DynamicsNode()]], ids=["suite", "alone"])
def test_gravity_and_pose_do_not_wait_for_the_estimators(make, probe, script, monkeypatch):
    """A payload that is due takes longer than all that a controller asks for: here it takes for ever."""
    nodes = make()
    node: DynamicsNode = nodes[0]
    node.samples._served = math.inf  # no executor serves its timers
    model, later = (
        {
            topic: probe.listen(JointState if "torques" in topic else PoseStamped, f"panda_dynamics/{topic}")
            for topic in topics
        }
        for topics in (("gravity_torques", "coriolis_torques", "current_pose"), ("external_torques",))
    )
    try:
        probe.until(lambda: node.count_subscribers("panda_dynamics/external_torques"), "the listener")
        monkeypatch.setattr(node.monitor, "update_rows", never)
        probe.until(lambda: answers(node, script) and all(model.values()), "the model's answers")
        probe.spin(0.2)
        assert not any(later.values())
        assert node.samples.monitor.rejected
    finally:
        for each in nodes:
            each.destroy_node()


def test_gravity_is_answered_while_kernels_are_compiled(dynamics, script, monkeypatch):
    """After an installation: the estimators get the samples that come once their kernels are there."""
    samples = dynamics.samples
    answered: list[Any] = []
    estimated: list[Any] = []
    monkeypatch.setattr(samples, "answer", answered.append)
    monkeypatch.setattr(samples, "estimate", estimated.extend)
    for compiled in (False, True):
        monkeypatch.setattr(samples, "is_estimating", lambda compiled=compiled: compiled)
        answers(dynamics, script)
        assert len(answered) == 1 + compiled
        assert estimated == answered[1:]
        assert ("no estimates yet" in samples.diagnostic().message) is not compiled


def never(*sample: Any, payload: bool) -> None:
    raise ArgumentError("sample: this one is not answered")


def answers(node: DynamicsNode, script: Script) -> bool:
    """Hand a sample to the node as its executor would."""
    node.samples._on_message(serialize_message(script.message(0)))
    return True
