# SPDX-License-Identifier: Apache-2.0
"""A robot's joint states with a known answer, published as fast as the nodes take them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from motion import Motion, sinusoids, torques
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from nodes.probe import Probe
from panda_dynamics_ros import InertialParameters, RobotModel

ARM = tuple(f"panda_joint{i + 1}" for i in range(7))
# As joint_state_publisher may well order them: shuffled, fingers in between.
SHUFFLED = (
    "panda_joint3", "panda_finger_joint1", "panda_joint7", "panda_joint1", "panda_joint5", "panda_finger_joint2",
    "panda_joint2", "panda_joint6", "panda_joint4",
)  # fmt: skip
EPOCH = 1_700_000_000  # s, a stamp as real ones are
BURST = 10  # messages in one go: with those that wait for an answer, less than the nodes' queues hold (50)

Array = NDArray[np.float64]


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
    message.position = np.append(q, 0.04)[order].tolist()
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


def feed(
    probe: Probe, publisher: Any, messages: Sequence[JointState], answered: Callable[[JointState], object]
) -> None:
    """Publish in bursts, each once the last message of the one before was `answered`: none is lost in a queue."""
    for start in range(0, len(messages), BURST):
        burst = messages[start : start + BURST]
        for message in burst:
            publisher.publish(message)
        probe.until(lambda last=burst[-1]: answered(last), "an answer to a sample")  # type: ignore[misc]


def greet(
    probe: Probe, publisher: Any, message: JointState, heard: Callable[[], object], begin: int = -10_000_000_000
) -> None:
    """The sample, long before EPOCH, until its answers are heard: a node finds its subscribers one by one."""
    for attempt in range(300):
        message.header.stamp = stamp_of(begin + attempt * 20_000_000)
        publisher.publish(message)
        probe.spin(0.05)
        if heard():
            return
    raise AssertionError("the node's answers do not arrive")
