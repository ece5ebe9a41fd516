# SPDX-License-Identifier: Apache-2.0
"""What the nodes publish, and when: taken in batches, so that listening costs the machine little.

`python -m benchmarks.one_khz.listener FILE`; ends when interrupted and then writes FILE (.npz): for each topic the
stamps of its messages and when the node published them, ns; and the last diagnostics as JSON.

`... FILE --bare` is the program to compare with: it does nothing but to note when each joint state is there.
"""

from __future__ import annotations

import json
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from panda_dynamics_ros.nodes.interface import INPUT_QOS
from panda_dynamics_ros.nodes.runner import make_executor, spin

TOPICS: dict[str, type] = {
    "panda_dynamics/gravity_torques": JointState,
    "panda_dynamics/coriolis_torques": JointState,
    "panda_dynamics/external_torques": JointState,
    "panda_dynamics/current_pose": PoseStamped,
    "payload_estimator/payload": InertiaStamped,
}
LOOK_PERIOD = 0.02  # s
# As the controllers of examples/ listen; a reliable one would acknowledge, which takes the nodes a tenth of their time.
EVERY_MESSAGE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
STAMP = struct.Struct("<iI")
STAMP_AT = 4  # after the header of the little-endian CDR encoding


def take(subscription: Subscription) -> list[tuple[bytes, int]]:
    """All messages that wait, serialized, with the time at which they were published, ns."""
    taken = []
    with subscription.handle:
        while (got := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            taken.append((got[0], got[1]["source_timestamp"]))
    return taken


def listen_bare() -> None:
    """Note when joint states come, in a callback, as any Python program would."""
    node, executor = rclpy.create_node("bare_listener"), make_executor()
    rows: list[tuple[int, int]] = []

    def note(message: JointState) -> None:
        stamp = message.header.stamp
        rows.append((stamp.sec * 1_000_000_000 + stamp.nanosec, time.time_ns()))

    node.create_subscription(JointState, "joint_states", note, INPUT_QOS)
    executor.add_node(node)
    spin(executor, lambda: False)
    np.savez(Path(sys.argv[1]), allow_pickle=False, bare=np.array(rows, dtype=np.int64).reshape(-1, 2))
    rclpy.try_shutdown()


def main() -> None:
    """Listen until interrupted, then write."""
    interrupted: list[int] = []  # a threading.Event that is set in a signal handler may wait for its own lock forever
    signal.signal(signal.SIGINT, lambda number, frame: interrupted.append(number))
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    if "--bare" in sys.argv:
        listen_bare()
        return
    node = rclpy.create_node("one_khz_listener")

    def listen(message_type: type, topic: str) -> Subscription:
        return node.create_subscription(message_type, topic, lambda message: None, EVERY_MESSAGE)

    topics = {topic: listen(message_type, topic) for topic, message_type in TOPICS.items()}
    diagnostics = listen(DiagnosticArray, "/diagnostics")
    found: dict[str, list[tuple[int, int]]] = {topic: [] for topic in topics}
    statuses: dict[str, dict[str, Any]] = {}
    while not interrupted:
        time.sleep(LOOK_PERIOD)
        for topic, subscription in topics.items():
            for message, published in take(subscription):
                seconds, nanoseconds = STAMP.unpack_from(message, STAMP_AT)
                found[topic].append((seconds * 1_000_000_000 + nanoseconds, published))
        for message, _ in take(diagnostics):
            for status in deserialize_message(message, DiagnosticArray).status:
                statuses[status.name] = {pair.key: pair.value for pair in status.values}
    arrays = {topic: np.array(rows, dtype=np.int64).reshape(-1, 2) for topic, rows in found.items()}
    np.savez(Path(sys.argv[1]), allow_pickle=False, diagnostics=json.dumps(statuses), **arrays)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
