# SPDX-License-Identifier: Apache-2.0
"""A payload estimator node on a robot's joint states, and what it answers."""

from collections.abc import Callable, Sequence

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from nodes.probe import Probe, values_of
from nodes.processes import Nodes
from nodes.robot_stream import ARM, Array, Script, feed, greet, joint_state, nanoseconds_of
from panda_dynamics_ros import InertialParameters

LATCHED = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class PayloadStream:
    """Starts the node, feeds it, and keeps the payloads that it publishes."""

    def __init__(self, probe: Probe, nodes: Nodes, **parameters: object) -> None:
        nodes.start("payload_estimator", **parameters)
        self._probe = probe
        self.fresh = 31_000_000  # ns: a payload comes every 20 ms, a burst of samples lasts 10 ms
        self.others_answered: Callable[[JointState], bool] = lambda sample: True
        self.node = f"{nodes.namespace}/payload_estimator"
        self.publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
        self.payloads: list[InertiaStamped] = probe.listen(InertiaStamped, f"{self.node}/payload", LATCHED)

    def greet(self, script: Script) -> None:
        """Make sure that payloads are heard."""
        greet(self._probe, self.publisher, script.message(0), lambda: self.payloads)

    def feed(self, script: Script, start: int, stop: int, names: Sequence[str] = ARM) -> None:
        """The script's samples [start, stop), each taken in."""
        self.feed_messages([script.message(k, names) for k in range(start, stop)])

    def feed_messages(self, messages: Sequence[JointState]) -> None:
        """Samples in the order of their stamps, at 1 kHz."""
        feed(self._probe, self.publisher, messages, self._answered)

    def _answered(self, sample: JointState) -> bool:
        if not self.payloads:
            return False
        behind = nanoseconds_of(sample.header.stamp) - nanoseconds_of(self.payloads[-1].header.stamp)
        return abs(behind) < self.fresh and self.others_answered(sample)

    def send(self, messages: Sequence[JointState]) -> None:
        """Samples that are not expected to be answered, at most a queue's worth."""
        assert len(messages) < 50
        for message in messages:
            self.publisher.publish(message)

    @property
    def body(self) -> InertialParameters:
        """The last payload."""
        i = self.payloads[-1].inertia
        inertia = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]])
        return InertialParameters(i.m, np.array([i.com.x, i.com.y, i.com.z]), inertia)

    def values(self, part: str, **expected: object) -> dict[str, str]:
        """Values of the node's `input` or `estimate` diagnostics, once they are the expected ones."""
        wanted = {key.replace("_", " ") if key.startswith("rejected:") else key: str(v) for key, v in expected.items()}
        status = self._probe.diagnostic(f"{self.node[1:]}: {part}", lambda got: wanted.items() <= got.items())
        return values_of(status)


def shifted(script: Script, k: int, nanoseconds: int, effort: Array | None = None) -> JointState:
    """Sample k with another stamp."""
    tau = script.tau[k] if effort is None else effort
    return joint_state(nanoseconds, script.motion.q[k], script.motion.dq[k], tau)
