# SPDX-License-Identifier: Apache-2.0
"""Which inertial parameters have no effect, and which the link before can take over.

These are steps a, b and c of Gautier and Khalil 1988, section 8 (document 004).

Step a. A parameter has no effect where its DE is zero and its DU constant, eq. (13). The energies are functions of the
state, but only linear relations between them matter, so the recursion (17), (18) is carried out on the subspaces that
their values span. These are exact: no state is drawn at random, and theorems 3 and 4 come out as the case j = 1.

Steps b and c. Let t (10,) be inertial parameters of link j. Giving -t to link j and lambda(0)' t to link j - 1 leaves E
and U as they are, eqs. (14), (15), exactly where, by powers of dq_j in eq. (17),
    t . f = 0  for the terms of dq_j^2 and of dq_j times any twist of link j - 1, and
    (lambda(q_j) - lambda(0)) DE^{j-1} . t = 0,  the same with DU^{j-1},  for all q_j and all states.
Every relation between the parameters of several links is a chain of such transfers between neighbours (theorem 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regrouping.energy import Joint, potential_energy_gradient

M, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ = range(10)
"""Places in the inertial vector, by Gautier and Khalil's symbols."""

# Step c: what may go besides step b, and in which order where there is a choice. ZZ of a link that turns and m of one
# that slides always stay: they are the f of dq_j^2 in eq. (17).
_TURNING_ORDER: tuple[int, ...] = (XX, XY, XZ, YZ, MY, MX)
_SLIDING_ORDER: tuple[int, ...] = (MZ, MY, MX)

# A parameter may go if it is in the transfer with at least this share; below, dividing by it would lose digits.
_SMALLEST_PIVOT = 1e-3


@dataclass(frozen=True, eq=False)
class Effects:
    """Subspaces that the motions of the arm reach in one link, each as orthonormal columns.

    Attributes
    ----------
    twists: (6, r), of the link's twists.
    energies: (10, r), of the values of DE and DU.
    changes: (10, r), of the values of DE and of the changes of DU. What is orthogonal to it has no effect.
    """

    twists: FloatArray
    energies: FloatArray
    changes: FloatArray

    def silent(self, tolerance: float) -> NDArray[np.intp]:
        """Places in the inertial vector of the parameters without effect, eq. (13)."""
        return np.flatnonzero(np.linalg.norm(self.changes, axis=1) <= tolerance)


def effects_at_base(gravity: FloatArray) -> Effects:
    """Link 0 stands still: DE^0 = 0, and DU^0 is constant (Gautier and Khalil 1988, appendix, initialization)."""
    strength = float(np.linalg.norm(gravity))
    DU = potential_energy_gradient(gravity / strength)[:, None] if strength else np.zeros((10, 0))
    return Effects(twists=np.zeros((6, 0)), energies=DU, changes=np.zeros((10, 0)))


def effects_beyond(joint: Joint, before: Effects, tolerance: float) -> Effects:
    """The effects in link j from those in link j - 1, eqs. (17), (18)."""
    at_zero, carried = joint.energy_transports[0], joint.carried(before.twists)
    terms = joint.energy_terms(carried)
    energies = [transport @ before.energies for transport in joint.energy_transports]
    changes = [transport @ before.changes for transport in joint.energy_transports]
    turned = [(transport - at_zero) @ before.energies for transport in joint.energy_transports]
    return Effects(
        twists=column_space(np.column_stack([carried, joint.axis]), tolerance),
        energies=column_space(np.hstack([*energies, terms]), tolerance),
        changes=column_space(np.hstack([*changes, *turned, terms]), tolerance),
    )


def column_space(matrix: FloatArray, tolerance: float) -> FloatArray:
    """Orthonormal columns that span those of `matrix`, up to `tolerance` of its largest singular value."""
    U, singular_values, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.ascontiguousarray(U[:, singular_values > tolerance * singular_values.max(initial=0.0)])


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
