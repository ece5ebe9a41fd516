# SPDX-License-Identifier: Apache-2.0
"""Messages written and read a thousand times a second in their encoded form (CDR).

rclpy takes longer to convert a message's Python objects to bytes, or bytes to objects, than for all the rest of a
publication. Its publishers also take encoded messages, and its subscriptions can hand them over.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.recordings.messages import STAMP_MARK, marks, place_of

MALFORMED = "malformed message"
HEADER = 4  # bytes of encapsulation before an encoded message
KINDS = 16  # of messages on one topic whose layout is remembered
_STAMP = struct.Struct("=iI")
_COUNT = struct.Struct("=I")
_DOUBLE = 8  # bytes


class EncodedMessage:
    """A message that is published again and again with another stamp and other numbers, encoded once.

    Parameters
    ----------
    make: the message with a stamp, where its type has one, and numbers (count,). Its stamp is the first of its
        fields, and the numbers are the last, without a gap: so text in between may hold any bytes.
    count: how many numbers.
    """

    def __init__(self, make: Callable[[Time, FloatArray], Any], count: int) -> None:
        numbers = marks(count)
        example = make(Time(sec=int(STAMP_MARK[0]), nanosec=int(STAMP_MARK[1])), numbers)
        encoded = serialize_message(example)
        self._stamp = place_of(STAMP_MARK, encoded) if hasattr(example, "header") else None
        self._numbers = slice(begin := place_of(numbers, encoded), begin + numbers.nbytes)
        self._size = numbers.nbytes
        self._buffer = bytearray(encoded)

    def at(self, stamp: Time, numbers: FloatArray) -> bytes:
        """What to publish; `numbers` of any shape, row by row."""
        if self._stamp is not None:
            _STAMP.pack_into(self._buffer, self._stamp, stamp.sec, stamp.nanosec)
        packed = numbers.tobytes()
        if len(packed) != self._size:  # it would be another message, with its numbers elsewhere
            raise ValueError(f"numbers: expected {self._size // 8} doubles, got an array of shape {numbers.shape}")
        self._buffer[self._numbers] = packed
        return bytes(self._buffer)


class DecodedJointState(NamedTuple):
    """The fields of a JointState that this package reads."""

    stamp: Time
    names: tuple[str, ...]
    position: Sequence[float] | FloatArray
    velocity: Sequence[float] | FloatArray
    effort: Sequence[float] | FloatArray


class JointStateDecoder:
    """Decodes the messages of one topic.

    A stream repeats its names: of a message that has the layout of an earlier one, only the stamp and three rows of
    numbers are read. rclpy decodes all others.
    """

    def __init__(self) -> None:
        self._layouts: list[_Layout] = []

    def decode(self, encoded: bytes) -> DecodedJointState:
        """The message.

        Raises
        ------
        SampleError: it cannot be decoded.
        """
        layout = next((each for each in self._layouts if each.fits(encoded)), None)
        return layout.read(encoded) if layout is not None else self._decode_with_rclpy(encoded)

    def _decode_with_rclpy(self, encoded: bytes) -> DecodedJointState:
        try:
            message = deserialize_message(encoded, JointState)
        except Exception as error:  # RMWError, which rclpy does not export, and UnicodeDecodeError for names
            reason = " ".join(str(error).split())
            raise SampleError(
                f"message: expected a JointState, got {len(encoded)} bytes: {reason}", MALFORMED
            ) from error
        rows = message.position, message.velocity, message.effort
        decoded = DecodedJointState(message.header.stamp, tuple(message.name), *rows)
        layout = _layout_of(encoded, decoded)
        if layout is not None:
            self._layouts = [*self._layouts[-KINDS + 1 :], layout]
        return decoded


class _Layout(NamedTuple):
    """Where an encoded message of this length and with these names has its stamp and its rows.

    `mask` marks the bytes that are text, counts or the encapsulation; what is neither in it nor a number is padding,
    in which an encoder may leave anything. Mask and content are integers, which Python compares fastest.
    """

    length: int
    names: tuple[str, ...]
    rows: tuple[int, ...]
    mask: int
    content: int

    def fits(self, encoded: bytes) -> bool:
        """Whether a message differs in its stamp and its numbers only."""
        return len(encoded) == self.length and int.from_bytes(encoded, "little") & self.mask == self.content

    def read(self, encoded: bytes) -> DecodedJointState:
        """The message, if it fits."""
        sec, nanosec = _STAMP.unpack_from(encoded, HEADER)
        rows = [np.frombuffer(encoded, np.float64, len(self.names), begin) for begin in self.rows]
        return DecodedJointState(Time(sec=sec, nanosec=nanosec), self.names, *rows)


def _layout_of(encoded: bytes, decoded: DecodedJointState) -> _Layout | None:
    """The layout of a message with three full rows.

    None where the layout, read as plain CDR in this machine's byte order, gives anything else than rclpy read.
    """
    count = len(decoded.names)
    if not count == len(decoded.position) == len(decoded.velocity) == len(decoded.effort) != 0:
        return None
    mask = bytearray(len(encoded))
    try:
        rows = _walk(encoded, mask)
        ones = int.from_bytes(mask, "little")
        layout = _Layout(len(encoded), decoded.names, rows, ones, int.from_bytes(encoded, "little") & ones)
        read = layout.read(encoded)
    except (struct.error, ValueError):  # not plain CDR
        return None
    same = (
        read.stamp == decoded.stamp
        and all(
            np.array(mine).tobytes() == np.array(theirs).tobytes()  # bytes, since nan is not nan
            for mine, theirs in zip(read[2:], decoded[2:], strict=True)
        )
    )
    return layout if same else None


def _walk(encoded: bytes, mask: bytearray) -> tuple[int, ...]:
    """Where the three rows begin; notes in `mask` which bytes are text, counts or the encapsulation.

    CDR: a 4-byte count or length begins at a multiple of 4 after the encapsulation, doubles at a multiple of 8.
    """

    def counted(at: int, size: int) -> tuple[int, int, int]:
        """The count at the next multiple of 4, where what it counts would begin, and where that ends."""
        at += -(at - HEADER) % 4
        (count,) = _COUNT.unpack_from(encoded, at)
        mask[at : at + 4] = b"\xff" * 4
        begin = at + 4
        begin += -(begin - HEADER) % size
        end = begin + count * size
        if end > len(encoded):
            raise ValueError(f"{count} elements go beyond the end of the message")
        return count, begin, end

    def text(at: int) -> int:
        length, begin, end = counted(at, 1)
        mask[begin:end] = b"\xff" * length
        return end

    mask[:HEADER] = b"\xff" * HEADER
    at = text(HEADER + _STAMP.size)
    count, at, _ = counted(at, 1)
    for _ in range(count):
        at = text(at)
    rows = []
    for _ in range(3):
        _, begin, at = counted(at, _DOUBLE)
        rows.append(begin)
    return tuple(rows)
