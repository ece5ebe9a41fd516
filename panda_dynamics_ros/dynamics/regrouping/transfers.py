# SPDX-License-Identifier: Apache-2.0
"""Steps b and c of document 004: the inertial parameters of link j that link j - 1 can take over.

Let t (10,) be inertial parameters of link j. Giving -t to link j and lambda(0)' t to link j - 1 leaves E and U as they
are, eqs. (14), (15), exactly where, by powers of dq_j in eq. (17),
    t . f = 0  for the terms of dq_j^2 and of dq_j times any twist of link j - 1, and
    (lambda(q_j) - lambda(0)) DE^{j-1} . t = 0,  the same with DU^{j-1},  for all q_j and all states.
Every relation between the parameters of several links is a chain of such transfers between neighbours (theorem 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regrouping.effects import Effects
from panda_dynamics_ros.dynamics.regrouping.joint import Joint

M, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ = range(10)
"""Places in the inertial vector, by document 004's symbols."""

# Step c: what may go besides step b, and in which order where there is a choice. ZZ of a link that turns and m of one
# that slides always stay: they are the f of dq_j^2 in eq. (17).
_TURNING_ORDER: tuple[int, ...] = (XX, XY, XZ, YZ, MY, MX)
_SLIDING_ORDER: tuple[int, ...] = (MZ, MY, MX)

# A parameter may go if it is in the transfer with at least this share; below, dividing by it would lose digits.
_SMALLEST_PIVOT = 1e-3


@dataclass(frozen=True, eq=False)
class Transfers:
    """What link j gives to link j - 1.

    Attributes
    ----------
    eliminated: k places in the inertial vector of link j.
    given: (10, k): column i is what leaves link j for each unit of `eliminated[i]`; identity in the rows `eliminated`.
    """

    eliminated: tuple[int, ...]
    given: FloatArray


def transfers_of(joint: Joint, before: Effects, tolerance: float) -> Transfers:
    """All transfers across joint j, given the effects in link j - 1.

    Parameters without any effect (step a) are among them: giving them to link j - 1 changes nothing there.
    """
    places, given = closed_form_transfers(joint.prismatic)
    order = _SLIDING_ORDER if joint.prismatic else _TURNING_ORDER
    more_places, more = supplementary_transfers(joint, before, order, tolerance)
    return Transfers((*places, *more_places), np.hstack([given, more]))


def closed_form_transfers(prismatic: bool) -> tuple[tuple[int, ...], FloatArray]:
    """Step b, which every joint allows.

    Turning: m_j, mZ_j, and YY_j with XX_j, eq. (20), theorem 5. Sliding: the six of J_j, eqs. (21), (22), theorem 6.
    """
    places = (XX, XY, XZ, YY, YZ, ZZ) if prismatic else (M, MZ, YY)
    given = np.zeros((10, len(places)))
    given[places, range(len(places))] = 1.0
    if not prismatic:
        given[XX, places.index(YY)] = 1.0  # erratum 6: XXR_j = XX_j - YY_j
    return places, given


def supplementary_transfers(
    joint: Joint, before: Effects, order: tuple[int, ...], tolerance: float
) -> tuple[tuple[int, ...], FloatArray]:
    """Step c: combinations of the parameters in `order` that joint j allows because few motions reach link j - 1."""
    conditions = transfer_conditions(joint, before)
    free = null_space(conditions[:, order], tolerance * float(np.linalg.norm(conditions, 2)))
    rows = _eliminated_rows(free)
    given = np.zeros((10, len(rows)))
    if rows:
        given[list(order)] = np.linalg.solve(free[list(rows)].T, free.T).T
    return tuple(order[row] for row in rows), given


def transfer_conditions(joint: Joint, before: Effects) -> FloatArray:
    """C (rows, 10): t is a transfer across joint j exactly where C t = 0 (the module's equations)."""
    at_zero, *others = joint.energy_transports
    differences = [(transport - at_zero) @ before.energies for transport in others]
    return np.hstack([joint.energy_terms(joint.carried(before.twists)), *differences]).T


def null_space(matrix: FloatArray, threshold: float) -> FloatArray:
    """Orthonormal columns that `matrix` maps to zero: singular values up to `threshold` count as zero."""
    _, singular_values, V = np.linalg.svd(matrix, full_matrices=True)
    return V[int((singular_values > threshold).sum()) :].T


def _eliminated_rows(free: FloatArray) -> tuple[int, ...]:
    """As many rows as `free` has columns, the earliest that are independent."""
    rows: list[int] = []
    rest = free.copy()
    for row in range(len(free)):
        size = float(np.linalg.norm(rest[row]))
        if len(rows) < free.shape[1] and size > _SMALLEST_PIVOT:
            rows.append(row)
            direction = rest[row] / size
            rest = rest - np.outer(rest @ direction, direction)
    return tuple(rows)
