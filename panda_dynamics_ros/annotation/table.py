# SPDX-License-Identifier: Apache-2.0
"""The table as a Parquet or CSV file, written whole or not at all, and read back for `--resume`."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from panda_dynamics_ros.annotation.rows import COLUMNS, Row
from panda_dynamics_ros.errors import ArgumentError, DataError, MissingDependencyError


def default_name() -> str:
    """`recordings.parquet`, or `recordings.csv` where pyarrow is not installed."""
    return "recordings.csv" if find_spec("pyarrow") is None else "recordings.parquet"


def check_name(path: Path) -> None:
    """Refuse (ArgumentError) a name that is neither .parquet nor .csv, and .parquet where pyarrow is not installed."""
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
    complete = ([_as_text(row.get(name)) for name in COLUMNS] for row in rows)
    try:
        (_write_csv if path.suffix == ".csv" else _write_parquet)(partial, complete)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_table(path: Path) -> Iterator[Row]:
    """The rows of a table that `write_table` wrote, without what is absent; DataError where it is no such table."""
    try:
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as stream:
                table = csv.DictReader(stream)
                names, rows = table.fieldnames, [{k: _parsed(k, text) for k, text in row.items()} for row in table]
        else:
            content = importlib.import_module("pyarrow.parquet").read_table(path)
            names, rows = content.column_names, content.to_pylist()
        if names != list(COLUMNS):
            raise ValueError("other columns")
    except (OSError, ValueError, KeyError, csv.Error) as error:  # ArrowInvalid is a ValueError
        raise DataError(f"{path}: expected the table of an earlier run, got: {error!s:.200}") from error
    for row in rows:
        yield {name: value for name, value in row.items() if value is not None}


def _parsed(name: str, text: str) -> Any:
    if name not in COLUMNS:
        raise ValueError("other columns")
    return (text if COLUMNS[name].type == "text" else json.loads(text)) if text else None


def _as_text(value: Any) -> Any:
    """The value without what is no text: names of files may be any bytes."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _write_csv(path: Path, rows: Iterable[list[Any]]) -> None:
    """All but text is JSON; what is absent is empty."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([each if isinstance(each, str | None) else json.dumps(each) for each in row])


def _write_parquet(path: Path, rows: Iterable[list[Any]]) -> None:
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    types = {"text": arrow.string(), "float": arrow.float64(), "int": arrow.int64(), "bool": arrow.bool_()}
    types["floats"] = arrow.list_(arrow.float64())
    schema = arrow.schema([(name, types[column.type]) for name, column in COLUMNS.items()])
    named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    parquet.write_table(arrow.Table.from_pylist(named, schema), path)
