# SPDX-License-Identifier: Apache-2.0
"""Minimum inertial parameters by the direct method of Gautier and Khalil 1988 (document 004)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regrouping.energy import Joint, joints_of
from panda_dynamics_ros.dynamics.regrouping.transfers import Transfers, effects_at_base, effects_beyond, transfers_of
from panda_dynamics_ros.robot.description import RobotDescription

SYMBOLS = ("m", "mX", "mY", "mZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ")
"""The entries of an inertial vector in the symbols of Gautier and Khalil 1988, eq. (3)."""

DEGREES = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)
"""Powers of length in an inertial vector."""

# Coefficients below this are the rounding of exact zeros (cos 90 degrees is 6e-17), in units of the arm's own.
_ZERO = 1e-13


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The p combinations of a robot's 10 n inertial parameters that its motion depends on.

    Attributes
    ----------
    names: p symbols of Gautier and Khalil: "XXR6" where others are regrouped to XX6, "XY6" where none are.
    values: (p,), kg, kg m or kg m^2: mapping @ robot.inertial_vector.
    mapping: (p, 10 n), constant, of the geometry alone. Regressor: Y = Y[..., columns] @ mapping.
    columns: p places in the inertial vector, ascending: Y_base = Y[..., columns], of full column rank.
    expressions: p closed forms, "XXR6 = XX6 - YY6". Lengths are in m.
    without_effect: symbols of the parameters that no torque depends on (step a).
    """

    names: tuple[str, ...]
    values: FloatArray
    mapping: FloatArray
    columns: tuple[int, ...]
    expressions: tuple[str, ...]
    without_effect: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


def base_parameters(robot: RobotDescription, tolerance: float = 1e-9) -> BaseParameters:
    """The minimum inertial parameters of a robot: which combinations its torques depend on, in closed form.

    Parameters
    ----------
    tolerance: what counts as zero in the geometry: rad, and lengths as shares of the longest. A calibrated arm, whose
        right angles are off by 1e-4, has more base parameters than its design; with 1e-3 it has those of the design.

    Returns
    -------
    BaseParameters, with Y @ robot.inertial_vector == Y[..., columns] @ values for every state; up to the size of
    what the tolerance has taken for zero.

    Raises
    ------
    ArgumentError: the tolerance is not a number in [0, 0.1].

    Reference: Gautier and Khalil 1988, section 8, steps a, b and c (document 004); eq. (20) as corrected in erratum 6,
    eq. (21) by eq. (22).
    """
    tolerance = checks.number(tolerance, "tolerance", minimum=0.0, maximum=0.1)
    # The subspaces mix masses, lengths and squared lengths: in units of the arm's own, their scales are alike.
    length = float(np.linalg.norm(robot.placements[1:, :3, 3], axis=-1).max(initial=0.0)) or 1.0
    joints = tuple(joint.in_units_of(length) for joint in joints_of(robot))
    transfers, silent = _steps(joints, robot.gravity, tolerance)
    units = np.tile(length ** np.array(DEGREES), robot.n)
    mapping = units[:, None] * _cascade(joints, transfers) / units
    eliminated = {10 * j + place for j, transfer in enumerate(transfers) for place in transfer.eliminated}
    columns = tuple(column for column in range(10 * robot.n) if column not in eliminated)
    mapping = checks.read_only(mapping[list(columns)])
    symbols = parameter_symbols(robot.n)
    names = tuple(base_name(column, row) for column, row in zip(columns, mapping, strict=True))
    forms = (combination(row, column, symbols) for column, row in zip(columns, mapping, strict=True))
    return BaseParameters(
        names=names,
        values=checks.read_only(mapping @ robot.inertial_vector),
        mapping=mapping,
        columns=columns,
        expressions=tuple(f"{name} = {form}" for name, form in zip(names, forms, strict=True)),
        without_effect=tuple(symbols[column] for column in silent),
    )


def _steps(joints: tuple[Joint, ...], gravity: FloatArray, tolerance: float) -> tuple[list[Transfers], tuple[int, ...]]:
    """The transfers across each joint, from base to tip, and the places of all parameters without effect."""
    effects = effects_at_base(gravity)
    transfers: list[Transfers] = []
    silent: list[int] = []
    for j, joint in enumerate(joints):
        before, effects = effects, effects_beyond(joint, effects, tolerance)
        transfers.append(transfers_of(joint, before, tolerance))
        silent += [10 * j + int(place) for place in effects.silent(tolerance)]
    return transfers, tuple(silent)


def _cascade(joints: tuple[Joint, ...], transfers: list[Transfers]) -> FloatArray:
    """What each parameter becomes, as rows over the original ones (10 n, 10 n), from link n to link 1 (step b)."""
    n = len(joints)
    mapping = np.eye(10 * n)
    for j in range(n - 1, -1, -1):
        link, transfer = slice(10 * j, 10 * j + 10), transfers[j]
        given = transfer.given @ mapping[link][list(transfer.eliminated)]
        mapping[link] -= given
        if j > 0:
            mapping[10 * j - 10 : 10 * j] += joints[j].energy_transports[0].T @ given
    mapping[np.abs(mapping) < _ZERO] = 0.0
    return mapping


def parameter_symbols(n: int) -> tuple[str, ...]:
    """The symbols of all 10 n inertial parameters, in the order of `RobotDescription.inertial_vector`."""
    return tuple(f"{symbol}{link}" for link in range(1, n + 1) for symbol in SYMBOLS)


def base_name(column: int, row: FloatArray) -> str:
    """`XX6`, or `XXR6` where others are regrouped to it: `row` of the mapping, with 1 at `column`."""
    symbol, link = SYMBOLS[column % 10], column // 10 + 1
    return f"{symbol}{link}" if (row != 0.0).sum() == 1 else f"{symbol}R{link}"


def combination(row: FloatArray, column: int, symbols: Sequence[str]) -> str:
    """The sum `row` . `symbols`, the term of `column` first; terms with the same factor share it."""
    by_factor: dict[str, list[int]] = {}
    for place in sorted(row.nonzero()[0].tolist(), key=lambda place: (place != column, *_as_written(place))):
        factor = f"{row[place]:.12g}"
        # +1 and -1 need no bracket, so each such term stands for itself.
        by_factor.setdefault(factor if factor not in ("1", "-1") else f"{factor} {place}", []).append(place)
    terms = (_term(factor.split()[0], [symbols[place] for place in places]) for factor, places in by_factor.items())
    return _joined(terms)


def _as_written(place: int) -> tuple[int, int]:
    """Link by link, and in each as in eq. (3): moments of inertia, first moments, mass."""
    link, entry = divmod(place, 10)
    return link, (4, 5, 6, 7, 8, 9, 1, 2, 3, 0).index(entry)


def _term(factor: str, symbols: list[str]) -> str:
    if factor in ("1", "-1"):
        return f"{factor[:-1]}{symbols[0]}"
    total = symbols[0] if len(symbols) == 1 else f"({' + '.join(symbols)})"
    return f"{factor}*{total}"


def _joined(terms: Iterable[str]) -> str:
    return re.sub(r" \+ -", " - ", " + ".join(terms))
