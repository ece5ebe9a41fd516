# SPDX-License-Identifier: Apache-2.0
"""Messages written and read in their encoded form are those that rclpy encodes and decodes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from nodes.robot_stream import ARM as NAMES
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.encoded_messages import MALFORMED, MOST_NAMES, JointStateDecoder, NumberPublisher

STAMP = Time(sec=1_700_000_000, nanosec=123_456_789)
FRAME = "panda_link8"
KINDS: dict[str, tuple[Callable[[Time, Any], Any], int]] = {
    "torques": (lambda stamp, numbers: conversions.torque_message(stamp, list(NAMES), numbers), 7),
    "pose": (lambda stamp, numbers: conversions.stamped_message(PoseStamped, stamp, FRAME, numbers), 7),
    "wrench": (lambda stamp, numbers: conversions.stamped_message(WrenchStamped, stamp, FRAME, numbers), 6),
    "o_t_ee": (lambda stamp, numbers: conversions.o_t_ee_message(numbers), 16),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_published_as_rclpy_would_and_only_finite_ones(kind, probe):
    make, count = KINDS[kind]
    message_type, topic = type(make(STAMP, np.zeros(count))), f"encoded/{kind}"
    publisher = NumberPublisher(probe.node, message_type, topic, partial(make, Time()), count)
    heard = probe.listen(message_type, topic)
    rows = np.random.default_rng(0).normal(size=(3, count))
    absurd = [np.where(np.arange(count) == count - 1, value, rows[0]) for value in (np.nan, np.inf, -np.inf)]
    wanted = [make(Time(sec=k, nanosec=7), row) for k, row in enumerate(rows)]

    def all_came() -> bool:
        for k, row in enumerate(rows):
            for each in (*absurd, row):
                publisher.publish(Time(sec=k, nanosec=7), each)
        return len(heard) >= 2 * len(wanted)  # the first may be sent before the subscriber is known

    probe.until(all_came, kind)
    assert heard[-len(wanted) :] == wanted
    assert all(each in wanted for each in heard)


def joint_state(seed: int, names: tuple[str, ...] = NAMES, frame: str = "") -> JointState:
    rows = np.random.default_rng(seed).normal(size=(3, len(names)))
    message = JointState(name=list(names))
    message.header.stamp, message.header.frame_id = Time(sec=STAMP.sec, nanosec=seed), frame
    message.position, message.velocity, message.effort = [conversions.doubles(row) for row in rows]
    return message


def assert_decoded_as_by_rclpy(decoder: JointStateDecoder, encoded: bytes) -> None:
    """Also where that means to refuse it, in one line."""
    try:
        message = deserialize_message(encoded, JointState)
    except Exception:
        with pytest.raises(SampleError) as caught:
            decoder.decode(encoded)
        assert caught.value.reason == MALFORMED
        assert "\n" not in str(caught.value)
        return
    stamp, names, *rows = decoder.decode(encoded)
    assert (stamp, names) == (message.header.stamp, tuple(message.name))
    for ours, theirs in zip(rows, (message.position, message.velocity, message.effort), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("frame", ["", "a", "base", "panda_link0", "\1" * 9])
def test_a_stream_is_decoded_as_rclpy_does_it(frame):
    """Whatever lengths of text and rows move the numbers to; publishers with other joints on the same topic."""
    decoder = JointStateDecoder()
    for seed in range(3):
        for count in range(10):
            names = tuple(f"j{'x' * k}{k}" for k in range(count))
            for each in (names, names[::-1]):
                assert_decoded_as_by_rclpy(decoder, serialize_message(joint_state(seed, each, frame)))
            assert len(decoder._layouts) <= MOST_NAMES  # names that never repeat fill no memory


@pytest.mark.parametrize("length", [0, 6, 8])
@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
def test_rows_that_are_not_full_come_as_they_are(field, length):
    decoder, message = JointStateDecoder(), joint_state(0)
    decoder.decode(serialize_message(message))
    setattr(message, field, conversions.doubles(np.zeros(length)))
    assert_decoded_as_by_rclpy(decoder, serialize_message(message))


def test_each_byte_counts_as_it_does_for_rclpy():
    """Each byte turned over, and the message cut at each length."""
    decoder, whole = JointStateDecoder(), serialize_message(joint_state(0, ("a", "bc", "def", "ghij"), "base"))
    for at in range(len(whole)):
        decoder.decode(whole)
        for mask in (0x01, 0x55, 0xFF):
            spoilt = bytearray(whole)
            spoilt[at] ^= mask
            assert_decoded_as_by_rclpy(decoder, bytes(spoilt))
        assert_decoded_as_by_rclpy(decoder, whole[:at])
