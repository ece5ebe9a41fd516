# SPDX-License-Identifier: Apache-2.0
"""A message that is published a thousand times a second, encoded once.

From a message's Python objects to bytes rclpy takes longer than all the rest of a publication; its publishers also
take what is encoded already. Where encoding (CDR) puts what is not assumed, but found: by numbers that occur
nowhere else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message

from panda_dynamics_ros.checks import FloatArray

STAMP = struct.Struct("=iI")
MARK = Time(sec=0x5A6B7C0D, nanosec=0x1B2C3D4E)
"""A stamp that nothing else in a message looks like."""


def marks(count: int) -> FloatArray:
    """Numbers (count,) that nothing else in a message looks like."""
    return np.sqrt(2.0 + np.arange(count))


def place_of(mark: Time | FloatArray, encoded: bytes) -> int:
    """Where a mark, which occurs once, begins in an encoded message."""
    wanted = mark.tobytes() if isinstance(mark, np.ndarray) else STAMP.pack(mark.sec, mark.nanosec)
    if encoded.count(wanted) != 1:
        raise RuntimeError("this RMW implementation does not encode numbers as this machine has them in memory")
    return encoded.index(wanted)


class EncodedMessage:
    """A message to be published again and again, with another stamp and other numbers.

    Parameters
    ----------
    make: the message with a stamp, where its type has one, and numbers (count,), which it has without a gap.
    count: how many numbers.
    """

    def __init__(self, make: Callable[[Time, FloatArray], Any], count: int) -> None:
        example, numbers = make(MARK, marks(count)), marks(count)
        encoded = serialize_message(example)
        self._stamp = place_of(MARK, encoded) if hasattr(example, "header") else None
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
