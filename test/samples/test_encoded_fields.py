# SPDX-License-Identifier: Apache-2.0
"""Marks are found where they are, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from panda_dynamics_ros.samples.encoded_fields import STAMP_MARK, marks, place_of


def test_each_mark_has_a_place_of_its_own() -> None:
    """Runs of a hundred numbers side by side, after a stamp and some text."""
    rows = marks(300).reshape(3, 100)
    encoded = b"abc" + STAMP_MARK.tobytes() + b"panda_joint1" + rows.tobytes() + b"end"
    assert place_of(STAMP_MARK, encoded) == 3
    assert [place_of(row, encoded) for row in rows] == [23, 823, 1623]
    assert [place_of(one, encoded) for one in rows.reshape(300, 1)] == [23 + 8 * k for k in range(300)]


@pytest.mark.parametrize("other_order", [STAMP_MARK.byteswap(), np.tile(STAMP_MARK, 2)], ids=["swapped", "twice"])
def test_what_is_not_there_once_is_not_guessed(other_order: np.ndarray) -> None:
    with pytest.raises(RuntimeError, match="as this machine has them in memory"):
        place_of(STAMP_MARK, other_order.tobytes())
