# SPDX-License-Identifier: Apache-2.0
"""A message that is published a thousand times a second, encoded once.

From a message's Python objects to bytes rclpy takes longer than all the rest of a publication; its publishers also
take what is encoded already.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.samples.encoded_fields import STAMP_MARK, marks, place_of

STAMP = struct.Struct("=iI")
MARKED = Time(sec=int(STAMP_MARK[0]), nanosec=int(STAMP_MARK[1]))
"""The stamp of a message whose places are to be found."""


class EncodedMessage:
    """A message to be published again and again, with another stamp and other numbers.

    Parameters
    ----------
    make: the message with a stamp, where its type has one, and numbers (count,), which it has without a gap.
    count: how many numbers.
    """

    def __init__(self, make: Callable[[Time, FloatArray], Any], count: int) -> None:
        example, numbers = make(MARKED, marks(count)), marks(count)
        encoded = serialize_message(example)
        self._stamp = place_of(STAMP_MARK, encoded) if hasattr(example, "header") else None
        self._numbers = slice(first := place_of(numbers, encoded), first + numbers.nbytes)
        self._size = numbers.nbytes
        self._buffer = bytearray(encoded)

    def at(self, stamp: Time, numbers: FloatArray) -> bytes:
        """What to publish; `numbers` of any shape, row by row."""
        if self._stamp is not None:
            STAMP.pack_into(self._buffer, self._stamp, stamp.sec, stamp.nanosec)
        packed = numbers.tobytes()
        if len(packed) != self._size:  # it would be another message, with its numbers elsewhere
            raise ValueError(f"numbers: expected {self._size // 8} doubles, got an array of shape {numbers.shape}")
        self._buffer[self._numbers] = packed
        return bytes(self._buffer)
