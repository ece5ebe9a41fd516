# SPDX-License-Identifier: Apache-2.0
"""Both nodes by a clock that a simulator, or `ros2 bag play --clock`, publishes; and in a loop, which sets it back."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from motion import PAYLOAD
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from nodes.payload_stream import PayloadStream
from nodes.probe import Probe, values_of
from nodes.processes import Nodes
from nodes.robot_stream import BURST, EPOCH, Script, greet, joint_state, stamp_of
from panda_dynamics_ros import RobotModel

START = 7_000_000_000 - EPOCH * 1_000_000_000  # ns since EPOCH: seven seconds after the simulation began
ROUND = 3000  # samples, at 1 kHz


class Bench:
    """Nodes that live in simulated time, and who makes it pass."""

    def __init__(self, probe: Probe, nodes: Nodes, robot: RobotModel) -> None:
        self.probe, self.nodes = probe, nodes
        self.script = Script(robot, 0.001 * ROUND, PAYLOAD)
        nodes.start("dynamics", use_sim_time=True)
        self.stream = PayloadStream(probe, nodes, use_sim_time=True)
        self.gravity = probe.listen(JointState, f"{nodes.namespace}/panda_dynamics/gravity_torques")
        self.stream.others_answered = lambda sample: bool(
            self.gravity and self.gravity[-1].header.stamp == sample.header.stamp
        )
        self.diagnostics: list[DiagnosticArray] = probe.listen(DiagnosticArray, "/diagnostics")
        self.clock = probe.publisher(Clock, "/clock", subscribers=2)
        greet(
            probe,
            self.stream.publisher,
            self.script.message(0),
            lambda: self.gravity and self.stream.payloads,
            START - 6_000_000_000,
        )

    def play(self) -> list[DiagnosticArray]:
        """Clock and samples from the beginning of the script to its end; the diagnostics of that time."""
        self.probe.spin(0.5)
        self.stream.payloads.clear()
        self.gravity.clear()
        self.diagnostics.clear()
        for first in range(0, ROUND, BURST):
            motion, samples = self.script.motion, range(first, first + BURST)
            burst = [
                joint_state(START + self.script.stamp(k), motion.q[k], motion.dq[k], self.script.tau[k])
                for k in samples
            ]
            self.clock.publish(Clock(clock=burst[-1].header.stamp))
            self.stream.feed_messages(burst)
        self.probe.spin(0.2)
        return [array for array in self.diagnostics if array.status[0].name.startswith(self.nodes.namespace[1:])]


@pytest.fixture(scope="module")
def bench(probe: Probe, nodes: Nodes, panda: RobotModel) -> Bench:
    return Bench(probe, nodes, panda)


@pytest.mark.parametrize("number", [1, 2])
def test_simulated_time_passes_and_starts_again(number: int, bench: Bench) -> None:
    """The second round begins with a jump of clock and stamps by three seconds back."""
    before = bench.stream.body
    arrays = bench.play()
    # Answers carry the stamps of their samples, and go on after the jump.
    assert bench.gravity[0].header.stamp == stamp_of(START)
    assert bench.gravity[-1].header.stamp == stamp_of(START + bench.script.stamp(ROUND - 1))
    assert len(bench.gravity) == ROUND
    # Diagnostics go by the simulated clock: each second, for each node. Where the clock comes late, rclpy's
    # EventsExecutor may call a timer again within the same second.
    for node in ("panda_dynamics", "payload_estimator"):
        own = [each for each in arrays if each.status[0].name == f"{bench.nodes.namespace[1:]}/{node}: input"]
        assert 2 <= len(own) <= 8, [each.header.stamp for each in own]
        assert {each.header.stamp.sec for each in own} <= set(range(7, 11))
    # The estimate survives, and knows more and more.
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)
    values = values_of(own[-1].status[1])
    assert (values["changes"], values["backward"]) == ("0", "0")
    if number > 1:
        assert abs(before.mass - PAYLOAD.mass) < 0.03
        assert int(values["gaps"]) >= 1


def test_a_clock_that_comes_a_little_later_is_not_missed(bench: Bench) -> None:
    """As that of a recording which begins at zero; while it greeted them, this test had no clock yet."""
    for node in ("dynamics", "payload_estimator"):
        assert "nobody publishes /clock" not in bench.nodes.log(node)
