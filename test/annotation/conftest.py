# SPDX-License-Identifier: Apache-2.0
"""The task of most tests, and a table that is read back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.annotation.rows import COLUMNS, Row
from panda_dynamics_ros.annotation.task import Task

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def task() -> Task:
    return Task.of(pdr.load_robot("panda"), {})


@pytest.fixture
def read_table() -> Callable[[Path], list[Row]]:
    """Rows of a Parquet table, without the empty cells."""

    def read(path: Path) -> list[dict[str, Any]]:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(path)
        assert table.column_names == list(COLUMNS)
        return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]

    return read
