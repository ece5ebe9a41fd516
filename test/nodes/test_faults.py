# SPDX-License-Identifier: Apache-2.0
"""Whatever comes over the topics, harmful or absurd: nodes stay alive, the estimate stays, diagnostics say why."""

import itertools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from motion import PAYLOAD
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from waiting import ran

import panda_dynamics_ros as pdr
from nodes.probe import Probe, Ready, values_of
from nodes.processes import Nodes
from nodes.robot_stream import ARM, LATCHED, PayloadStream, Script, feed, greet, joint_state, nanoseconds_of, shifted
from panda_dynamics_ros.nodes import conversions

INPUTS = ("payload_estimator: input", "panda_dynamics: input")
ESTIMATE = "payload_estimator: estimate"
FAULTY = 30  # samples of a fault: less than the nodes' queues hold
GOOD = 300
LEARNT = 3000

EMPTY: dict[str, Any] = {"name": [], "position": [], "velocity": [], "effort": []}


def replace(message: JointState, fields: Mapping[str, Any]) -> JointState:
    """The message, with other values in these fields."""
    for field, values in fields.items():
        setattr(message, field, values)
    return message


def row(joint: int, value: float) -> list[float]:
    """Values of seven joints, one of which is `value`."""
    return np.where(np.arange(7) == joint, value, 0.1).tolist()


class Bench:
    """Both nodes on one stream of a robot that carries a payload; the script goes on from fault to fault."""

    def __init__(self, probe: Probe, nodes: Nodes, robot: pdr.RobotModel) -> None:
        self.script = Script(robot, 25.0, PAYLOAD)
        self.probe, self.nodes, self.next = probe, nodes, 0
        self.unseen = 0  # good samples since the diagnostics were looked at
        nodes.start("dynamics")
        # A payload with every update, each 20 ms: two bursts of samples are sent before the first is known to be in.
        self.stream = PayloadStream(probe, nodes, publish_period_s=0.001)
        self.stream.fresh = 21_500_000
        self.gravity = probe.listen(JointState, f"{nodes.namespace}/panda_dynamics/gravity_torques")
        self.stream.others_answered = lambda sample: self.gravity[-1].header.stamp == sample.header.stamp
        self.known: dict[str, dict[str, str]] = {}
        self.introduce(*INPUTS)  # the very first message that they see is a bad one
        greet(probe, self.stream.publisher, self.script.message(0), lambda: self.gravity and self.stream.payloads)
        self.advance(LEARNT)
        self.look()

    def introduce(self, *new: str) -> None:
        """Empty messages until both nodes have counted one: a reader may know of a writer later than it of him.

        `new` are the INPUTS of nodes that have just been started.
        """
        message = replace(self.script.message(0), EMPTY)
        before = {part: 0 if part in new else self.count("rejected", part) for part in INPUTS}

        def heard() -> bool:
            self.stream.send([message])
            self.look()
            return all(self.count("rejected", part) > before[part] for part in INPUTS)

        self.probe.until(heard, "both nodes to see an empty message")

    def advance(self, count: int, names: tuple[str, ...] = ARM) -> None:
        """Good samples."""
        self.stream.feed(self.script, self.next, self.next + count, names)
        self.next += count
        self.unseen += count

    def look(self) -> None:
        """Bring `known` up to date: the values of both inputs and of the estimate."""
        self._look(dict.fromkeys((*INPUTS, ESTIMATE), bool))

    def _look(self, ready: Mapping[str, Ready]) -> None:
        space = self.nodes.namespace[1:]
        found = self.probe.diagnostics({f"{space}/{part}": fits for part, fits in ready.items()})
        self.unseen = 0
        self.known = {name.removeprefix(f"{space}/"): values_of(status) for name, status in found.items()}

    def count(self, key: str, part: str = "payload_estimator: input") -> int:
        """One of the counts that were known when last looked at."""
        return int(self.known[part].get(key, "0"))

    def expect(self, key: str, more: int, words: str) -> None:
        """Both nodes have counted so many more under `key`, and say why in one line."""
        ready: dict[str, Ready] = {ESTIMATE: bool}
        for part in INPUTS:
            expected = str(self.count(key, part) + more)
            ready[part] = lambda got, expected=expected: got.get(key) == expected  # type: ignore[misc]
        self._look(ready)
        for part in INPUTS:
            assert words in self.known[part]["latest_problem"]
            assert "\n" not in self.known[part]["latest_problem"]

    def assert_unharmed(self, before: pdr.InertialParameters) -> None:
        """Nodes alive, estimate as before within what a third of a second of good samples teaches (1/5 sigma)."""
        self.advance(GOOD)
        assert sorted(self.nodes.running()) == ["dynamics", "payload_estimator"]
        sigma = float(self.known["payload_estimator: estimate"]["mass_std_kg"])
        assert abs(self.stream.body.mass - before.mass) < 0.2 * sigma
        # m: the CoM's sigma is some centimetres; faults that restart the filters let it come nearer by millimetres.
        np.testing.assert_allclose(self.stream.body.com, before.com, atol=5e-3)
        # And it is right: the torques are exact.
        assert self.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)
        np.testing.assert_allclose(self.stream.body.com, PAYLOAD.com, atol=0.01)


@pytest.fixture(scope="module")
def bench(probe, nodes, panda):
    """Both nodes on a stream that faults are put into, one after the other."""
    return Bench(probe, nodes, panda)


SECOND = 1_000_000_000  # ns
JUMPS = {"hours ahead": 7200 * SECOND, "hours back": -7200 * SECOND, "two seconds ahead": 2 * SECOND}
STORM = 8  # bad messages in one go: with those of two bursts, and the good ones, less than the queues hold (50)


RENAMED = [name.replace("joint4", "elbow") for name in ARM]
# What is replaced in a sample, the reason that counts it, and words of the problem that a person reads.
REJECTED: dict[str, tuple[dict[str, Any], str, str]] = {
    "another joint": ({"name": RENAMED}, "missing joints", "expected panda_joint4"),
    "an empty message": (EMPTY, "missing joints", "no names"),
    "nan position": ({"position": row(2, np.nan)}, "not finite", "nan for panda_joint3"),
    "absurd velocity": ({"velocity": row(0, 1e200)}, "implausible", "1e+200 for panda_joint1"),
    "all-zero effort": ({"effort": [0.0] * 7}, "all-zero effort", "torque sensing is off"),
    "no effort": ({"effort": []}, "no effort", "without effort"),
    "short velocity": ({"velocity": [0.0] * 5}, "lengths disagree", "velocity: expected 7 values"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_unusable_samples_are_left_out_and_counted(name, bench):
    fields, reason, words = REJECTED[name]
    before, received = bench.stream.body, bench.count("received") + bench.unseen
    bench.stream.send([replace(bench.script.message(bench.next + k), fields) for k in range(FAULTY)])
    bench.next += FAULTY
    bench.expect(f"rejected: {reason}", FAULTY, words)
    assert bench.count("received") == received
    bench.assert_unharmed(before)


@pytest.mark.parametrize("step", [0, -5], ids=["duplicated", "backward"])
def test_stamps_that_do_not_advance(step, bench):
    """Their torques are wrong on purpose: they must not count."""
    before, kind = bench.stream.body, "backward" if step else "duplicate"
    own = bench.count(kind, ESTIMATE)
    stamps = [bench.script.stamp(bench.next - 1 + step - (k if step else 0)) for k in range(FAULTY)]
    bench.stream.send([shifted(bench.script, bench.next, stamp, np.full(7, 40.0)) for stamp in stamps])
    bench.expect("out_of_order", FAULTY, "stamp stepped by")
    assert bench.count(kind, ESTIMATE) == own + FAULTY
    bench.assert_unharmed(before)


def test_storms_of_bad_messages_among_good_ones(bench, rng):
    """Every one is counted."""
    before = bench.stream.body
    for _ in range(10):
        fields = [{field: row(rng.integers(7), np.nan)} for field in rng.choice([*EMPTY][1:], STORM)]
        bench.stream.send([replace(bench.script.message(bench.next), each) for each in fields])
        bench.advance(10)
    bench.expect("rejected", 10 * STORM, "got nan for panda_joint")
    bench.assert_unharmed(before)


def test_a_gap_of_seconds(bench):
    before, gaps = bench.stream.body, bench.count("gaps", ESTIMATE)
    bench.next += 2500
    bench.stream.feed(bench.script, bench.next, bench.next + 2)  # the second says that the first was no wrong stamp
    bench.next += 2
    bench.expect("lost", 2500, "gap of 2.501")
    assert bench.count("gaps", ESTIMATE) == gaps + 1
    bench.assert_unharmed(before)


def test_silence_is_called_stale(bench):
    name = f"{bench.stream.node[1:]}: input"
    bench.probe.until(lambda: "no joint states for" in bench.probe.diagnostic(name).message, "words about the silence")


def test_a_payload_never_goes_back_in_time(bench):
    """Over all the faults above."""
    stamps = [nanoseconds_of(payload.header.stamp) for payload in bench.stream.payloads]
    assert len(stamps) > 100
    assert (np.diff(stamps) > 0).all()


@pytest.mark.parametrize("name", JUMPS)
def test_single_stamps_that_jump(name, bench):
    """Of what is used: a payload is published with such a stamp, too."""
    before, lost = bench.stream.body, bench.count("lost")
    for _ in range(3):
        bench.stream.send([shifted(bench.script, bench.next, bench.script.stamp(bench.next) + JUMPS[name])])
        bench.advance(50)
    bench.expect("out_of_order", 3, "stamp jumped ahead" if JUMPS[name] > 0 else "stamp stepped by -7199.99")
    assert bench.count("lost") == lost
    bench.assert_unharmed(before)


def test_the_console_names_the_topics_that_there_are(probe, fresh):
    """A user who has mistaken the topic, or forgotten the namespace, reads both names among many."""
    elsewhere, external = f"{fresh.namespace}/arm/joint_states", f"{fresh.namespace}/franka_state/tau_ext_hat_filtered"
    for topic in (elsewhere, external, *(f"/another_robot/joint_states_{k}" for k in range(6))):
        probe.node.create_publisher(JointState, topic, 1)
    fresh.start("dynamics", "-r", "joint_states:=franka/joint_states")
    wanted = f"no joint states on {fresh.namespace}/franka/joint_states for "
    probe.until(lambda: wanted in fresh.log("dynamics"), "a warning")
    (line,) = (line for line in fresh.log("dynamics").splitlines() if wanted in line)
    assert "[WARN]" in line
    assert elsewhere in line.partition("; there are some on ")[2]
    assert external not in line  # which has the type alone


def test_joints_may_be_called_anything(probe, fresh):
    """The nodes' own messages have these names, and frames made of them."""
    stem = "\r|kZN=,\x1b panda_"
    names, zero = [f"{stem}joint{i + 1}" for i in range(7)], np.full(7, 0.1)
    for module in ("dynamics", "payload_estimator"):
        fresh.start(module)
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states", subscribers=2)
    wrenches = probe.listen(WrenchStamped, f"{fresh.namespace}/panda_dynamics/contact_wrench")
    for k in range(50):
        publisher.publish(joint_state(1_000_000 * k, zero, zero, zero, names))
        probe.spin(0.01)
    probe.until(lambda: wrenches, "a wrench")
    assert wrenches[-1].header.frame_id == f"{stem}link0"
    assert nanoseconds_of(wrenches[-1].header.stamp) % 1_000_000 == 0
    assert sorted(fresh.running()) == ["dynamics", "payload_estimator"]


def test_absurd_payloads_are_refused_and_named(probe, fresh, panda):
    """And do no harm to the torques."""
    fresh.start("dynamics")
    payloads = probe.publisher(InertiaStamped, f"{fresh.namespace}/payload_estimator/payload", qos=LATCHED)
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    external = probe.listen(JointState, f"{fresh.namespace}/panda_dynamics/external_torques")
    script = Script(panda, 0.5)
    greet(probe, publisher, script.message(0), lambda: external)
    for place, number in ((0, 1e308), (1, 1e200), (4, 1e308)):  # mass, CoM, inertia
        numbers = conversions.inertia_numbers(PAYLOAD)
        numbers[place] = number
        payloads.publish(conversions.stamped_message(InertiaStamped, Time(), "panda_link8", numbers))
        contact = f"{fresh.namespace[1:]}/panda_dynamics: contact"
        values = values_of(probe.diagnostic(contact, lambda got: "expected at most 100" in got["payload_problem"]))
        assert values["payload_kg"] == "0.000"
    numbers = conversions.inertia_numbers(PAYLOAD) * (-1.0, *np.ones(9))
    payloads.publish(conversions.stamped_message(InertiaStamped, Time(), "panda_link8", numbers))
    values = values_of(probe.diagnostic(contact, lambda got: "mass=-1.0" in got["payload_problem"]))
    assert "\n" not in values["payload_problem"]
    messages = [script.message(k) for k in range(300)]
    feed(probe, publisher, messages, lambda sample: external[-1].header.stamp == sample.header.stamp)
    assert np.isfinite([message.effort for message in external]).all()
    assert np.abs(external[-1].effort).max() < 0.5


def test_long_names_are_cut_short_and_escaped(probe, fresh):
    """In log and diagnostics; and a problem does not stay for good."""
    fresh.start("payload_estimator")
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    zero = np.zeros(7)
    message = joint_state(0, zero, zero, zero, ["\x1b[2J" + "x" * 3000 + f"_{k}" for k in range(7)])
    timer = probe.node.create_timer(0.1, lambda: publisher.publish(message))
    status = probe.diagnostic(f"{fresh.namespace[1:]}/payload_estimator: input", lambda got: got["rejected"] != "0")
    probe.node.destroy_timer(timer)
    assert "\x1b" not in status.message + fresh.log("payload_estimator")
    assert len(status.message) < 500
    assert len(values_of(status)["latest_problem"]) < 400
    assert max(len(line) for line in fresh.log("payload_estimator").splitlines()) < 600


def test_a_negative_clock_ends_no_node(probe, fresh):
    fresh.start("suite", use_sim_time=True)
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    clock = probe.publisher(Clock, "/clock", subscribers=2)
    message = joint_state(0, np.full(7, 0.1), np.zeros(7), np.ones(7))
    seconds, complaint = itertools.count(5), "ignored on /clock: "

    def tick() -> None:
        """Below zero until it is noticed, however late the node hears of the clock."""
        clock.publish(Clock(clock=Time(sec=next(seconds) if complaint in fresh.log("suite") else -5)))
        publisher.publish(message)

    timer = probe.node.create_timer(0.05, tick)
    probe.until(lambda: complaint in fresh.log("suite"), "a line about the clock")
    probe.diagnostic(f"{fresh.namespace[1:]}/panda_dynamics: input", lambda got: got["received"] != "0")
    probe.node.destroy_timer(timer)


def test_settings_of_dds_in_the_working_folder_are_not_read(tmp_path):
    """Whoever opens these waits for a writer forever."""
    for name in ("FASTDDS", "FASTRTPS"):
        os.mkfifo(tmp_path / f"DEFAULT_{name}_PROFILES.xml")
    program = "import panda_dynamics_ros.nodes, rclpy; rclpy.init(); rclpy.create_node('here'); print('ready')"
    environment = os.environ | {"PYTHONPATH": str(Path(pdr.__file__).parents[1])}
    environment.pop("SKIP_DEFAULT_XML_FILE", None)
    assert ran([sys.executable, "-c", program], cwd=tmp_path, env=environment, timeout=120).stdout == "ready\n"
