# SPDX-License-Identifier: Apache-2.0
"""A robot's joint states with a known answer, published as fast as the nodes take them; what the estimator answers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from motion import Motion, sinusoids, torques
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from waiting import PATIENCE

from nodes.probe import Probe, values_of
from nodes.processes import Nodes
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray as Array

ARM = tuple(f"panda_joint{i + 1}" for i in range(7))
# As joint_state_publisher may well order them: shuffled, fingers in between.
SHUFFLED = (
    "panda_joint3", "panda_finger_joint1", "panda_joint7", "panda_joint1", "panda_joint5", "panda_finger_joint2",
    "panda_joint2", "panda_joint6", "panda_joint4",
)  # fmt: skip
EPOCH = 1_700_000_000  # s, a stamp as real ones are
BURST = 10  # messages in one go: with those that wait for an answer, less than the nodes' queues hold


def stamp_of(nanoseconds: int) -> Time:
    return Time(sec=EPOCH + nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def nanoseconds_of(stamp: Time) -> int:
    """Since EPOCH."""
    return int((stamp.sec - EPOCH) * 1_000_000_000 + stamp.nanosec)


def joint_state(nanoseconds: int, q: Array, dq: Array, tau: Array, names: Sequence[str] = ARM) -> JointState:
    """One sample; joints that are not the arm's get values that would show."""
    order = [ARM.index(name) if name in ARM else 7 for name in names]
    message = JointState(name=list(names))
    message.header.stamp = stamp_of(nanoseconds)
    message.position = np.append(q, 0.02)[order].tolist()
    message.velocity = np.append(dq, 0.5)[order].tolist()
    message.effort = np.append(tau, 77.0)[order].tolist()
    return message


class Script:
    """A motion of `duration` seconds at 1 kHz with a payload, sample by sample."""

    def __init__(
        self, robot: RobotModel, duration: float, payload: InertialParameters | None = None, rate: float = 1000.0
    ) -> None:
        self.motion: Motion = sinusoids(duration, rate)
        self.tau = torques(robot, self.motion, payload)
        self._step = round(1e9 / rate)

    def __len__(self) -> int:
        return len(self.tau)

    def stamp(self, k: int) -> int:
        """Nanoseconds since EPOCH."""
        return k * self._step

    def message(self, k: int, names: Sequence[str] = ARM) -> JointState:
        return joint_state(self.stamp(k), self.motion.q[k], self.motion.dq[k], self.tau[k], names)


def feed(probe: Probe, publisher: Any, messages: Sequence[JointState], answered: Callable[[JointState], Any]) -> None:
    """Publish in bursts, each once the last message of the one before was `answered`: none is lost in a queue."""
    for start in range(0, len(messages), BURST):
        burst = messages[start : start + BURST]
        for message in burst:
            publisher.publish(message)
        probe.until(lambda last=burst[-1]: answered(last), "an answer to a sample")  # type: ignore[misc]


def greet(
    probe: Probe, publisher: Any, message: JointState, heard: Callable[[], object], begin: int = -20_000_000_000
) -> None:
    """The sample, by `begin` ns from EPOCH, until its answers are heard: a node finds its subscribers one by one.

    Its stamp is that of the last one sent.
    """
    for attempt in range(round(PATIENCE / 0.05)):
        message.header.stamp = stamp_of(begin + attempt * 1000)
        publisher.publish(message)
        probe.spin(0.05)
        if heard():
            return
    raise AssertionError("the node's answers do not arrive")


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

    def greet(self, script: Script, *begin: int) -> None:
        """Make sure that payloads are heard."""
        greet(self._probe, self.publisher, script.message(0), lambda: self.payloads, *begin)

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
