# SPDX-License-Identifier: Apache-2.0
"""Where the encoding (CDR) of a message puts its stamp and its numbers: not assumed, but found.

A message is encoded with marks in these places. Text of the message may hold the bytes of a mark, too: a stamp is a
message's first field, so that the first occurrence of its mark counts, and numbers are the last, so that theirs is
the last occurrence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray

STAMP_MARK = np.array([0x5A6B7C0D, 0x1B2C3D4E], dtype=np.uint32)
"""Seconds and nanoseconds of the mark."""

_FIRST = 1.2345678901234567e200


def marks(count: int) -> FloatArray:
    """Numbers (count,), all different, that stand for those to come."""
    return np.asarray(_FIRST * (1.0 + np.arange(count)), dtype=np.float64)


def first_place(mark: NDArray[Any], encoded: bytes) -> int:
    """Where a mark first begins in an encoded message.

    Raises
    ------
    RuntimeError: it does not occur, so that numbers are not encoded as they lie in memory.
    """
    return _found(encoded.find(mark.tobytes()))


def last_place(mark: NDArray[Any], encoded: bytes) -> int:
    """Where a mark last begins in an encoded message.

    Raises
    ------
    RuntimeError: as `first_place`.
    """
    return _found(encoded.rfind(mark.tobytes()))


def _found(place: int) -> int:
    if place < 0:
        raise RuntimeError("this encoding of messages does not have numbers as this machine has them in memory")
    return place
