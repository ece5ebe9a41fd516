# SPDX-License-Identifier: Apache-2.0
"""Messages written and read in their encoded form are those that rclpy encodes and decodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.encoded_messages import (
    HEADER,
    KINDS,
    MALFORMED,
    DecodedJointState,
    EncodedMessage,
    JointStateDecoder,
)
from panda_dynamics_ros.recordings.messages import STAMP_MARK, marks, place_of

# Text of the bytes by which the place of an encoded message's stamp is found.
STAMP_TEXT = STAMP_MARK.tobytes().decode()
STAMP = Time(sec=1_700_000_000, nanosec=123_456_789)
NAMES = tuple(f"panda_joint{k}" for k in range(1, 8))
FRAME = "panda_link8"
KINDS_OF_MESSAGES: dict[str, tuple[Callable[[Time, Any], Any], int]] = {
    "torques": (lambda stamp, numbers: conversions.torque_message(stamp, list(NAMES), numbers), 7),
    "pose": (lambda stamp, numbers: conversions.pose_message(stamp, FRAME, numbers), 7),
    "wrench": (lambda stamp, numbers: conversions.wrench_message(stamp, FRAME, numbers), 6),
    "inertia": (lambda stamp, numbers: conversions.inertia_message_of(stamp, FRAME, numbers), 10),
    "o_t_ee": (lambda stamp, numbers: conversions.o_t_ee_message(numbers), 16),
    "covariance": (lambda stamp, numbers: conversions.matrix_message(numbers.reshape(10, 10)), 100),
}


@pytest.mark.parametrize("kind", KINDS_OF_MESSAGES)
def test_an_encoded_message_says_what_its_stamp_and_numbers_say(kind: str) -> None:
    make, count = KINDS_OF_MESSAGES[kind]
    encoded = EncodedMessage(make, count)
    for seed in range(3):  # nothing of the message before is left
        numbers = np.random.default_rng(seed).normal(size=count)
        stamp = Time(sec=STAMP.sec + seed, nanosec=seed)
        wanted = make(stamp, numbers)
        assert deserialize_message(encoded.at(stamp, numbers), type(wanted)) == wanted


@pytest.mark.parametrize("text", [STAMP_TEXT, f"{STAMP_TEXT}panda_", f"x{STAMP_TEXT * 3}"])
def test_text_may_hold_the_bytes_that_mark_a_place(text: str) -> None:
    """A frame or a joint may be called anything: the stamp stays where it is."""
    names = [f"{text}joint{k}" for k in range(7)]
    numbers = np.arange(7.0)
    for make in (
        lambda stamp, numbers: conversions.torque_message(stamp, names, numbers),
        lambda stamp, numbers: conversions.pose_message(stamp, text, numbers),
    ):
        message = deserialize_message(EncodedMessage(make, 7).at(STAMP, numbers), type(make(STAMP, numbers)))
        assert message == make(STAMP, numbers)


def test_the_last_numbers_of_a_message_are_its_own() -> None:
    """Bytes of the mark in front of the numbers, as a count or a name may happen to be."""
    encoded = marks(7).tobytes() + bytes(8) + marks(7).tobytes()
    assert place_of(marks(7), encoded) == 64


def test_a_transposed_array_is_written_in_its_own_order() -> None:
    T = np.arange(16.0).reshape(4, 4)
    encoded = EncodedMessage(*KINDS_OF_MESSAGES["o_t_ee"])
    message = deserialize_message(encoded.at(STAMP, T.T), type(conversions.o_t_ee_message(T)))
    assert list(message.data) == T.ravel(order="F").tolist()


def test_another_count_of_numbers_is_refused() -> None:
    encoded = EncodedMessage(*KINDS_OF_MESSAGES["torques"])
    with pytest.raises(ValueError, match=r"expected 7 doubles, got an array of shape \(6,\)"):
        encoded.at(STAMP, np.zeros(6))


def joint_state(seed: int, names: tuple[str, ...] = NAMES, frame: str = "") -> JointState:
    rows = np.random.default_rng(seed).normal(size=(3, len(names)))
    message = JointState(name=list(names))
    message.header.stamp, message.header.frame_id = Time(sec=STAMP.sec, nanosec=seed), frame
    message.position, message.velocity, message.effort = [conversions.doubles(row) for row in rows]
    return message


def assert_says_the_same(decoded: DecodedJointState, message: JointState) -> None:
    assert (decoded.stamp, decoded.names) == (message.header.stamp, tuple(message.name))
    for field in ("position", "velocity", "effort"):
        assert list(getattr(decoded, field)) == list(getattr(message, field))


def shortcuts(decoder: JointStateDecoder, message: JointState) -> bool:
    """Whether the decoder reads the message by its short cut: then the rows are arrays on the bytes themselves."""
    decoded = decoder.decode(serialize_message(message))
    assert_says_the_same(decoded, message)
    return isinstance(decoded.position, np.ndarray)


@pytest.mark.parametrize("count", range(1, 10))
@pytest.mark.parametrize("frame", ["", "a", "base", "panda_link0", STAMP_TEXT, "\1" * 9])
def test_a_stream_is_decoded_as_rclpy_does_it(count: int, frame: str) -> None:
    """Whatever lengths of text and rows move the numbers to."""
    decoder, names = JointStateDecoder(), tuple(f"j{'x' * k}{k}" for k in range(count))
    assert [shortcuts(decoder, joint_state(seed, names, frame)) for seed in range(4)] == [False, True, True, True]


def test_other_names_of_the_same_length_are_noticed() -> None:
    decoder, other = JointStateDecoder(), tuple(reversed(NAMES))
    assert [shortcuts(decoder, joint_state(k, NAMES)) for k in range(2)] == [False, True]
    assert [shortcuts(decoder, joint_state(k, other)) for k in range(2)] == [False, True]
    assert shortcuts(decoder, joint_state(2, NAMES))


def test_publishers_with_joints_of_their_own_share_a_topic() -> None:
    decoder = JointStateDecoder()
    arm, gripper = joint_state(0, NAMES), joint_state(1, ("finger_joint1", "finger_joint2"))
    assert [shortcuts(decoder, each) for each in (arm, gripper, arm, gripper)] == [False, False, True, True]


def test_rows_that_are_missing_or_too_short_come_as_they_are() -> None:
    decoder = JointStateDecoder()
    for _ in range(2):
        for field in ("position", "velocity", "effort"):
            message = joint_state(0)
            setattr(message, field, conversions.doubles(np.zeros(0)))
            assert not shortcuts(decoder, message)
            setattr(message, field, conversions.doubles(np.zeros(6)))
            assert not shortcuts(decoder, message)


def test_names_that_never_repeat_fill_no_memory() -> None:
    decoder = JointStateDecoder()
    for k in range(3 * KINDS):
        shortcuts(decoder, joint_state(0, ("j" * 8 * (k + 1),)))
    assert len(decoder._layouts) <= KINDS


def test_bytes_that_are_no_message_are_refused_in_one_line() -> None:
    """Cut short and with bits turned over, the message is decoded as rclpy does it, or is a SampleError."""
    decoder, rng = JointStateDecoder(), np.random.default_rng(5)
    whole = serialize_message(joint_state(0))
    decoder.decode(whole)
    refused = 0
    for _ in range(300):
        spoilt = bytearray(whole[: rng.integers(len(whole) // 2, len(whole) + 1)])
        for at in rng.integers(len(spoilt), size=rng.integers(4)):
            spoilt[at] ^= 1 << rng.integers(8)
        try:
            expected = deserialize_message(bytes(spoilt), JointState)
        except Exception:
            with pytest.raises(SampleError) as caught:
                decoder.decode(bytes(spoilt))
            assert caught.value.reason == MALFORMED
            assert "\n" not in str(caught.value)
            refused += 1
        else:
            decoded = decoder.decode(bytes(spoilt))
            for field in ("position", "velocity", "effort"):
                np.testing.assert_array_equal(getattr(decoded, field), getattr(expected, field))
            assert (decoded.stamp, decoded.names) == (expected.header.stamp, tuple(expected.name))
    assert 0 < refused < 300


def test_each_byte_counts_if_it_does_for_rclpy() -> None:
    """Gaps between what is aligned hold anything: they spoil no short cut. All the rest is read or noticed."""
    message = joint_state(0, ("a", "bc", "def", "ghij"), "base")
    whole = serialize_message(message)
    gaps = 0
    for at in range(len(whole)):
        decoder, spoilt = JointStateDecoder(), bytearray(whole)
        decoder.decode(whole)
        spoilt[at] ^= 0x55
        try:
            expected = deserialize_message(bytes(spoilt), JointState)
        except Exception:
            with pytest.raises(SampleError):
                decoder.decode(bytes(spoilt))
            continue
        decoded = decoder.decode(bytes(spoilt))
        assert_says_the_same(decoded, expected)
        if expected == message and at >= HEADER:  # whether options of the encoding count is the RMW's to say
            gaps += 1
            assert isinstance(decoded.position, np.ndarray), f"byte {at} says nothing"
    assert gaps > 3
