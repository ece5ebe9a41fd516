# SPDX-License-Identifier: Apache-2.0
"""Joint states at 1 kHz as a C++ driver sends them: messages made beforehand, only their stamps are new.

`python -m benchmarks.one_khz.publisher SECONDS FILE SUBSCRIBERS`; prints a line with the first sample, which it sends
when so many subscribers are there, and one after the last; when each sample was sent goes to FILE (.npz).
"""

from __future__ import annotations

import struct
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from panda_dynamics_ros import InertialParameters, load_robot

PERIOD = 1_000_000  # ns
TOO_LATE = 5 * PERIOD
CYCLE = 10_000  # samples, after which the motion repeats without a seam
STAMP = struct.Struct("<iI")
STAMP_AT = 4  # after the header of the little-endian CDR encoding
SETTLE = 2.0  # s, from the last node's discovery to the first sample
REST = np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])
AMPLITUDE = np.array([0.5, 0.35, 0.45, 0.4, 0.6, 0.5, 0.7])
TURNS = np.array([3, 2, 4, 3, 4, 5, 5])  # of each joint's sine in a cycle
PAYLOAD = InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), np.diag([0.004, 0.004, 0.003]))
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


def messages() -> list[bytearray]:
    """One cycle of a moving arm with 1 kg, serialized; the residual of a real arm as periodic noise."""
    robot, rng = load_robot("panda"), np.random.default_rng(0)
    w = 2.0 * np.pi * TURNS / (CYCLE * 1e-9 * PERIOD)
    phase = np.outer(np.arange(CYCLE) * 1e-9 * PERIOD, w)
    q, dq = REST + AMPLITUDE * np.sin(phase), AMPLITUDE * w * np.cos(phase)
    tau = robot.with_payload(PAYLOAD).inverse_dynamics(q, dq, -AMPLITUDE * w**2 * np.sin(phase))
    tau += robot.friction_torques(dq) + 0.1 * robot.residual.std * rng.normal(size=q.shape)
    made = []
    message = JointState(name=[*FINGERS, *robot.joint_names])
    message.header.frame_id = "panda_link0"
    for row in range(CYCLE):
        message.position = [0.02, 0.02, *q[row]]
        message.velocity = [0.0, 0.0, *dq[row]]
        message.effort = [0.0, 0.0, *tau[row]]
        made.append(bytearray(serialize_message(message)))
    return made


def publish(node: Node, count: int, subscribers: int) -> tuple[int, NDArray[np.int64]]:
    """Send samples for `count` ms to so many subscribers.

    Returns the first stamp, and when each sample was handed to DDS, ns (0: was not sent).

    Stamps lie on the exact grid of 1 ms, as those of a control loop. Like a control loop it leaves out the cycles
    for which it was too late: after a pause of the machine it does not send them all at once.
    """
    cycle, sent = messages(), np.zeros(count, dtype=np.int64)
    publisher = node.create_publisher(JointState, "joint_states", 50)
    while publisher.get_subscription_count() < subscribers:
        time.sleep(0.05)
    time.sleep(SETTLE)
    print("sending", flush=True)
    first, begin = time.time_ns(), time.monotonic_ns()
    for k in range(count):
        wait = begin + k * PERIOD - time.monotonic_ns()
        if wait < -TOO_LATE:
            continue
        if wait > 0:
            time.sleep(1e-9 * wait)
        message = cycle[k % CYCLE]
        STAMP.pack_into(message, STAMP_AT, *divmod(first + k * PERIOD, 1_000_000_000))
        sent[k] = time.time_ns()
        publisher.publish(bytes(message))
    print("sent", flush=True)
    time.sleep(1.0)  # for what is on its way
    return first, sent


def main() -> None:
    """Publish, then write when."""
    seconds, file, subscribers = float(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    first, sent = publish(rclpy.create_node("one_khz_publisher"), round(seconds * 1000), subscribers)
    np.savez(file, first=first, sent=sent)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
