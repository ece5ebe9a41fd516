# SPDX-License-Identifier: Apache-2.0
"""The columns of the table. One table for all: `kind` says what a row is, and columns of other kinds are empty."""

from __future__ import annotations

from typing import Any, NamedTuple

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
    "arm": Column("text", ALL, "the arm that was recorded: the recording's folder, or what `--arm` finds in its path"),
    "start_s": Column("float", ALL, "begin, s since the first sample"),
    "end_s": Column("float", ALL, "end, s; empty for a contact that lasts at the end of the recording"),
    "first_stamp_s": Column("float", RECORDING, "stamp of the first sample, s"),
    "samples": Column("int", RECORDING, "samples that were used"),
    "rate_hz": Column("float", RECORDING, "by the median step of the first 10,000 samples"),
    "lost": Column("int", RECORDING, "samples that are missing between others, in steps of up to 0.5 s"),
    "gaps": Column("int", RECORDING, "longer steps, after which the filters start anew"),
    "longest_gap_s": Column("float", RECORDING, "the longest of them"),
    "rejected": Column("int", RECORDING, "samples that cannot be used"),
    "reasons": Column("text", RECORDING, "why they cannot, as JSON"),
    "residual_nm": Column("float", RECORDING, "root sum square of `joint_residual_nm`"),
    "joint_residual_nm": Column("floats", RECORDING, "RMS torque that neither arm nor payload explains, N m"),
    "joint_offset_nm": Column("floats", RECORDING, "mean of that torque, N m"),
    "problem": Column("text", RECORDING, "samples that contradict the arm or the options, in words; empty: none"),
    "notes": Column("text", RECORDING, "what else is to be said of the file"),
    "error": Column("text", RECORDING, "why the recording has no other rows; empty: it has"),
    "carried": Column("bool", PAYLOAD, "whether the 95 % interval of the mass is above 0.1 kg"),
    "mass_kg": Column("float", PAYLOAD, "of the last estimate before the end"),
    "mass_std_kg": Column("float", PAYLOAD, "standard deviation"),
    "com_m": Column("floats", PAYLOAD, "centre of mass (3), m, flange frame; empty: not known to 0.1 m"),
    "com_std_m": Column("floats", PAYLOAD, "standard deviations (3), m"),
    "inertia_kgm2": Column("floats", PAYLOAD, "xx, xy, xz, yy, yz, zz about the centre of mass, flange axes"),
    "status": Column("text", PAYLOAD, "what the estimator was doing"),
    "link": Column("int", CONTACT, "1..n, on which a force explains the torques best"),
    "force_n": Column("float", CONTACT, "largest force at the flange that would explain the torques, N"),
    "contact_torque_nm": Column("floats", CONTACT, "torques that the contact added, N m"),
    "ended_by": Column("text", CONTACT, "released, payload, steady, or empty while it lasts"),
    "bytes": Column("int", RECORDING, "size of the recording's files"),
    "sha256": Column("text", RECORDING, "of their contents, in the order of their names"),
    "robot": Column("text", RECORDING, "name of the arm's model"),
    "robot_sha256": Column("text", RECORDING, "of its YAML file"),
    "options": Column("text", RECORDING, "options of the run, as JSON"),
    "package_version": Column("text", RECORDING, "of panda_dynamics_ros"),
}
