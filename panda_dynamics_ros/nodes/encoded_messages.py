# SPDX-License-Identifier: Apache-2.0
"""Messages written and read a thousand times a second in their encoded form (CDR).

A joint state is decoded, and each of six answers encoded, in a third of the time that rclpy takes. `python -m
benchmarks.one_khz` has the processor's share.
"""

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.nodes.interface import publisher

MALFORMED = "malformed message"
ENCAPSULATION = 4  # bytes before an encoded message
MOST_NAMES = 16  # lists of names that are remembered of a topic
_STAMP = struct.Struct("=iI")
_COUNT = struct.Struct("=I")
_TEXTS = ENCAPSULATION + _STAMP.size  # where frame and names of a joint state begin


class NumberPublisher:
    """Publishes a message again and again with another stamp and other numbers; it is encoded once.

    Numbers that are not finite are not published: an absurd sample may overflow on its way through the model.

    make: the message with numbers (count,), of any stamp. It is called with the first message that is published, when
        names and frames are known. The stamp, where its type has one, is the first of its fields, the numbers the last.
    count: how many numbers.
    handle: that of its rclpy publisher, whose own methods take three times as long.
    """

    def __init__(self, node: Node, kind: type, topic: str, make: Callable[[FloatArray], Any], count: int) -> None:
        opened = publisher(node, kind, topic)
        self.handle, self._topic, self._logger = opened.handle, opened.topic_name, node.get_logger()
        self._make, self._count = make, count
        self._has_stamp = hasattr(kind, "header")
        self._encoded = bytearray()

    def publish(self, stamp: Time, numbers: FloatArray) -> None:
        """Publish `numbers` (count,), or (rows, columns) row by row, in the message of a stamp, if anybody listens."""
        if not self.handle.get_subscription_count():
            return
        if not math.isfinite(np.vdot(numbers, numbers)):
            self._logger.warning(f"{self._topic}: not published, since it is not finite", throttle_duration_sec=5.0)
            return
        encoded = self._encoded = self._encoded or self._encode()
        if self._has_stamp:
            _STAMP.pack_into(encoded, ENCAPSULATION, stamp.sec, stamp.nanosec)
        encoded[-8 * self._count :] = numbers.tobytes()
        self.handle.publish_raw(bytes(encoded))

    def _encode(self) -> bytearray:
        numbers: FloatArray = np.pi + np.arange(self._count, dtype=np.float64)
        encoded = serialize_message(self._make(numbers))
        end = encoded.rfind(numbers.tobytes()) + numbers.nbytes  # Fast CDR may leave some bytes unused behind it
        return bytearray(encoded[:end])


class JointStateDecoder:
    """Decodes joint states: of frame and names that rclpy has decoded before, only the stamp and three full rows."""

    def __init__(self) -> None:
        self._plain = bytes(serialize_message(JointState()))[:ENCAPSULATION]
        # By frame and names, encoded: the names, and where the rows' numbers of entries and the first row are.
        self._layouts: dict[bytes, tuple[tuple[str, ...], int, struct.Struct, int]] = {}

    def decode(self, encoded: bytes) -> tuple[Time, tuple[str, ...], FloatArray, FloatArray, FloatArray]:
        """Stamp, names, position, velocity and effort of a message.

        Raises SampleError: it cannot be decoded.
        """
        for texts, (names, at, counts, first) in self._layouts.items():
            count, step = len(names), 8 * len(names) + 8
            if (
                encoded.startswith(texts, _TEXTS)
                and encoded.startswith(self._plain)
                and len(encoded) >= first + 3 * step - 8
                and counts.unpack_from(encoded, at) == (count, count, count)
            ):
                sec, nanosec = _STAMP.unpack_from(encoded, ENCAPSULATION)
                position, velocity, effort = np.ndarray((3, count), np.float64, encoded, first, (step, 8))
                return Time(sec=sec, nanosec=nanosec), names, position, velocity, effort
        try:
            message = deserialize_message(encoded, JointState)
        except Exception as error:  # RMWError, which rclpy does not export, and UnicodeDecodeError for names
            words = f"message: expected a JointState, got {len(encoded)} bytes: {' '.join(str(error).split())}"
            raise SampleError(words, MALFORMED) from error
        names = tuple(message.name)
        if names and encoded.startswith(self._plain):
            self._remember(encoded, names)
        position, velocity, effort = (np.array(row) for row in (message.position, message.velocity, message.effort))
        return message.header.stamp, names, position, velocity, effort

    def _remember(self, encoded: bytes, names: tuple[str, ...]) -> None:
        """CDR: counts begin at multiples of 4 after the encapsulation, doubles at multiples of 8."""
        at = _after_text(encoded, _TEXTS) + _COUNT.size
        for _ in names:
            at = _after_text(encoded, at)
        first = at + 4 + at % 8  # `at` is a multiple of 4, and doubles begin 4 bytes after a multiple of 8
        counts = struct.Struct(f"=I{first - at - 4 + 8 * len(names)}xI{4 + 8 * len(names)}xI")
        if len(self._layouts) >= MOST_NAMES:
            self._layouts.clear()
        self._layouts[encoded[_TEXTS:at]] = names, at, counts, first


def _after_text(encoded: bytes, at: int) -> int:
    """Where the next count is, after a text's own."""
    (length,) = _COUNT.unpack_from(encoded, at)
    return int(at + 4 + (length + 3 & ~3))
