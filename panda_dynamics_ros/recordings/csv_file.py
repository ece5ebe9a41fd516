# SPDX-License-Identifier: Apache-2.0
"""Joint states in CSV, plain or compressed by gzip: a header t, q1 .., dq1 .., tau1 .., then one sample per row."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from panda_dynamics_ros.errors import DataError, DataFileNotFoundError
from panda_dynamics_ros.recordings.joint_states import JointStateSample
from panda_dynamics_ros.recordings.limits import FREE_EXPANSION, LARGEST_EXPANSION, LONGEST_LINE

EXPECTED = "expected a header with t, q1.., dq1.., tau1.."
WRONG_LENGTH = "wrong number of cells"
NOT_NUMERIC = "not numeric"


class CsvStream(Iterator[JointStateSample]):
    """The rows of a CSV file as samples; columns in any order, others ignored, blank lines skipped.

    Attributes
    ----------
    names: joint1 .. jointn.
    rejected: rows that are no samples, by reason; complete once the rows are exhausted.

    Raises
    ------
    DataFileNotFoundError: there is no such file.
    DataError: the header lacks columns, or it is not a text file.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataFileNotFoundError(f"{path}: expected a CSV file, got no such file")
        self.path = path
        self.rejected: Counter[str] = Counter()
        self.notes: tuple[str, ...] = ()
        self._rows = self._read()
        self._header = [cell.strip() for cell in next(self._rows, [])]
        self._columns = self._find_columns()
        self.names = tuple(f"joint{i + 1}" for i in range(len(self._columns) // 3))

    def __next__(self) -> JointStateSample:
        for row in self._rows:
            if len(row) != len(self._header):
                self.rejected[WRONG_LENGTH] += 1
                continue
            try:
                stamp, *values = [float(row[column]) for column in self._columns]
            except ValueError:
                self.rejected[NOT_NUMERIC] += 1
                continue
            return JointStateSample(stamp, self.names, *np.array(values).reshape(3, -1))
        raise StopIteration

    def _read(self) -> Iterator[list[str]]:
        """The rows that are not blank."""
        try:
            with _open_text(self.path) as stream:
                yield from (row for row in csv.reader(self._lines(stream)) if row)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{self.path}: expected a CSV file, got: {error}") from error

    def _lines(self, stream: TextIO) -> Iterator[str]:
        unpacked, most = 0, max(FREE_EXPANSION, LARGEST_EXPANSION * self.path.stat().st_size)
        while line := stream.readline(LONGEST_LINE + 1):
            unpacked += len(line)
            if unpacked > most:
                raise DataError(f"{self.path}: expected a CSV file, got one that unpacks to more than {most} bytes")
            if len(line) > LONGEST_LINE:
                raise DataError(f"{self.path}: expected lines of at most {LONGEST_LINE} characters, got a longer one")
            yield line

    def _find_columns(self) -> list[int]:
        """Where t, q1 .., dq1 .., tau1 .. are; as many joints as there are columns q1, q2, ..."""
        n = next(i for i in range(len(self._header) + 1) if f"q{i + 1}" not in self._header)
        wanted = ["t", *(f"{field}{i + 1}" for field in ("q", "dq", "tau") for i in range(max(n, 1)))]
        missing = [name for name in wanted if name not in self._header]
        if missing:
            shown = (
                ", ".join(" ".join(name.split())[:40] for name in self._header[:6])
                + (", ..." if len(self._header) > 6 else "")
                or "an empty file"
            )
            raise DataError(f"{self.path}: {EXPECTED}, got {shown} without {', '.join(missing)}")
        return [self._header.index(name) for name in wanted]


def _open_text(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
