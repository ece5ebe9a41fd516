# SPDX-License-Identifier: Apache-2.0
"""What a command that writes files says at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from panda_dynamics_ros.reporting.console import print_table

Table = tuple[str, list[tuple[str, str]]]
"""Title and rows."""


def answer(as_json: bool, summary: dict[str, Any], tables: Sequence[Table], files: Sequence[Path]) -> None:
    """To a program the summary and nothing else; to a person the tables, and where the files are."""
    if as_json:
        print(json.dumps(summary), flush=True)
        return
    for table in tables:
        print_table(*table)
    print("written: " + ", ".join(map(str, files)), flush=True)
