# SPDX-License-Identifier: Apache-2.0
"""The layout for RViz has only classes and properties that RViz knows; it ignores others without a word.

The names are from RViz's own source (`test/rviz_names.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).resolve().parent
NAMES = yaml.safe_load((HERE / "rviz_names.yaml").read_text(encoding="utf-8"))
LAYOUT = yaml.safe_load((HERE.parent / "config" / "panda_dynamics.rviz").read_text(encoding="utf-8"))


def unknown(part: Any, known: frozenset[str] = frozenset(NAMES["common"])) -> Iterator[str]:
    """Names in a part of a layout that RViz does not know, in what has a class by those of the class."""
    if isinstance(part, list):
        for each in part:
            yield from unknown(each, known)
    if not isinstance(part, dict):
        return
    kind = part.get("Class")
    if kind:
        known = frozenset(NAMES["common"]) | frozenset(NAMES["properties"].get(kind, ()))
        if kind not in NAMES["classes"]:
            yield kind
    for name, value in part.items():
        if name not in known:
            yield name
        if name != "Namespaces":  # its names are those of the markers
            yield from unknown(value, known)


def test_rviz_knows_every_name_of_the_layout() -> None:
    assert list(unknown(LAYOUT)) == []


def test_nothing_of_a_display_that_is_off_is_drawn() -> None:
    """RViz draws the covariance of a pose whose display is disabled, if the layout has a setting of it."""
    for display in LAYOUT["Visualization Manager"]["Displays"]:
        assert display["Enabled"] or "Covariance" not in display


@pytest.mark.parametrize(
    "part",
    [
        {"Class": "rviz_default_plugins/Pos"},
        {"Class": "rviz_default_plugins/Grid", "Axes Length": 0.1},
        {"Views": {"Current": {"Class": "rviz_default_plugins/Orbit", "Focal point": {"X": 0.0}}}},
    ],
)
def test_a_wrong_name_is_found(part: dict[str, Any]) -> None:
    assert len(list(unknown(part))) == 1
