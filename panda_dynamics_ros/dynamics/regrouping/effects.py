# SPDX-License-Identifier: Apache-2.0
"""Step a of document 004: which inertial parameters of a link have an effect on the motion at all.

A parameter has none where its DE is zero and its DU constant, eq. (13). The energies are functions of the state, but
only linear relations between them matter, so the recursion (17), (18) is carried out on the subspaces that their
values span. These are exact: no state is drawn at random, and theorems 3 and 4 come out as the case j = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regrouping.energy import potential_energy_gradient
from panda_dynamics_ros.dynamics.regrouping.joint import Joint


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
    """Link 0 stands still: DE^0 = 0, and DU^0 is constant (document 004, appendix, initialization)."""
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
