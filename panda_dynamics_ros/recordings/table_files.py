# SPDX-License-Identifier: Apache-2.0
"""Joint states in tables: CSV (also compressed by gzip), NumPy's npz, HDF5 and Parquet.

A map of columns is written as "t=time:ms q=pos_# dq=vel_# tau=torque_#":
    NAME        a column, or an array of all joints
    NAME_#      one column for each joint; # stands for its number, counted from 0 or from 1
    NAME[0:7]   some entries of an array
    :UNIT       s, ms, us, ns; rad, deg (for dq: per second); Nm
    A+B         a sum, of seconds and nanoseconds for instance
Names with blanks are put in quotes; dq may be left out, and is then taken from q.
"""

import csv
import gzip
import math
import re
import shlex
from array import array
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import count, islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError, DataFileNotFoundError
from panda_dynamics_ros.recordings.bags import JointStateSample, SampleStream
from panda_dynamics_ros.recordings.rosbag2 import LARGEST_TOPIC_COUNT
from panda_dynamics_ros.robot.joint_dataset import LONGEST_STEP
from panda_dynamics_ros.untrusted import import_optional, is_file, listed, most_unpacked, read_npz, refused

EXTRA = "'panda_dynamics_ros[datasets]'"
LARGEST_TABLE = 1 << 30  # bytes of its numbers, all in memory: 100 minutes of seven joints at 1 kHz
LONGEST_LINE = 1 << 16  # characters in a line of a CSV file: some 4,000 columns
EPISODES = ("episode_index", "episode")  # columns that number the episodes; times begin anew in each
PAUSE = 1.0  # s between episodes that follow each other: the filters start anew
ROWS = 10_000  # of a Parquet file, at a time
SPAN = 0.01  # s over which positions are differentiated: shorter differences are mostly noise of the encoders
FIELDS = ("t", "q", "dq", "tau")
NEEDED = ("t", "q", "tau")
EXTERNAL = "tau_ext"  # Franka's external torques, `tau_ext_hat_filtered`
DURATION = "duration"  # times as libfranka has them: whole numbers are milliseconds, others seconds

_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, DURATION: 1.0}
_ANGLES, _TORQUES = {"rad": 1.0, "deg": math.pi / 180.0}, {"Nm": 1.0}
_UNITS = {"t": _TIMES, "q": _ANGLES, "dq": _ANGLES, "tau": _TORQUES, EXTERNAL: _TORQUES}
_DELIMITER = re.compile("[,;\t]")
_TERM = re.compile(r"(?P<name>.+?)(\[(?P<first>\d*):(?P<last>\d*)\])?(:(?P<unit>[A-Za-z]+))?")


class Term(NamedTuple):
    """One summand: a column's name (with # for the joint's number), the entries of it, and its unit."""

    name: str
    entries: slice
    unit: str


ColumnMap = dict[str, tuple[Term, ...]]  # the summands of each field


def column_map(text: str) -> ColumnMap:
    """The map that a text states; ArgumentError where a field is missing, unknown or given twice, or a unit is."""
    try:
        words = [word.partition("=")[::2] for word in shlex.split(text)]
    except ValueError as error:
        raise ArgumentError(f"columns: expected quotes in pairs, got {text!r:.80}") from error
    given = [field for field, _ in words]
    if len(set(given)) < len(given) or not set(NEEDED) <= set(given) <= {*FIELDS, EXTERNAL}:
        wanted = "t=.. q=.. tau=.., each once, perhaps dq=.. tau_ext=.., blanks quoted"
        raise ArgumentError(f"columns: expected {wanted}, got {text!r:.80}")
    return {field: _terms(field, value) for field, value in words}


def _terms(field: str, value: str) -> tuple[Term, ...]:
    terms = []
    for part in value.split("+"):
        if (match := _TERM.fullmatch(part)) is None:
            raise ArgumentError(f"columns: {field}: expected the name of a column, got {part!r}")
        unit = match["unit"] or next(iter(_UNITS[field]))
        if unit not in _UNITS[field]:
            raise ArgumentError(f"columns: {field}: expected one of {', '.join(_UNITS[field])}, got {unit!r}")
        entries = slice(int(match["first"] or 0), int(match["last"]) if match["last"] else None)
        terms.append(Term(match["name"], entries, unit))
    return tuple(terms)


def found_columns(columns: ColumnMap, there: Container[str]) -> dict[str, list[list[str]]]:
    """Of each field that a table has, with columns of these names: for each summand those to set side by side."""
    found = {field: [_columns(term.name, there) for term in terms] for field, terms in columns.items()}
    return {field: names for field, names in found.items() if all(names)}


def _columns(name: str, there: Container[str]) -> list[str]:
    """The columns of a summand, joint by joint; none where they are not there."""
    if "#" not in name:
        return [name] if name in there else []
    before, after = name.split("#", 1)
    first = 0 if f"{before}0{after}" in there else 1
    return list(takewhile(there.__contains__, (f"{before}{k}{after}" for k in count(first))))


def take(field: str, terms: tuple[Term, ...], columns: list[list[str]], table: Mapping[str, FloatArray]) -> FloatArray:
    """A field (N, k) in SI units out of a table's columns, each (N, width)."""
    total: FloatArray = np.zeros(1)
    for term, names in zip(terms, columns, strict=True):
        values = np.concatenate([table[name] for name in names], axis=1)[:, term.entries]
        whole = term.unit == DURATION and not (values[np.isfinite(values)] % 1.0).any()
        total = total + values * (1e-3 if whole else _UNITS[field][term.unit])
    return total


OWN = column_map("t=t q=q# dq=dq# tau=tau# tau_ext=tau_ext#")
_DROID = (
    "t={0}timestamp/robot_state/robot_timestamp_seconds+{0}timestamp/robot_state/robot_timestamp_nanos:ns "
    "q={0}robot_state/joint_positions dq={0}robot_state/joint_velocities tau={0}robot_state/motor_torques_measured"
)
_LIBFRANKA = "t=time:ms q=state.q[#] dq=state.dq[#] tau=state.tau_J[#] tau_ext=state.tau_ext_hat_filtered[#]"
KNOWN = (
    OWN,
    column_map("t=t q=q dq=dq tau=tau tau_ext=tau_ext"),  # arrays
    column_map("t=time q=qpos dq=qvel tau=qfrc_actuator"),  # MuJoCo's mjData
    column_map(_LIBFRANKA),  # logToCSV
    column_map("t=time:duration q=q dq=dq tau=tau_J tau_ext=tau_ext_hat_filtered"),  # panda-python's get_log
    column_map("t=time_since_skill_started q=q dq=dq tau=tau_J"),  # frankapy
    column_map(_DROID.format("observation/")),
    column_map(_DROID.format("")),
    column_map("t=timestamp q=observation.state dq=observation.velocity tau=observation.effort"),  # LeRobot
)


class Table(NamedTuple):
    """The columns of a file by name, how many numbers a row of each has, and what reads some of them, (N, width) each.

    `rejected` counts the rows that are none, by reason.
    """

    widths: dict[str, int]
    read: Callable[[Sequence[str]], dict[str, FloatArray]]
    rejected: Counter[str]


class TableStream(SampleStream):
    """The rows of a table as samples; `columns` as in `load_dataset`."""

    def __init__(self, path: Path, columns: str | None = None) -> None:
        super().__init__(path)
        if not is_file(path):
            raise DataFileNotFoundError(f"{path!s:.300}: expected a table, got no such file")
        chosen = None if columns is None else column_map(columns)
        ending = next(ending for ending in TABLES if path.name.lower().endswith(ending))
        with refused(path, f"a table in {ending}"):
            table = TABLES[ending](path)
        self.rejected = table.rejected
        known = (each for each in KNOWN if set(NEEDED) <= set(found_columns(each, table.widths)))
        fields = self._fields(table, chosen or next(known, OWN))
        stamps, q = fields["t"][:, 0], fields["q"]
        if "dq" not in fields:
            fields["dq"] = self._differentiated(stamps, q)
        self.names = tuple(f"joint{i + 1}" for i in range(q.shape[1]))
        rows = zip(stamps.tolist(), q, fields["dq"], fields["tau"], fields.get(EXTERNAL, [None] * len(q)), strict=True)
        self._samples = (JointStateSample(t, self.names, q, dq, tau, None, tau_ext) for t, q, dq, tau, tau_ext in rows)

    def _fields(self, table: Table, columns: ColumnMap) -> dict[str, FloatArray]:
        found = found_columns(columns, table.widths)
        # A field that the user names must be there; known programs may leave out velocities.
        if not set(NEEDED if columns in KNOWN else columns.keys() - {EXTERNAL}) <= set(found):
            missing = {field: terms for field, terms in columns.items() if field not in found}
            raise DataError(f"{self.path}: {_missing(missing, list(table.widths), columns is OWN)}")
        number = next((name for name in EPISODES if table.widths.get(name) == 1), None)
        names = {name for sums in found.values() for names in sums for name in names} | ({number} if number else set())
        with refused(self.path, "a whole table"):
            arrays = table.read(sorted(names))
        if len({len(values) for values in arrays.values()}) > 1:
            raise DataError(f"{self.path}: expected columns of one length, got several")
        fields = {field: take(field, columns[field], names, arrays) for field, names in found.items()}
        counts = {field: fields[field].shape[1] for field in FIELDS if field in fields}
        if counts["t"] != 1 or not counts["q"] == counts.get("dq", counts["q"]) == counts["tau"] > 0:
            given = ", ".join(f"{count} of {field}" for field, count in counts.items())
            raise DataError(f"{self.path}: expected one time, and as many dq and tau as q, in a row, got {given}")
        if EXTERNAL in fields and fields[EXTERNAL].shape != fields["q"].shape:
            del fields[EXTERNAL]
        if number:
            self._set_apart(fields["t"][:, 0], arrays[number][:, 0])
        return fields

    def _set_apart(self, stamps: FloatArray, numbers: FloatArray) -> None:
        """Set pauses between episodes: the stamps (N,), in place, and the number of each row's episode (N,)."""
        begins = np.flatnonzero(np.diff(numbers)) + 1
        for k in begins:
            stamps[k:] += stamps[k - 1] + PAUSE - stamps[k]
        if len(begins):
            self._note(f"{len(begins) + 1} episodes follow each other with pauses of {PAUSE:g} s")

    def _differentiated(self, stamps: FloatArray, q: FloatArray) -> FloatArray:
        """Velocities from central differences of the positions over about `SPAN`, not across pauses."""
        self._note("there are no velocities, so they are differences of the positions, and less certain")
        period = float(np.median(np.diff(stamps))) if len(stamps) > 1 else SPAN
        reach = max(1, round(0.5 * SPAN / period)) if period > 0.0 else 1
        k, begins = np.arange(len(q)), np.flatnonzero(np.diff(stamps, prepend=-np.inf) > LONGEST_STEP)
        part = np.searchsorted(begins, k, side="right")
        before = np.maximum(k - reach, begins[part - 1])
        after = np.minimum(k + reach, np.append(begins[1:], len(q))[part - 1] - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((q[after] - q[before]) / (stamps[after] - stamps[before])[:, None])


def _missing(fields: ColumnMap, names: Sequence[str], is_own: bool) -> str:
    """What a table lacks; columns that are numbered are shown once, with # for their last number."""
    there = list(dict.fromkeys(re.sub(r"(?<=\D)\d+(?!.*\d)", "#", name) for name in names))
    shown = listed(there, "columns", 8)
    if not is_own:
        wanted = (f"{field}={'+'.join(term.name for term in terms)}" for field, terms in fields.items())
        return f"columns: expected columns for {' '.join(wanted)}, got {shown}"
    lacking = [field if field == "t" else f"{field}1" for field in fields if field != EXTERNAL]
    own = "expected a header with t, q1.., dq1.., tau1.. (or --columns, columns=)"
    return f"{own}, got {shown} without {', '.join(lacking)}"


def _csv_table(path: Path) -> Table:
    """A CSV file with a header, of commas, semicolons (then with decimal commas or points) or tabs."""
    rejected = Counter[str]()
    rows = _csv_rows(path)
    header = [cell.strip() for cell in next(rows, [])]

    def read(names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns of the rows that are whole and numeric."""
        places, values = [header.index(name) for name in names], array("d")
        for row in rows:
            if len(row) != len(header):
                rejected["wrong number of cells"] += 1
                continue
            try:
                values.extend([float(row[place] or ("nan" if EXTERNAL in header[place] else "")) for place in places])
            except ValueError:
                rejected["not numeric"] += 1
        return dict(zip(names, np.array(values).reshape(-1, len(names), 1).swapaxes(0, 1), strict=True))

    return Table(dict.fromkeys(header, 1), read, rejected)


def _csv_rows(path: Path) -> Iterator[list[str]]:
    """The rows that are not blank, with decimal points."""
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
        lines = _csv_lines(path, stream)
        # numpy.savetxt writes the header as a comment, and some loggers comments before it.
        first = next((line for line in lines if not line.startswith("#") or _DELIMITER.search(line)), "")
        first = first.removeprefix("#")
        delimiter = max(",;\t", key=first.count)
        yield from csv.reader([first], delimiter=delimiter)
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                yield [cell.replace(",", ".") for cell in row] if delimiter == ";" else row


def _csv_lines(path: Path, stream: TextIO) -> Iterator[str]:
    unpacked, most = 0, most_unpacked(path.stat().st_size)
    while line := stream.readline(LONGEST_LINE + 1):
        unpacked += len(line)
        if unpacked > most:
            raise DataError(f"{path}: expected a CSV file, got one that unpacks to more than {most} bytes")
        if len(line) > LONGEST_LINE:
            raise DataError(f"{path}: expected lines of at most {LONGEST_LINE} characters, got a longer one")
        yield line


def _largest(path: Path) -> int:
    """Bytes that the numbers of a table in this file may take."""
    return min(LARGEST_TABLE, most_unpacked(path.stat().st_size))


def _check_size(path: Path, size: int) -> None:
    """Refuse a table whose numbers take so many bytes, where its file is too small for that."""
    if size > (most := _largest(path)):
        raise DataError(f"{path}: expected numbers of at most {most} bytes in a file of this size, got {size}")


def _hdf5_table(path: Path) -> Table:
    """Datasets (N,), (N, 1) or (N, k), named by their paths, of a file that stays open while they are needed."""
    h5py, found = import_optional("h5py", EXTRA), dict[str, Any]()
    items, seen = deque([("", h5py.File(path, "r"))]), set[int]()  # h5py's visititems takes minutes for deep groups
    while items:
        name, item = items.popleft()
        if (address := h5py.h5o.get_info(item.id).addr) in seen:
            continue
        seen.add(address)
        if len(seen) + len(items) > LARGEST_TOPIC_COUNT:
            raise DataError(f"{path}: expected at most {LARGEST_TOPIC_COUNT} datasets and groups, got more")
        if isinstance(item, h5py.Group):
            own = (each for each in item if isinstance(item.get(each, getlink=True), h5py.HardLink))
            items.extend((f"{name}/{each}".lstrip("/"), item[each]) for each in islice(own, LARGEST_TOPIC_COUNT))
        # Datasets that lie in other files, or are put together from them, are no part of this one.
        elif isinstance(item, h5py.Dataset) and item.shape and not item.is_virtual and item.external is None:
            _check_size(path, math.prod(item.chunks or ()) * item.dtype.itemsize)  # whole chunks are unpacked
            found[name] = item
    return _of_arrays(path, found)


def _parquet_table(path: Path) -> Table:
    """Columns of numbers, or of lists of as many numbers in each row; pictures and texts are not read."""
    arrow, parquet = import_optional("pyarrow", EXTRA), import_optional("pyarrow.parquet", EXTRA)

    def is_numeric(kind: Any) -> bool:
        kind = kind.value_type if hasattr(kind, "value_type") else kind
        return any(getattr(arrow.types, f"is_{name}")(kind) for name in ("integer", "floating", "timestamp"))

    with parquet.ParquetFile(path) as file:
        numeric = arrow.schema([field for field in file.schema_arrow if is_numeric(field.type)])
        batches, size = [], 0
        for batch in file.iter_batches(ROWS, columns=numeric.names):  # Arrow aborts at forged sizes
            size += batch.nbytes
            _check_size(path, size)
            batches.append(batch)
        table = arrow.Table.from_batches(batches, numeric)
        return _of_arrays(path, {name: _array(table[name].combine_chunks()) for name in numeric.names})


def _array(column: Any) -> Any:
    """A column of pyarrow as an array (N,) or (N, k); of no columns where its lists have several lengths."""
    if not hasattr(column.type, "value_type"):
        return column.to_numpy(zero_copy_only=False)
    lengths = {len(cell) for cell in column if cell.is_valid}
    if len(lengths) != 1:
        return np.zeros((0, 0, 0))
    flat, there = (each.to_numpy(zero_copy_only=False) for each in (column.flatten(), column.is_valid()))
    rows = flat.reshape(there.sum(), lengths.pop())
    if there.all():
        return rows
    whole = np.full((len(there), rows.shape[1]), np.nan)
    whole[there] = rows
    return whole


def _of_arrays(path: Path, arrays: Mapping[str, Any]) -> Table:
    """The arrays that are columns of numbers; dates are s since 1970."""
    dates = {name: each - np.datetime64(0, "s") for name, each in arrays.items() if each.dtype.kind == "M"}
    numbers = {**arrays, **{name: since / np.timedelta64(1, "s") for name, since in dates.items()}}
    columns = {name: each for name, each in numbers.items() if each.dtype.kind in "fiu" and each.ndim in (1, 2)}

    def read(names: Sequence[str]) -> dict[str, FloatArray]:
        _check_size(path, sum(8 * columns[name].size for name in names))
        return {name: np.asarray(columns[name], np.float64).reshape(columns[name].shape[0], -1) for name in names}

    return Table({name: math.prod(each.shape[1:]) for name, each in columns.items()}, read, Counter())


TABLES: dict[str, Callable[[Path], Table]] = {
    **dict.fromkeys((".csv", ".csv.gz", ".tsv"), _csv_table),
    ".npz": lambda path: _of_arrays(path, read_npz(path, _largest(path))),
    **dict.fromkeys((".h5", ".hdf5"), _hdf5_table),
    ".parquet": _parquet_table,
}
