# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are time, positions, velocities and torques.

A map of columns is written as "t=time:ms q=pos_# dq=vel_# tau=torque_#":
    NAME        a column, or an array of all joints
    NAME_#      one column for each joint; # stands for its number, counted from 0 or from 1
    NAME[0:7]   some entries of an array
    :UNIT       s, ms, us, ns; rad, deg (for dq: per second); Nm
    A+B         a sum, of seconds and nanoseconds for instance
Names with blanks are put in quotes; dq may be left out, and is then taken from q. The maps of known programs are in
`KNOWN`.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

FIELDS = ("t", "q", "dq", "tau")
NEEDED = ("t", "q", "tau")
EXTERNAL = "tau_ext"  # Franka's external torques, `tau_ext_hat_filtered`
DURATION = "duration"  # times as libfranka has them: whole numbers are milliseconds, others seconds

_UNITS = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, DURATION: 1.0},
    "q": {"rad": 1.0, "deg": math.pi / 180.0},
    "dq": {"rad": 1.0, "deg": math.pi / 180.0},
    "tau": {"Nm": 1.0},
    EXTERNAL: {"Nm": 1.0},
}
_TERM = re.compile(r"(?P<name>.+?)(\[(?P<first>\d*):(?P<last>\d*)\])?(:(?P<unit>[A-Za-z]+))?")


class Term(NamedTuple):
    """One summand: a column's name (with # for the joint's number), the entries of it, and its unit."""

    name: str
    entries: slice
    unit: str


ColumnMap = dict[str, tuple[Term, ...]]
"""The summands of each field."""


def column_map(text: str) -> ColumnMap:
    """The map that a text states; ArgumentError where a field is missing, unknown or given twice, or a unit is."""
    try:
        words = [word.partition("=")[::2] for word in shlex.split(text)]
    except ValueError as error:
        raise ArgumentError(f"columns: expected quotes in pairs, got {text!r:.80}") from error
    given = [field for field, _ in words]
    if len(set(given)) < len(given) or not set(NEEDED) <= set(given) <= {*FIELDS, EXTERNAL}:
        raise ArgumentError(
            f"columns: expected t=.. q=.. tau=.., each once, and perhaps dq=.. tau_ext=.., got {text!r:.80}"
        )
    return {field: _terms(field, value) for field, value in words}


def _terms(field: str, value: str) -> tuple[Term, ...]:
    terms = []
    for part in value.split("+"):
        match = _TERM.fullmatch(part)
        if match is None:
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
    first = next((k for k in (0, 1) if f"{before}{k}{after}" in there), None)
    names: list[str] = []
    while first is not None and (numbered := f"{before}{first + len(names)}{after}") in there:
        names.append(numbered)
    return names


def take(field: str, terms: tuple[Term, ...], columns: list[list[str]], table: Mapping[str, FloatArray]) -> FloatArray:
    """A field (N, k) in SI units out of a table's columns, each (N, width)."""
    total: FloatArray = np.zeros(1)
    for term, names in zip(terms, columns, strict=True):
        values = np.concatenate([table[name] for name in names], axis=1)[:, term.entries]
        whole = term.unit == DURATION and bool((values == np.round(values)).all())
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
