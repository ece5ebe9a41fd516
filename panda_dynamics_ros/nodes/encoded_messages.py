# SPDX-License-Identifier: Apache-2.0
"""Messages written and read a thousand times a second in their encoded form (CDR).

A joint state is decoded, and each of six answers encoded, in a third of the time that rclpy takes. `python -m
benchmarks.one_khz` has the processor's share.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.nodes.interface import publisher

MALFORMED = "malformed message"
HEADER = 4  # bytes of encapsulation before an encoded message
MOST_NAMES = 16  # lists of names that are remembered of a topic
_STAMP = struct.Struct("=iI")
_COUNT = struct.Struct("=I")


class NumberPublisher:
    """Publishes a message again and again with another stamp and other numbers; it is encoded once.

    Numbers that are not finite are not published: an absurd sample may overflow on its way through the model.

    Parameters
    ----------
    make: the message with a stamp, where its type has one, and numbers (count,). It is called with the first message
        that is published, when names and frames are known. The stamp is the first of its fields, the numbers the last.
    count: how many numbers.
    """

    def __init__(
        self, node: Node, message_type: type, topic: str, make: Callable[[Time, FloatArray], Any], count: int
    ) -> None:
        self._publisher, self._make = publisher(node, message_type, topic), make
        self._logger, self._count = node.get_logger(), count
        self._has_stamp = hasattr(message_type, "header")
        self._encoded = bytearray()

    def publish(self, stamp: Time, numbers: FloatArray) -> None:
        """Publish `numbers` (count,), or (rows, columns) row by row, in the message of a stamp."""
        if not np.isfinite(numbers).all():
            topic = self._publisher.topic_name
            self._logger.warning(f"{topic}: not published, since it is not finite", throttle_duration_sec=5.0)
            return
        encoded = self._encoded = self._encoded or self._encode()
        if self._has_stamp:
            _STAMP.pack_into(encoded, HEADER, stamp.sec, stamp.nanosec)
        encoded[-8 * self._count :] = numbers.tobytes()
        self._publisher.publish(bytes(encoded))

    def _encode(self) -> bytearray:
        numbers: FloatArray = np.pi + np.arange(self._count, dtype=np.float64)
        encoded = serialize_message(self._make(Time(), numbers))
        end = encoded.rfind(numbers.tobytes()) + numbers.nbytes  # Fast CDR may leave some bytes unused behind it
        return bytearray(encoded[:end])


class DecodedJointState(NamedTuple):
    """The fields of a JointState that this package reads."""

    stamp: Time
    names: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class JointStateDecoder:
    """Decodes joint states: of frame and names that rclpy has decoded before, only the stamp and three full rows."""

    def __init__(self) -> None:
        self._plain = bytes(serialize_message(JointState()))[:HEADER]
        self._names: dict[bytes, tuple[str, ...]] = {}

    def decode(self, encoded: bytes) -> DecodedJointState:
        """The message.

        Raises
        ------
        SampleError: it cannot be decoded.
        """
        texts = b""
        with contextlib.suppress(struct.error, ValueError):  # no plain CDR, or rows that are not full
            texts, *rows = self._read(encoded)
            if names := self._names.get(texts):
                sec, nanosec = _STAMP.unpack_from(encoded, HEADER)
                return DecodedJointState(Time(sec=sec, nanosec=nanosec), names, *rows)
        try:
            message = deserialize_message(encoded, JointState)
        except Exception as error:  # RMWError, which rclpy does not export, and UnicodeDecodeError for names
            reason = " ".join(str(error).split())
            words = f"message: expected a JointState, got {len(encoded)} bytes: {reason}"
            raise SampleError(words, MALFORMED) from error
        if texts:
            if len(self._names) >= MOST_NAMES:
                self._names.clear()
            self._names[texts] = tuple(message.name)
        rows = [np.array(row) for row in (message.position, message.velocity, message.effort)]
        return DecodedJointState(message.header.stamp, tuple(message.name), *rows)

    def _read(self, encoded: bytes) -> list[Any]:
        """The bytes of frame and names, and three rows of as many numbers as names.

        CDR: counts begin at multiples of 4 after the encapsulation, doubles at multiples of 8.
        """
        if encoded[:HEADER] != self._plain:
            raise ValueError("not plain CDR")
        begin = HEADER + _STAMP.size
        at = _after_text(encoded, begin)
        (count,) = _COUNT.unpack_from(encoded, at)
        at += 4
        for _ in range(count):
            at = _after_text(encoded, at)
        found: list[Any] = [encoded[begin:at]]
        for _ in range(3):
            if _COUNT.unpack_from(encoded, at) != (count,) or count == 0:
                raise ValueError("a row is not full")
            at += 4 + at % 8  # `at` is a multiple of 4, and doubles begin 4 bytes after a multiple of 8
            found.append(np.frombuffer(encoded, np.float64, count, at))
            at += 8 * count
        return found


def _after_text(encoded: bytes, at: int) -> int:
    """Where the next count is, after a text's own."""
    (length,) = _COUNT.unpack_from(encoded, at)
    return at + 4 + (length + 3 & ~3)
