# SPDX-License-Identifier: Apache-2.0
"""Minimum inertial parameters by the direct method of Gautier and Khalil 1988, section 8 (document 004).

Step a. A parameter has no effect where its column of the regressor is zero, eq. (13).

Steps b and c. Let t (10,) be inertial parameters of link j. Giving -t to link j and Lambda t to link j - 1, which is
the same body in frame j - 1 at q_j = 0, leaves all torques as they are, eqs. (14), (15), exactly where
    Y_j t = Y_{j-1} Lambda t    for all states,
Y_j the columns of link j in the regressor. Step b is what every joint allows, step c what else the equation has as
solutions, at some states that stand for all: torques are analytic functions of them. Every relation between the
parameters of several links is a chain of such transfers between neighbours (theorem 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regressor import regressor
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.inertial import inertial_transport

SYMBOLS = ("m", "mX", "mY", "mZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ")
"""The entries of an inertial vector in the symbols of Gautier and Khalil 1988, eq. (3)."""

DEGREES = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)  # powers of length in an inertial vector

M, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ = range(10)
_AS_WRITTEN = (XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M)  # in eq. (3)

# What may go, and in which order where there is a choice: that of step b, then that of step c. Step b, turning: m_j,
# mZ_j, and YY_j with XX_j, eq. (20), theorem 5; sliding: the six of J_j, eqs. (21), (22), theorem 6. ZZ of a link that
# turns and m of one that slides always stay: alone, they are what the joint feels of itself.
_TURNING_ORDER: tuple[int, ...] = (M, MZ, YY, XX, XY, XZ, YZ, MY, MX)
_SLIDING_ORDER: tuple[int, ...] = (XX, XY, XZ, YY, YZ, ZZ, MZ, MY, MX)

# A parameter may go if it is in the transfer with at least this share; below, dividing by it would lose digits.
_SMALLEST_PIVOT = 1e-3
# Coefficients below this are the rounding of exact zeros (cos 90 degrees is 6e-17), in units of the arm's own.
_ZERO = 1e-13
_STATES = 30


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The p combinations of a robot's 10 n inertial parameters that its motion depends on.

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

    tolerance: what counts as zero in the geometry: rad, and lengths as shares of the longest. A calibrated arm, whose
        right angles are off by 1e-4, has more base parameters than its design; with 1e-3 it has those of the design.
    Returns BaseParameters, with Y @ robot.inertial_vector == Y[..., columns] @ values for every state; up to the size
        of what the tolerance has taken for zero.
    Raises ArgumentError: the tolerance is not a number in [0, 0.1].

    Reference: Gautier and Khalil 1988, section 8, steps a, b and c (document 004); eq. (20) is corrected and (21)
    replaced by (22), see docs/sources.md.
    """
    tolerance = checks.number(tolerance, "tolerance", minimum=0.0, maximum=0.1)
    n, placements = robot.n, robot.placements.copy()
    # Columns mix masses, lengths and squared lengths: in units of the arm's own, their scales are alike.
    _, *lengths = norms = np.linalg.norm(placements[:, :3, 3], axis=-1)
    length = longest if (longest := max(lengths, default=0.0)) > tolerance * norms.max() else 1.0  # axes that all meet
    placements[1:, :3, 3] /= length  # where the first joint is has no effect
    strength = float(np.linalg.norm(robot.gravity)) or 1.0
    scaled = replace(robot, placements=placements, gravity=robot.gravity / strength)
    q, dq, ddq = np.random.default_rng(0).uniform(-np.pi, np.pi, (3, _STATES, n))
    Y = regressor(scaled, q, dq, ddq).reshape(-1, 10 * n)
    lengths = np.linalg.norm(Y, axis=0)
    Y = np.where(lengths > tolerance * lengths.max(), Y, 0.0)
    mapping, eliminated = np.eye(10 * n), set[int]()
    for j in range(n - 1, -1, -1):  # from link n to link 1: what each parameter becomes, over the original ones
        link, before = slice(10 * j, 10 * j + 10), slice(10 * j - 10, 10 * j)
        transport = inertial_transport(placements[j])
        conditions = Y[:, link] - Y[:, before] @ transport if j > 0 else Y[:, link]
        places, leaving = _transfers(conditions, robot.prismatic[j], tolerance)
        given = leaving @ mapping[link][places]
        mapping[link] -= given
        if j > 0:
            mapping[before] += transport @ given
        eliminated |= {10 * j + place for place in places}
    mapping[np.abs(mapping) < _ZERO] = 0.0
    units = np.tile(length ** np.array(DEGREES), n)
    columns = tuple(column for column in range(10 * n) if column not in eliminated)
    mapping = checks.read_only((units[:, None] * mapping / units)[list(columns)])
    symbols = [f"{symbol}{link}" for link in range(1, n + 1) for symbol in SYMBOLS]
    names = tuple(
        f"{SYMBOLS[column % 10]}{'R' if np.count_nonzero(row) > 1 else ''}{column // 10 + 1}"
        for column, row in zip(columns, mapping, strict=True)
    )
    forms = (_combination(row, column, symbols) for column, row in zip(columns, mapping, strict=True))
    return BaseParameters(
        names=names,
        values=checks.read_only(mapping @ robot.inertial_vector),
        mapping=mapping,
        columns=columns,
        expressions=tuple(f"{name} = {form}" for name, form in zip(names, forms, strict=True)),
        without_effect=tuple(symbols[column] for column in np.flatnonzero(~Y.any(axis=0))),
    )


def _transfers(conditions: FloatArray, prismatic: bool, tolerance: float) -> tuple[list[int], FloatArray]:
    """Places of link j that go, and (10, k): what leaves link j for each unit of them, with conditions @ t = 0."""
    order = list(_SLIDING_ORDER if prismatic else _TURNING_ORDER)
    _, singular_values, V = np.linalg.svd(conditions[:, order])
    free = V[int((singular_values > tolerance * np.linalg.norm(conditions, 2)).sum()) :].T
    rows: list[int] = []  # as many as `free` has columns, the earliest that are independent
    for row in range(len(free)):
        if np.linalg.matrix_rank(free[[*rows, row]], tol=_SMALLEST_PIVOT) > len(rows):
            rows.append(row)
    leaving = np.zeros((10, free.shape[1]))
    leaving[order] = np.linalg.solve(free[rows].T, free.T).T
    whole = np.round(leaving)
    return [order[row] for row in rows], np.where(np.abs(leaving - whole) < _ZERO, whole, leaving)


def _combination(row: FloatArray, column: int, symbols: Sequence[str]) -> str:
    """The sum `row` . `symbols`, the term of `column` first, link by link; terms with the same factor share it."""
    by_factor: dict[str, list[int]] = {}
    order = [10 * link + entry for link in range(len(row) // 10) for entry in _AS_WRITTEN]
    for place in sorted(row.nonzero()[0].tolist(), key=lambda place: (place != column, order.index(place))):
        factor = f"{row[place]:.12g}"
        # +1 and -1 need no bracket, so each such term stands for itself.
        by_factor.setdefault(factor if factor not in ("1", "-1") else f"{factor} {place}", []).append(place)
    terms = []
    for factor, places in by_factor.items():
        factor, total = factor.split()[0], " + ".join(symbols[place] for place in places)
        total = f"({total})" if len(places) > 1 else total
        terms.append(f"{factor[:-1]}{total}" if factor in ("1", "-1") else f"{factor}*{total}")
    return " + ".join(terms).replace(" + -", " - ")
