# SPDX-License-Identifier: Apache-2.0
"""What each kind of bag file offers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol


class Topic(NamedTuple):
    """A topic of a recording."""

    name: str
    type: str
    messages: int


class BagFile(Protocol):
    """One file of a recording.

    `topics` have the number of messages that can be read; `damage` says why reading stopped early, and is empty
    while nothing was found wrong.
    """

    path: Path
    topics: list[Topic]
    damage: str

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """(receive time in ns, serialised message) of a topic."""
