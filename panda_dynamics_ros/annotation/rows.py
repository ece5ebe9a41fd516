# SPDX-License-Identifier: Apache-2.0
"""The table: its columns, the rows of one recording, and its file, written whole or not at all.

One table for all: `kind` says what a row is, and columns of other kinds are empty.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from panda_dynamics_ros.recordings.dataset import SampleBlocks
from panda_dynamics_ros.recordings.table_files import EXTRA
from panda_dynamics_ros.reporting.replay import Findings, Follower
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.untrusted import import_optional, refused, replacing

Row = dict[str, Any]  # by column; what is absent is empty
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
    "arm": Column("text", ALL, "the arm that was recorded: the name of the folder that holds the recording"),
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
    progress: Callable[[], None] = lambda: None,
    **options: Any,
) -> list[Row]:
    """The rows of one recording: itself, its payloads and its contacts, each in order of time.

    The recording is read piece by piece, so that memory hardly grows with its length (8 bytes a sample).

    path, topic, arm_prefix, columns: see `load_dataset`.
    robot: the arm's model with its end effector, without the payload.
    progress: called after each block of samples.
    options: see `ArmMonitor`.
    Raises DataError, ArgumentError: see `load_dataset` and `ArmMonitor`.
    """
    blocks = SampleBlocks(path, robot, topic, None, arm_prefix, columns)
    follower, names = Follower(robot, **options), tuple[str, ...]()
    for each in blocks:
        follower.add(each.stamp, each.q, each.dq, each.tau)
        names = each.names
        progress()
    found = follower.findings(names, blocks.rejected)
    row = _recording(found) | {"notes": "\n".join(blocks.stream.notes), "robot": robot.name}
    return [row, *_payloads(found), *_contacts(found)]


def _recording(found: Findings) -> Row:
    period, lost, pauses = found.steps
    known = not np.isnan(found.residual_rms).any()
    return {
        "kind": RECORDING,
        "start_s": 0.0,
        "end_s": found.end - found.start,
        "first_stamp_s": found.start,
        "samples": found.samples,
        "rate_hz": 1.0 / period if math.isfinite(period) else None,
        "lost": lost,
        "gaps": len(pauses),
        "longest_gap_s": float(pauses[:, 1].max()) if len(pauses) else None,
        "rejected": sum(found.dropped.values()),
        "reasons": json.dumps(found.dropped, sort_keys=True),
        "residual_nm": float(np.linalg.norm(found.residual_rms)) if known else None,
        "joint_residual_nm": found.residual_rms.tolist() if known else None,
        "joint_offset_nm": found.residual_mean.tolist() if known else None,
        "problem": found.problem,
    }


def _payloads(found: Findings) -> list[Row]:
    return [
        {
            "kind": PAYLOAD,
            "start_s": each.start - found.start,
            "end_s": each.end - found.start,
            "carried": estimate.is_carried,
            "mass_kg": estimate.mass,
            "mass_std_kg": float(estimate.std[0]),
            "com_m": estimate.com.tolist() if estimate.com_is_known else None,
            "com_std_m": estimate.com_std.tolist() if estimate.com_is_known else None,
            "inertia_kgm2": six_from_symmetric(estimate.inertia).tolist() if estimate.com_is_known else None,
            "status": estimate.status,
        }
        for each in found.payloads
        for estimate in [each.estimate]
    ]


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
        if event.kind == CONTACT
    ]


def parquet() -> Any:
    """The module of pyarrow that reads and writes the table; MissingDependencyError where it is not installed."""
    return import_optional("pyarrow.parquet", EXTRA)


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write all rows, in place of what is there."""
    arrow = import_optional("pyarrow", EXTRA)
    types = {"text": arrow.string(), "float": arrow.float64(), "int": arrow.int64(), "bool": arrow.bool_()}
    types["floats"] = arrow.list_(arrow.float64())
    schema = arrow.schema([(name, types[column.type]) for name, column in COLUMNS.items()])
    texts = [
        {name: v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for name, v in row.items()}
        for row in rows  # names of files may be any bytes, which are no text
    ]
    with replacing(path) as file:
        parquet().write_table(arrow.Table.from_pylist(texts, schema), file)


def read_table(path: Path) -> Iterator[Row]:
    """The rows of a table that `write_table` wrote, without what is absent; DataError where it is no such table."""
    with refused(path, "the table of an earlier run"):
        table = parquet().read_table(path)
        if table.column_names != list(COLUMNS):
            raise ValueError("other columns")
    for row in table.to_pylist():
        yield {name: value for name, value in row.items() if value is not None}
