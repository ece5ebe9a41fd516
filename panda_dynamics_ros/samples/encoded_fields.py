# SPDX-License-Identifier: Apache-2.0
"""Where the encoding (CDR) of a message puts its stamp and its numbers: not assumed, but found.

A message is encoded with marks in these places, numbers that occur nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray

STAMP_MARK = np.array([0x5A6B7C0D, 0x1B2C3D4E], dtype=np.uint32)
"""Seconds and nanoseconds that nothing else in a message looks like."""

_FIRST = 1.2345678901234567e200


def marks(count: int) -> FloatArray:
    """Numbers (count,) that nothing else in a message looks like, all different."""
    return np.asarray(_FIRST * (1.0 + np.arange(count)), dtype=np.float64)


def place_of(mark: NDArray[Any], encoded: bytes) -> int:
    """Where a mark begins in an encoded message.

    Raises
    ------
    RuntimeError: it does not occur exactly once, so that numbers are not encoded as they lie in memory.
    """
    wanted = mark.tobytes()
    if encoded.count(wanted) != 1:
        raise RuntimeError("this encoding of messages does not have numbers as this machine has them in memory")
    return encoded.index(wanted)
