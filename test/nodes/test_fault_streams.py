# SPDX-License-Identifier: Apache-2.0
"""Whole streams that go wrong: jumping clocks, bursts, trickles, storms, fuzz, other publishers, killed nodes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from nodes.fault_bench import INPUTS, ROUNDS, Bench
from nodes.payload_stream import shifted
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
