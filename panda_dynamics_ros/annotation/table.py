# SPDX-License-Identifier: Apache-2.0
"""The table as a Parquet or CSV file, written whole or not at all, and read back for `--resume`."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from panda_dynamics_ros.annotation.rows import COLUMNS, Row
from panda_dynamics_ros.errors import ArgumentError, DataError, MissingDependencyError

ROWS = 5000
"""Rows that are written at once."""


def default_name() -> str:
    """`recordings.parquet`, or `recordings.csv` where pyarrow is not installed."""
    return "recordings.csv" if find_spec("pyarrow") is None else "recordings.parquet"


def check_name(path: Path) -> None:
    """Refuse a name that is neither .parquet nor .csv.

    Raises
    ------
    ArgumentError: it is neither.
    MissingDependencyError: pyarrow is needed and not installed.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise ArgumentError(f"--output: expected a name that ends in .parquet or .csv, got {str(path)!r}")
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise MissingDependencyError(
            "pyarrow: expected it to be installed for Parquet (pip install 'panda_dynamics_ros[datasets]'), got "
            "nothing; a name that ends in .csv needs no library"
        )


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write all rows, in place of what is there."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        (_write_csv if path.suffix == ".csv" else _write_parquet)(partial, map(_as_text, rows))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_table(path: Path) -> Iterator[Row]:
    """The rows of a table that `write_table` wrote, without what is absent.

    Raises
    ------
    DataError: it is no such table.
    """
    try:
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as stream:
                table = csv.DictReader(stream)
                if table.fieldnames != list(COLUMNS):
                    raise ValueError("other columns")
                for cells in table:
                    given = {name: text for name, text in cells.items() if text}
                    yield {k: each if COLUMNS[k].type == "text" else json.loads(each) for k, each in given.items()}
            return
        with importlib.import_module("pyarrow.parquet").ParquetFile(path) as table:
            if table.schema_arrow.names != list(COLUMNS):
                raise ValueError("other columns")
            for batch in table.iter_batches(ROWS):
                for row in batch.to_pylist():
                    yield {name: value for name, value in row.items() if value is not None}
    except (OSError, ValueError, KeyError, csv.Error) as error:  # ArrowInvalid is a ValueError
        raise DataError(f"{path}: expected the table of an earlier run, got: {error!s:.200}") from error


def _as_text(row: Row) -> Row:
    """The row without what is no text: names of files may be any bytes."""
    return {
        name: value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def _write_csv(path: Path, rows: Iterable[Row]) -> None:
    """All but text is JSON; what is absent is empty."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for row in rows:
            cells = (row.get(name) for name in COLUMNS)
            writer.writerow(
                ["" if each is None else each if isinstance(each, str) else json.dumps(each) for each in cells]
            )


def _write_parquet(path: Path, rows: Iterable[Row]) -> None:
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    types = {"text": arrow.string(), "float": arrow.float64(), "int": arrow.int64(), "bool": arrow.bool_()}
    types["floats"] = arrow.list_(arrow.float64())
    schema = arrow.schema([(name, types[column.type]) for name, column in COLUMNS.items()])
    remaining = iter(rows)
    with parquet.ParquetWriter(path, schema) as writer:
        while some := list(islice(remaining, ROWS)):
            writer.write_table(arrow.Table.from_pylist(some, schema))
