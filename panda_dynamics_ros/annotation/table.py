# SPDX-License-Identifier: Apache-2.0
"""The table as a Parquet or CSV file, written whole or not at all, a few thousand rows at a time."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from panda_dynamics_ros.annotation.rows import COLUMNS, Row
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError

ROWS = 5000
"""Rows that are written at once."""


def default_name() -> str:
    """`recordings.parquet`, or `recordings.csv` where pyarrow is not installed."""
    return "recordings.csv" if find_spec("pyarrow") is None else "recordings.parquet"


def table_writer(path: Path) -> Callable[[Iterable[Row]], None]:
    """What writes rows to a file, by its name's ending.

    Raises
    ------
    ArgumentError: the name ends neither in .parquet nor in .csv.
    MissingDependencyError: pyarrow is needed and not installed.
    """
    if path.suffix == ".csv":
        return lambda rows: _replacing(path, rows, _write_csv)
    if path.suffix != ".parquet":
        raise ArgumentError(f"--output: expected a name that ends in .parquet or .csv, got {str(path)!r}")
    if find_spec("pyarrow") is None:
        raise MissingDependencyError(
            "pyarrow: expected it to be installed for Parquet (pip install 'panda_dynamics_ros[datasets]'), got "
            "nothing; a name that ends in .csv needs no library"
        )
    return lambda rows: _replacing(path, rows, _write_parquet)


def _replacing(path: Path, rows: Iterable[Row], write: Callable[[Path, Iterable[Row]], None]) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        write(partial, rows)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Numbers of a list are separated by blanks; what is absent is empty."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([_cell(row.get(name)) for name in COLUMNS])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(map(repr, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write_parquet(path: Path, rows: Iterable[Row]) -> None:
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    types = {"text": arrow.string(), "float": arrow.float64(), "int": arrow.int64(), "bool": arrow.bool_()}
    types["floats"] = arrow.list_(arrow.float64())
    schema = arrow.schema([(name, types[column.type]) for name, column in COLUMNS.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        for some in _by(ROWS, rows):
            columns = {name: [row.get(name) for row in some] for name in COLUMNS}
            writer.write_table(arrow.table(columns, schema=schema))


def _by(count: int, rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while some := list(islice(remaining, count)):
        yield some
