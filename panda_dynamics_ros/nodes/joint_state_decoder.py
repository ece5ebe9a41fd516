# SPDX-License-Identifier: Apache-2.0
"""Reads encoded joint states: a stream repeats its names, so that only the stamp and three rows of numbers are new."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.encoded_message import MARKED, STAMP
from panda_dynamics_ros.samples.encoded_fields import STAMP_MARK, marks, place_of

MALFORMED = "malformed message"
HEADER = 4  # bytes of encapsulation before an encoded message
_COUNT = struct.Struct("=I")
KINDS = 16  # of messages on one topic whose layout is remembered


class DecodedJointState(NamedTuple):
    """The fields of a JointState that this package looks at."""

    stamp: Time
    names: tuple[str, ...]
    position: Sequence[float] | FloatArray
    velocity: Sequence[float] | FloatArray
    effort: Sequence[float] | FloatArray


class _Layout(NamedTuple):
    """Where an encoded message of this length, with these names, has its stamp and its rows, and what else it says.

    `mask` has the bytes that say something and are neither stamp nor number: an encoder leaves in the gaps between
    what it aligns whatever was there. Both are integers, in which Python compares fastest.
    """

    length: int
    names: tuple[str, ...]
    stamp: int
    rows: tuple[int, ...]
    mask: int
    content: int

    def fits(self, encoded: bytes) -> bool:
        """Whether a message differs in its stamp and its numbers only."""
        return len(encoded) == self.length and int.from_bytes(encoded, "little") & self.mask == self.content


class JointStateDecoder:
    """Decodes the messages of one topic; those that are like one before by a short cut, the others as rclpy does."""

    def __init__(self) -> None:
        self._layouts: list[_Layout] = []

    def decode(self, encoded: bytes) -> DecodedJointState:
        """The message.

        Raises
        ------
        SampleError: it cannot be decoded.
        """
        layout = next((each for each in self._layouts if each.fits(encoded)), None)
        if layout is None:
            return self._decode_anew(encoded)
        sec, nanosec = STAMP.unpack_from(encoded, layout.stamp)
        count = len(layout.names)
        rows = [np.frombuffer(encoded, np.float64, count, first) for first in layout.rows]
        return DecodedJointState(Time(sec=sec, nanosec=nanosec), layout.names, *rows)

    def _decode_anew(self, encoded: bytes) -> DecodedJointState:
        try:
            message = deserialize_message(encoded, JointState)
        except Exception as error:  # RMWError, which rclpy does not export, and UnicodeDecodeError for names
            reason = " ".join(str(error).split())
            raise SampleError(
                f"message: expected a JointState, got {len(encoded)} bytes: {reason}", MALFORMED
            ) from error
        names = tuple(message.name)
        if names and len(names) == len(message.position) == len(message.velocity) == len(message.effort):
            layout = _layout_of(message, names, len(encoded))
            if layout.fits(encoded):
                self._layouts = [*self._layouts[-KINDS + 1 :], layout]
        return DecodedJointState(message.header.stamp, names, message.position, message.velocity, message.effort)


def _layout_of(message: JointState, names: tuple[str, ...], length: int) -> _Layout:
    """The layout of an encoded message of this length with three full rows."""
    rows = marks(3 * len(names)).reshape(3, -1)
    example = JointState(name=names)
    example.header.stamp, example.header.frame_id = MARKED, message.header.frame_id
    example.position, example.velocity, example.effort = [conversions.doubles(row) for row in rows]
    encoded = serialize_message(example)
    stamp, firsts = place_of(STAMP_MARK, encoded), tuple(place_of(row, encoded) for row in rows)
    count = _COUNT.pack(len(names))
    mask = bytearray(len(encoded))
    mask[:HEADER] = b"\xff" * HEADER  # the encoding, its byte order and options
    at = _mark_next(_text(message.header.frame_id), encoded, stamp + STAMP.size, mask)
    for said in (count, *map(_text, names)):
        at = _mark_next(said, encoded, at, mask)
    for first in firsts:
        _mark_next(count, encoded, at, mask)
        at = first + rows[0].nbytes
    ones = int.from_bytes(mask, "little")
    return _Layout(length, names, stamp, firsts, ones, int.from_bytes(encoded, "little") & ones)


def _text(text: str) -> bytes:
    """A string in CDR: its length with the zero at its end, and its bytes."""
    said = text.encode() + b"\0"
    return _COUNT.pack(len(said)) + said


def _mark_next(said: bytes, encoded: bytes, at: int, mask: bytearray) -> int:
    """Note in the mask where `said` comes next after `at`; returns where it ends."""
    start = encoded.index(said, at)
    end = start + len(said)
    mask[start:end] = b"\xff" * len(said)
    return end
