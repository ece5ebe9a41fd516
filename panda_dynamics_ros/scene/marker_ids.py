# SPDX-License-Identifier: Apache-2.0
"""Which marker of RViz is which shape, and which of them a scene no longer has: the same in nodes and replays."""

from __future__ import annotations

from panda_dynamics_ros.scene.shapes import Shape

Key = tuple[str, int]
"""What RViz knows a marker by: `ns` and `id`."""


class MarkerIds:
    """Keys of the markers of one topic. `ns` is the shape's layer, which RViz can hide; `id` stays that of its name."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._shown: set[Key] = set()

    def key(self, shape: Shape) -> Key:
        """That of a shape's marker."""
        return shape.layer, self._ids.setdefault(shape.name, len(self._ids))

    def gone(self, shown: set[Key]) -> list[Key]:
        """Markers to be deleted: those of the last call that are not shown any more."""
        gone, self._shown = sorted(self._shown - shown), shown
        return gone
