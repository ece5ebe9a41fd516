# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are time, positions, velocities and torques.

A map of columns is written as "t=time:ms q=pos_# dq=vel_# tau=torque_#":
    NAME        a column, or an array of all joints
    NAME_#      one column for each joint; # stands for its number, counted from 0 or from 1
    NAME[0:7]   some entries of an array
    :UNIT       s, ms, us, ns; rad, deg (for dq: per second); Nm
    A+B         a sum, of seconds and nanoseconds for instance
Names with blanks are put in quotes. The maps of known programs are in `KNOWN`.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

FIELDS = ("t", "q", "dq", "tau")
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
    first: int
    last: int | None
    unit: str


class ColumnMap(NamedTuple):
    """The summands of each field, and what the map belongs to."""

    source: str
    terms: Mapping[str, tuple[Term, ...]]

    @classmethod
    def of(cls, text: str, source: str = "columns") -> ColumnMap:
        """The map that a text states; ArgumentError where a field is missing, unknown or given twice, or a unit is."""
        try:
            words = [word.partition("=")[::2] for word in shlex.split(text)]
        except ValueError as error:
            raise ArgumentError(f"{source}: expected quotes in pairs, got {text!r:.80}") from error
        given = [field for field, _ in words]
        if len(set(given)) < len(given) or not set(FIELDS) <= set(given) <= {*FIELDS, EXTERNAL}:
            raise ArgumentError(
                f"{source}: expected t=.. q=.. dq=.. tau=.., each once, and perhaps tau_ext=.., got {text!r:.80}"
            )
        return cls(source, {field: _terms(field, value, source) for field, value in words})

    def columns_of(self, field: str, widths: Mapping[str, int]) -> list[list[str]] | None:
        """For each summand of a field, the columns to set side by side; None where they are not all there."""
        found = [_columns(term, widths) for term in self.terms[field]]
        return found if all(found) else None

    def fits(self, widths: Mapping[str, int]) -> bool:
        """Whether a table with columns of these names and widths has all fields."""
        return all(self.columns_of(field, widths) is not None for field in FIELDS)

    def take(self, field: str, columns: list[list[str]], table: Mapping[str, FloatArray]) -> FloatArray:
        """A field (N, k) in SI units out of a table's columns, each (N, width)."""
        total: FloatArray = np.zeros(1)
        for term, names in zip(self.terms[field], columns, strict=True):
            values = np.concatenate([table[name] for name in names], axis=1)[:, term.first : term.last]
            whole = term.unit == DURATION and bool((values == np.round(values)).all())
            total = total + values * (1e-3 if whole else _UNITS[field][term.unit])
        return total


def _terms(field: str, value: str, source: str) -> tuple[Term, ...]:
    terms = []
    for part in value.split("+"):
        match = _TERM.fullmatch(part)
        if match is None:
            raise ArgumentError(f"{source}: {field}: expected the name of a column, got {part!r}")
        unit = match["unit"] or next(iter(_UNITS[field]))
        if unit not in _UNITS[field]:
            raise ArgumentError(f"{source}: {field}: expected one of {', '.join(_UNITS[field])}, got {unit!r}")
        terms.append(Term(match["name"], int(match["first"] or 0), int(match["last"]) if match["last"] else None, unit))
    return tuple(terms)


def _columns(term: Term, widths: Mapping[str, int]) -> list[str]:
    """The columns of a summand, joint by joint; none where they are not there."""
    if "#" not in term.name:
        return [term.name] if term.name in widths else []
    before, after = term.name.split("#", 1)
    first = next((k for k in (0, 1) if f"{before}{k}{after}" in widths), None)
    names: list[str] = []
    while first is not None and (name := f"{before}{first + len(names)}{after}") in widths:
        names.append(name)
    return names


OWN = ColumnMap.of("t=t q=q# dq=dq# tau=tau# tau_ext=tau_ext#", "panda_dynamics_ros")
_DROID = (
    "t={0}timestamp/robot_state/robot_timestamp_seconds+{0}timestamp/robot_state/robot_timestamp_nanos:ns "
    "q={0}robot_state/joint_positions dq={0}robot_state/joint_velocities tau={0}robot_state/motor_torques_measured"
)
KNOWN = (
    OWN,
    ColumnMap.of("t=t q=q dq=dq tau=tau tau_ext=tau_ext", "arrays t, q, dq, tau"),
    ColumnMap.of("t=time q=qpos dq=qvel tau=qfrc_actuator", "MuJoCo's mjData"),
    ColumnMap.of(
        "t=time:ms q=state.q[#] dq=state.dq[#] tau=state.tau_J[#] tau_ext=state.tau_ext_hat_filtered[#]",
        "libfranka's logToCSV",
    ),
    ColumnMap.of("t=time:duration q=q dq=dq tau=tau_J tau_ext=tau_ext_hat_filtered", "panda-python's get_log"),
    ColumnMap.of("t=time_since_skill_started q=q dq=dq tau=tau_J", "frankapy"),
    ColumnMap.of(_DROID.format("observation/"), "DROID"),
    ColumnMap.of(_DROID.format(""), "DROID"),
    ColumnMap.of("t=timestamp q=observation.state dq=observation.velocity tau=observation.effort", "LeRobot"),
)
