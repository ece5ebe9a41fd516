# SPDX-License-Identifier: Apache-2.0
"""Marks are found where they are, whatever text an encoded message has."""

from __future__ import annotations

import pytest

from panda_dynamics_ros import PandaDynamicsError
from panda_dynamics_ros.recordings.encoded_fields import STAMP_MARK, first_place, last_place, marks


@pytest.mark.parametrize("text", [b"panda_joint1", STAMP_MARK.tobytes(), marks(300).tobytes()])
def test_each_mark_has_a_place_of_its_own(text: bytes) -> None:
    """Runs of a hundred numbers side by side, after a stamp and some text, which may have the marks' bytes."""
    rows = marks(300).reshape(3, 100)
    encoded = b"abc" + STAMP_MARK.tobytes() + text + rows.tobytes() + b"end"
    assert first_place(STAMP_MARK, encoded) == 3
    first = 11 + len(text)
    assert [last_place(row, encoded) for row in rows] == [first, first + 800, first + 1600]
    assert [last_place(one, encoded) for one in rows.reshape(300, 1)] == [first + 8 * k for k in range(300)]


@pytest.mark.parametrize("place", [first_place, last_place])
def test_a_mark_that_is_not_there_is_refused(place: object) -> None:
    with pytest.raises(PandaDynamicsError, match="as this machine has them in memory"):
        place(STAMP_MARK, STAMP_MARK.byteswap().tobytes())  # type: ignore[operator]
