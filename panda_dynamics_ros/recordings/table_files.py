# SPDX-License-Identifier: Apache-2.0
"""Joint states in tables: CSV (also compressed by gzip), NumPy's npz, HDF5 and Parquet."""

from __future__ import annotations

import csv
import gzip
import importlib
import re
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError, DataFileNotFoundError, MissingDependencyError
from panda_dynamics_ros.recordings.columns import FIELDS, KNOWN, OPTIONAL, OWN, ColumnMap
from panda_dynamics_ros.recordings.joint_states import JointStateSample
from panda_dynamics_ros.recordings.limits import FREE_EXPANSION, LARGEST_COLUMN, LARGEST_EXPANSION, LONGEST_LINE

EXPECTED = "expected a header with t, q1.., dq1.., tau1.."
WRONG_LENGTH = "wrong number of cells"
NOT_NUMERIC = "not numeric"
_DELIMITER = re.compile("[,;\t]")
NPZ_ERRORS = (OSError, EOFError, ValueError, NotImplementedError, zipfile.BadZipFile, zlib.error, SyntaxError)
"""Of NumPy, on a damaged file."""


class Table(Protocol):
    """A table's columns by name, and how many numbers a row of each has; `rejected` counts rows that are none."""

    widths: dict[str, int]
    rejected: Counter[str]

    def read(self, names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns (N, width)."""


class TableStream(Iterator[JointStateSample]):
    """The rows of a table as samples; columns in any order, others ignored.

    Parameters
    ----------
    columns: which they are, by `ColumnMap.of`; left out, the first map of `KNOWN` that fits.

    Attributes
    ----------
    names: joint1 .. jointn.
    rejected: rows that are no samples, by reason.

    Raises
    ------
    DataFileNotFoundError: there is no such file.
    DataError: it cannot be read, or columns are missing.
    ArgumentError: `columns` is no map.
    MissingDependencyError: h5py or pyarrow is needed and not installed.
    """

    def __init__(self, path: Path, columns: str | None = None) -> None:
        if not path.is_file():
            raise DataFileNotFoundError(f"{path}: expected a {path.suffix.lstrip('.').upper()} file, got no such file")
        self.path = path
        chosen = None if columns is None else ColumnMap.of(columns)
        table = next(kind for endings, kind in TABLES.items() if path.name.lower().endswith(endings))(path)
        self.rejected, self.notes = table.rejected, ()
        fields = self._fields(table, chosen or next((each for each in KNOWN if each.fits(table.widths)), OWN))
        self._stamps = fields.pop("t")[:, 0]
        self._values = np.stack([fields[field] for field in ("q", "dq", "tau")], axis=1)
        self._external = fields.get(OPTIONAL)
        self.names = tuple(f"joint{i + 1}" for i in range(self._values.shape[2]))
        self._next = 0

    def __next__(self) -> JointStateSample:
        if self._next == len(self._stamps):
            raise StopIteration
        k, self._next = self._next, self._next + 1
        external = None if self._external is None else self._external[k]
        position, velocity, effort = self._values[k]
        return JointStateSample(float(self._stamps[k]), self.names, position, velocity, effort, None, external)

    def _fields(self, table: Table, columns: ColumnMap) -> dict[str, FloatArray]:
        wanted = {field: columns.columns_of(field, table.widths) for field in FIELDS}
        missing = [field for field, found in wanted.items() if found is None]
        shown = ", ".join(" ".join(name.split())[:40] for name in list(table.widths)[:6]) or "an empty file"
        shown += ", ..." if len(table.widths) > 6 else ""
        if columns is OWN:
            self._check_own(table.widths, shown)
        elif missing:
            raise DataError(f"{self.path}: {columns.source}: expected columns for {', '.join(missing)}, got {shown}")
        found = {field: names for field, names in wanted.items() if names is not None}
        external = columns.columns_of(OPTIONAL, table.widths)
        if external is not None:
            found[OPTIONAL] = external
        arrays = table.read(sorted({name for sums in found.values() for names in sums for name in names}))
        if len({len(values) for values in arrays.values()}) > 1:
            raise DataError(f"{self.path}: expected columns of one length, got several")
        fields = {field: columns.take(field, names, arrays) for field, names in found.items()}
        counts = {field: values.shape[1] for field, values in fields.items()}
        if counts["t"] != 1 or len({counts["q"], counts["dq"], counts["tau"]}) != 1 or not counts["q"]:
            given = ", ".join(f"{counts[field]} of {field}" for field in FIELDS)
            raise DataError(f"{self.path}: expected one time, and as many dq and tau as q, in a row, got {given}")
        if OPTIONAL in fields and fields[OPTIONAL].shape != fields["q"].shape:
            del fields[OPTIONAL]
        return fields

    def _check_own(self, names: Mapping[str, int], shown: str) -> None:
        n = next(i for i in range(len(names) + 1) if f"q{i + 1}" not in names)
        wanted = ["t", *(f"{field}{i + 1}" for field in ("q", "dq", "tau") for i in range(max(n, 1)))]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise DataError(
                f"{self.path}: {EXPECTED} (or --columns, columns=), got {shown} without {', '.join(missing)}"
            )


class CsvTable:
    """A CSV file with a header, of commas, semicolons (then with decimal commas or points) or tabs."""

    def __init__(self, path: Path) -> None:
        self.path, self.rejected = path, Counter[str]()
        header = next(self._rows(), [])
        self._header = [cell.strip() for cell in header]
        self.widths = dict.fromkeys(self._header, 1)

    def read(self, names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns (N, 1) of the rows that are whole and numeric."""
        places, values = [self._header.index(name) for name in names], array("d")
        rows = self._rows()
        next(rows)
        for row in rows:
            if len(row) != len(self._header):
                self.rejected[WRONG_LENGTH] += 1
                continue
            try:
                numbers = [float(row[place]) for place in places]
            except ValueError:
                self.rejected[NOT_NUMERIC] += 1
                continue
            values.extend(numbers)
        return dict(zip(names, np.array(values).reshape(-1, len(names), 1).swapaxes(0, 1), strict=True))

    def _rows(self) -> Iterator[list[str]]:
        """The rows that are not blank, with decimal points."""
        try:
            with self._open() as stream:
                lines = self._lines(stream)
                # numpy.savetxt writes the header as a comment, and some loggers comments before it.
                first = next((line for line in lines if not (line.startswith("#") and not _DELIMITER.search(line))), "")
                first = first.removeprefix("#")
                delimiter = max(",;\t", key=first.count)
                yield from csv.reader([first], delimiter=delimiter)
                decimal_comma = delimiter == ";"
                for row in csv.reader(lines, delimiter=delimiter):
                    if row:
                        yield [cell.replace(",", ".") for cell in row] if decimal_comma else row
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{self.path}: expected a CSV file, got: {error}") from error

    def _open(self) -> TextIO:
        if self.path.suffix.lower() == ".gz":
            return gzip.open(self.path, "rt", encoding="utf-8-sig", newline="")
        return self.path.open(encoding="utf-8-sig", newline="")

    def _lines(self, stream: TextIO) -> Iterator[str]:
        unpacked, most = 0, max(FREE_EXPANSION, LARGEST_EXPANSION * self.path.stat().st_size)
        while line := stream.readline(LONGEST_LINE + 1):
            unpacked += len(line)
            if unpacked > most:
                raise DataError(f"{self.path}: expected a CSV file, got one that unpacks to more than {most} bytes")
            if len(line) > LONGEST_LINE:
                raise DataError(f"{self.path}: expected lines of at most {LONGEST_LINE} characters, got a longer one")
            yield line


class NpzTable:
    """Arrays (N,), (N, 1) or (N, k) of `numpy.savez`."""

    def __init__(self, path: Path) -> None:
        self.path, self.rejected = path, Counter[str]()
        try:
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    if entry.file_size > min(LARGEST_COLUMN, FREE_EXPANSION + LARGEST_EXPANSION * entry.compress_size):
                        raise DataError(
                            f"{path}: expected arrays, got {entry.file_size} bytes from {entry.compress_size}"
                        )
            with np.load(path, allow_pickle=False) as content:
                self._arrays = {name: content[name] for name in content.files}
        except DataError:
            raise
        except NPZ_ERRORS as error:
            raise DataError(f"{path}: expected an npz file of plain arrays, got: {error!s:.200}") from error
        self.widths = _widths({name: (values.shape, values.dtype) for name, values in self._arrays.items()})

    def read(self, names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns (N, width)."""
        return {name: _two_dimensional(self._arrays[name]) for name in names}


class Hdf5Table:
    """Datasets (N,), (N, 1) or (N, k), named by their paths."""

    def __init__(self, path: Path) -> None:
        self.path, self.rejected = path, Counter[str]()
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {}

        def note(name: str, item: Any) -> None:
            # Datasets that lie in other files, or are put together from them, are no part of this one.
            own = hasattr(item, "shape") and not item.is_virtual and item.external is None
            if own and item.shape and item.size * item.dtype.itemsize <= LARGEST_COLUMN:
                shapes[name] = (item.shape, item.dtype)

        with self._open() as file:
            file.visititems(note)
        self.widths = _widths(shapes)

    def read(self, names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns (N, width)."""
        with self._open() as file:
            return {name: _two_dimensional(file[name][()]) for name in names}

    @contextmanager
    def _open(self) -> Iterator[Any]:
        h5py = _module("h5py")
        try:
            with h5py.File(self.path, "r") as file:
                yield file
        except Exception as error:  # of a damaged file: OSError, RuntimeError, KeyError, ValueError ..
            raise DataError(f"{self.path}: expected an HDF5 file, got: {' '.join(str(error).split()):.200}") from error


class ParquetTable:
    """Columns of numbers, or of lists of as many numbers in each row."""

    def __init__(self, path: Path) -> None:
        self.path, self.rejected = path, Counter[str]()
        parquet = _module("pyarrow.parquet")
        try:
            with parquet.ParquetFile(path) as file:
                groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
                if sum(group.total_byte_size for group in groups) > LARGEST_COLUMN:
                    raise DataError(f"{path}: expected at most {LARGEST_COLUMN} bytes unpacked, got more")
                names = [field.name for field in file.schema_arrow]
                table = file.read()
            columns = {name: np.array(table[name].to_pylist()) for name in names}
        except DataError:
            raise
        except Exception as error:  # ArrowException, OSError, ValueError of lists of several lengths
            raise DataError(f"{path}: expected a Parquet file, got: {' '.join(str(error).split()):.200}") from error
        self._arrays = {name: values for name, values in columns.items() if values.dtype.kind in "fiu"}
        self.widths = _widths({name: (values.shape, values.dtype) for name, values in self._arrays.items()})

    def read(self, names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns (N, width)."""
        return {name: _two_dimensional(self._arrays[name]) for name in names}


TABLES: dict[tuple[str, ...], type[CsvTable | NpzTable | Hdf5Table | ParquetTable]] = {
    (".csv", ".csv.gz", ".tsv"): CsvTable,
    (".npz",): NpzTable,
    (".h5", ".hdf5"): Hdf5Table,
    (".parquet",): ParquetTable,
}


def is_table(path: Path) -> bool:
    """Whether a name is that of a table."""
    return any(path.name.lower().endswith(endings) for endings in TABLES)


def _widths(shapes: Mapping[str, tuple[tuple[int, ...], Any]]) -> dict[str, int]:
    """Numbers in a row of each array that is a column."""
    sound = {name: shape for name, (shape, dtype) in shapes.items() if dtype.kind in "fiu" and len(shape) in (1, 2)}
    return {name: 1 if len(shape) == 1 else shape[1] for name, shape in sound.items()}


def _two_dimensional(values: Any) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array.reshape(len(array), -1)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingDependencyError(
            f"{package}: expected it to be installed (pip install 'panda_dynamics_ros[datasets]'), got: {error}"
        ) from error
