# SPDX-License-Identifier: Apache-2.0
"""Whole streams that go wrong: jumping clocks, bursts, trickles, storms, fuzz, other publishers, killed nodes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from motion import PAYLOAD
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from nodes.fault_bench import ESTIMATE, FAULTY, GOOD, INPUTS, ROUNDS, Bench
from nodes.payload_stream import shifted
from nodes.robot_stream import greet
from panda_dynamics_ros.robot import joint_mapping as joint_samples

pytestmark = pytest.mark.usefixtures("said")
SECOND = 1_000_000_000  # ns
STORM = 8  # bad messages in one go: with those of two bursts, and the good ones, less than the queues hold (50)
JUMPS = {"hours ahead": 7200 * SECOND, "hours back": -7200 * SECOND, "two seconds ahead": 2 * SECOND}


@pytest.mark.parametrize("name", JUMPS)
def test_single_stamps_that_jump(name: str, bench: Bench) -> None:
    before, lost = bench.stream.body, bench.count("lost")
    for _ in range(5 * ROUNDS):
        bench.stream.send([shifted(bench.script, bench.next, bench.script.stamp(bench.next) + JUMPS[name])])
        bench.advance(100)
    bench.expect("out_of_order", 5 * ROUNDS, "stamp jumped ahead" if JUMPS[name] > 0 else "stamp stepped by -7199.99")
    assert bench.count("lost") == lost
    bench.assert_unharmed(before)


def test_a_clock_that_is_set_back(bench: Bench) -> None:
    """All later stamps lie a minute back, as a bag's do that is played again."""
    before = bench.stream.body
    stamps = [bench.script.stamp(bench.next + k) - 60 * SECOND for k in range(FAULTY)]
    bench.stream.send([shifted(bench.script, bench.next + k, stamp) for k, stamp in enumerate(stamps)])
    bench.next += FAULTY
    bench.expect("out_of_order", 1, "stamp stepped by -59.99")
    bench.assert_unharmed(before)


def test_bursts_at_10_khz(bench: Bench) -> None:
    """Ten times as fast as a robot: what overflows the queues is counted as lost, and nothing else."""
    bench.look()
    before, count = bench.stream.body, 500 * ROUNDS
    known = {part: bench.count("received", part) + bench.count("lost", part) for part in INPUTS}
    for k in range(count):
        due = time.monotonic() + 1e-4
        bench.stream.publisher.publish(bench.script.message(bench.next + k))
        while time.monotonic() < due:
            pass
    bench.next += count
    bench.advance(10)
    bench.look()
    for part in INPUTS:
        assert bench.count("received", part) + bench.count("lost", part) == known[part] + count + 10
    bench.said = f"{bench.count('lost')} lost in all: {bench.known[INPUTS[0]]['latest_problem']}"
    bench.assert_unharmed(before)


def test_a_trickle_of_one_sample_a_second(bench: Bench) -> None:
    before = bench.stream.body
    for _ in range(3 * ROUNDS):
        bench.next += 999
        bench.advance(1)
    bench.advance(20)  # the last step is judged with the sample after it
    bench.expect("lost", 999 * 3 * ROUNDS, "gap of 1.0000 s")
    bench.assert_unharmed(before)


def spoil_one_joint(message: JointState, rng: np.random.Generator) -> None:
    getattr(message, rng.choice(["position", "velocity", "effort"]))[int(rng.integers(7))] = float("nan")


def test_storms_of_bad_messages_among_good_ones(bench: Bench, rng: np.random.Generator) -> None:
    """Every one is counted, under a reason that there is."""
    before, bursts = bench.stream.body, 40 * ROUNDS
    for _ in range(bursts):
        messages = [bench.script.message(bench.next) for _ in range(STORM)]
        for message in messages:
            spoil_one_joint(message, rng)
        bench.stream.send(messages)
        bench.advance(10)
    bench.expect("rejected", bursts * STORM, "got nan for panda_joint")
    constants = {value for name, value in vars(joint_samples).items() if name.isupper() and isinstance(value, str)}
    for part in INPUTS:
        reasons = {key.removeprefix("rejected: ") for key in bench.known[part] if key.startswith("rejected: ")}
        assert reasons <= constants
    bench.assert_unharmed(before)


@pytest.mark.parametrize("reliability", [ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE])
def test_publishers_of_either_reliability(reliability: ReliabilityPolicy, bench: Bench) -> None:
    before, own = bench.stream.body, bench.stream.publisher
    qos = QoSProfile(depth=50, reliability=reliability)
    bench.stream.publisher = bench.probe.publisher(JointState, own.topic_name, len(INPUTS), qos)
    bench.introduce()
    bench.advance(GOOD)
    bench.expect("received", GOOD, "")
    bench.probe.node.destroy_publisher(bench.stream.publisher)
    bench.stream.publisher = own
    bench.assert_unharmed(before)


@pytest.mark.parametrize("module", ["dynamics", "payload_estimator"])
def test_a_node_that_is_killed_and_started_again(module: str, bench: Bench) -> None:
    """It discovers a publisher that was there before it, and says that it begins anew; the other goes on."""
    part = INPUTS[module == "dynamics"]
    other = INPUTS[module != "dynamics"]
    received = bench.count("received", other) + bench.unseen
    bench.nodes.kill(module)
    bench.nodes.start(module, **({} if module == "dynamics" else {"publish_period_s": 0.001}))
    bench.introduce(part)
    answers: list[Any] = bench.gravity if module == "dynamics" else bench.stream.payloads
    answers.clear()
    greet(bench.probe, bench.stream.publisher, bench.script.message(bench.next), lambda: answers)
    bench.advance(GOOD if module == "dynamics" else 3000)
    bench.look()
    assert bench.count("received", part) < bench.count("received", other)
    assert bench.count("received", other) > received
    bench.said = f"received since its start: {bench.count('received', part)}, {bench.known[ESTIMATE]['used']} used"
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)  # the torques are exact
    assert sorted(bench.nodes.running()) == ["dynamics", "payload_estimator"]
