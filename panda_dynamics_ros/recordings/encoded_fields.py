# SPDX-License-Identifier: Apache-2.0
"""Where the encoding (CDR) of a message has its stamp and its numbers, found by encoding it with marks.

Text of the message may have the bytes of a mark, too: a stamp is the first field of a message, so that the first
occurrence of its mark counts, and numbers are the last fields, so that theirs is the last occurrence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import EncodingError

STAMP_MARK = np.array([0x5A6B7C0D, 0x1B2C3D4E], dtype=np.uint32)
"""Seconds and nanoseconds of a stamp that is a mark."""

_FIRST = 1.2345678901234567e200


def marks(count: int) -> FloatArray:
    """Numbers (count,), all different, that are marks."""
    return np.asarray(_FIRST * (1.0 + np.arange(count)), dtype=np.float64)


def first_place(mark: NDArray[Any], encoded: bytes) -> int:
    """The index at which a mark begins for the first time in an encoded message.

    Raises
    ------
    EncodingError: it does not occur, so that numbers are not encoded as they lie in memory.
    """
    return _checked(encoded.find(mark.tobytes()), mark)


def last_place(mark: NDArray[Any], encoded: bytes) -> int:
    """The index at which a mark begins for the last time in an encoded message.

    Raises
    ------
    EncodingError: as `first_place`.
    """
    return _checked(encoded.rfind(mark.tobytes()), mark)


def _checked(place: int, mark: NDArray[Any]) -> int:
    if place < 0:
        raise EncodingError(
            f"encoded: expected the {mark.nbytes} bytes of a mark as this machine has them in memory, got none such"
        )
    return place
