# SPDX-License-Identifier: Apache-2.0
"""The table: its columns, the rows of one recording, and its file, written whole or not at all.

One table for all: `kind` says what a row is, and columns of other kinds are empty.
"""

import csv
import importlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from panda_dynamics_ros.errors import ArgumentError, DataError, MissingDependencyError
from panda_dynamics_ros.recordings.dataset import SampleBlocks
from panda_dynamics_ros.recordings.findings import Findings, Follower
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.untrusted import replacing

Row = dict[str, Any]
"""A row by column; what is absent is empty."""

RECORDING, PAYLOAD, CONTACT = "recording", "payload", "contact"


class Column(NamedTuple):
    """Type of a column's values (`floats`: a number for each joint), and which kinds of rows have it."""

    type: str
    kinds: str
    meaning: str


ALL = "all"
COLUMNS: dict[str, Column] = {
    "kind": Column("text", ALL, "recording, payload or contact"),
    "path": Column("text", ALL, "the recording"),
    "arm": Column("text", ALL, "the arm that was recorded: the name of the recording's folder"),
    "start_s": Column("float", ALL, "begin, s since the first sample"),
    "end_s": Column("float", ALL, "end, s; empty for a contact whose end was not seen"),
    "first_stamp_s": Column("float", RECORDING, "stamp of the first sample, s"),
    "samples": Column("int", RECORDING, "samples that were used"),
    "rate_hz": Column("float", RECORDING, "by the median step between stamps"),
    "lost": Column("int", RECORDING, "samples that are missing between others, in steps of up to 0.5 s"),
    "gaps": Column("int", RECORDING, "longer steps, after which the filters start anew"),
    "longest_gap_s": Column("float", RECORDING, "the longest of them"),
    "rejected": Column("int", RECORDING, "samples that cannot be used"),
    "reasons": Column("text", RECORDING, "why they cannot, as JSON"),
    "residual_nm": Column("float", RECORDING, "root sum square of `joint_residual_nm`"),
    "joint_residual_nm": Column("floats", RECORDING, "RMS torque that neither arm nor payload explains, N m"),
    "joint_offset_nm": Column("floats", RECORDING, "mean of that torque, N m"),
    "problem": Column("text", RECORDING, "what contradicts the arm or the options, in a sentence; empty: nothing"),
    "notes": Column("text", RECORDING, "what else is to be said of the file"),
    "error": Column("text", RECORDING, "why the recording has no other rows; empty: it has"),
    "carried": Column("bool", PAYLOAD, "whether the 95 % interval of the mass is above 0.1 kg"),
    "mass_kg": Column("float", PAYLOAD, "of the last estimate before the end"),
    "mass_std_kg": Column("float", PAYLOAD, "standard deviation"),
    "com_m": Column("floats", PAYLOAD, "centre of mass (3), m, flange frame; empty: not known to 0.1 m"),
    "com_std_m": Column("floats", PAYLOAD, "standard deviations (3), m"),
    "inertia_kgm2": Column("floats", PAYLOAD, "xx, xy, xz, yy, yz, zz about the centre of mass, flange axes"),
    "status": Column("text", PAYLOAD, "what the estimator was doing"),
    "link": Column("int", CONTACT, "1..n, on which a force explains the torques best; empty: not known"),
    "force_n": Column("float", CONTACT, "largest force at the flange that would explain the torques, N"),
    "contact_torque_nm": Column("floats", CONTACT, "torques that the contact added, N m"),
    "ended_by": Column("text", CONTACT, "released, steady, or empty where its end was not seen"),
    "version": Column("text", RECORDING, "changes with sizes and times of the recording's files, for --resume"),
    "bytes": Column("int", RECORDING, "size of the recording's files"),
    "sha256": Column("text", RECORDING, "of their contents, in the order of their names"),
    "robot": Column("text", RECORDING, "name of the arm's model"),
    "robot_sha256": Column("text", RECORDING, "of its YAML file, and of its residual map"),
    "options": Column("text", RECORDING, "options of the run, as JSON"),
    "package_version": Column("text", RECORDING, "of panda_dynamics_ros"),
}


def annotate(
    path: str | Path,
    robot: RobotDescription,
    *,
    topic: str | None = None,
    arm_prefix: str = "",
    columns: str | None = None,
    episode: int | None = None,
    progress: Callable[[], None] = lambda: None,
    **options: Any,
) -> list[Row]:
    """The rows of one recording: itself, its payloads and its contacts, each in order of time.

    The recording is read piece by piece, so that memory hardly grows with its length (8 bytes a sample).

    path, topic, arm_prefix, columns, episode: see `load_dataset`.
    robot: the arm's model with its end effector, without the payload.
    progress: called after each block of samples.
    options: see `ArmMonitor`.
    Raises DataError, ArgumentError: see `load_dataset` and `ArmMonitor`.
    """
    blocks = SampleBlocks(path, robot, topic, None, arm_prefix, columns, episode)
    follower, names = Follower(robot, **options), tuple[str, ...]()
    for each in blocks:
        follower.add(each.stamp, each.q, each.dq, each.tau)
        names = each.names
        progress()
    found = follower.findings(names, blocks.rejected)
    row = _recording(found) | {"notes": "\n".join(blocks.notes), "robot": robot.name}
    return [
        {name: _finite(value) for name, value in each.items()} for each in (row, *_payloads(found), *_contacts(found))
    ]


def _recording(found: Findings) -> Row:
    period, lost, pauses = found.steps
    known = not np.isnan(found.residual_rms).any()
    return {
        "kind": RECORDING,
        "start_s": 0.0,
        "end_s": found.end - found.start,
        "first_stamp_s": found.start,
        "samples": found.samples,
        "rate_hz": 1.0 / period,
        "lost": lost,
        "gaps": len(pauses),
        "longest_gap_s": float(pauses[:, 1].max()) if len(pauses) else None,
        "rejected": sum(found.dropped.values()),
        "reasons": json.dumps(found.dropped, sort_keys=True),
        "residual_nm": float(np.linalg.norm(found.residual_rms)),
        "joint_residual_nm": found.residual_rms.tolist() if known else None,
        "joint_offset_nm": found.residual_mean.tolist() if known else None,
        "problem": found.problem,
    }


def _payloads(found: Findings) -> list[Row]:
    rows = []
    for each in found.payloads:
        estimate, known = each.estimate, each.estimate.com_is_known
        row = {
            "kind": PAYLOAD,
            "start_s": each.start - found.start,
            "end_s": each.end - found.start,
            "carried": estimate.is_carried,
            "mass_kg": estimate.mass,
            "mass_std_kg": float(estimate.std[0]),
            "com_m": estimate.com.tolist() if known else None,
            "com_std_m": estimate.com_std.tolist() if known else None,
            "inertia_kgm2": six_from_symmetric(estimate.inertia).tolist() if known else None,
            "status": estimate.status,
        }
        rows.append(row)
    return rows


def _contacts(found: Findings) -> list[Row]:
    return [
        {
            "kind": CONTACT,
            "start_s": event.onset - found.start,
            "end_s": None if event.end is None else event.end - found.start,
            "link": event.link,
            "force_n": event.force,
            "contact_torque_nm": None if event.torques is None else event.torques.tolist(),
            "ended_by": event.ended_by,
        }
        for event in found.events
        if event.is_contact
    ]


def _finite(value: Any) -> Any:
    """Null in place of nan and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- the file -------------------------------------------------------------------------------------------------------


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
    complete = ([_as_text(row.get(name)) for name in COLUMNS] for row in rows)
    with replacing(path) as file:
        (_write_csv if path.suffix == ".csv" else _write_parquet)(file, complete)


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
