# SPDX-License-Identifier: Apache-2.0
"""Both nodes on a stream that faults are put into: what they count and say, whether the estimate is unharmed."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from motion import PAYLOAD
from sensor_msgs.msg import JointState

import panda_dynamics_ros as pdr
from nodes.probe import Probe, Ready, values_of
from nodes.processes import Nodes
from nodes.robot_stream import ARM, PayloadStream, Script, greet

INPUTS = ("payload_estimator: input", "panda_dynamics: input")
ESTIMATE = "payload_estimator: estimate"
FAULTY = 30  # samples of a fault: less than the nodes' queues hold
GOOD = 300
LEARNT = 3000

Fault = Callable[[JointState], None]


def emptied(message: JointState) -> None:
    message.name = []
    for field in ("position", "velocity", "effort"):
        setattr(message, field, [])


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
        message = self.script.message(0)
        emptied(message)
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
