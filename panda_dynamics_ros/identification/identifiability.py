# SPDX-License-Identifier: Apache-2.0
"""What a recording can tell: the condition of the base regressor, and the parameters that it does not show."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import BaseParameters
from panda_dynamics_ros.identification.columns import FRICTION_TERMS, friction_slice
from panda_dynamics_ros.identification.weighted_fit import NormalEquations

LEAST_SINGULAR_VALUE = 1e-3
"""Of the regressor with columns of unit length: an error of the model of one per mille would be blown up to the size
of the parameter itself."""
_INVOLVED = 0.3  # share of a direction that is not seen, from which on a parameter is named


class IdentifiabilityWarning(UserWarning):
    """The recording does not show all parameters; the message names them and the motion that would."""


def condition_number(gram: FloatArray) -> float:
    """Of the matrix whose Gram matrix this is; inf where it is singular to rounding."""
    values = np.linalg.eigvalsh(gram)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 1e-15 * values[-1] else float("inf")


def base_gram(equations: NormalEquations, base: BaseParameters) -> FloatArray:
    """W' W (p, p) of the stacked base regressor W (document 003, slide 12)."""
    columns = list(base.columns)
    return equations.gram.sum(axis=0)[np.ix_(columns, columns)]


def not_identified(equations: NormalEquations, base: BaseParameters, n: int) -> tuple[str, ...]:
    """Names of base parameters and friction terms that the rows do not determine (full-column-rank check)."""
    place = [*base.columns, *range(friction_slice(n).start, friction_slice(n).stop)]
    names = [*base.names, *(f"{term}{j}" for j in range(1, n + 1) for term in FRICTION_TERMS)]
    gram = equations.gram.sum(axis=0)[np.ix_(place, place)]
    length = np.sqrt(np.diag(gram))
    seen = length > LEAST_SINGULAR_VALUE * np.median(length)
    unseen = {name for name, there in zip(names, seen, strict=True) if not there}
    scaled = gram[np.ix_(seen, seen)] / np.outer(length[seen], length[seen])
    values, directions = np.linalg.eigh(scaled)
    dark = directions[:, values < LEAST_SINGULAR_VALUE**2]
    involved = (np.abs(dark) > _INVOLVED).any(axis=1)
    unseen |= {name for name, there in zip(np.array(names)[seen].tolist(), involved, strict=True) if there}
    return tuple(name for name in names if name in unseen)


def advice(names: Iterable[str]) -> str:
    """Which motion would show these parameters."""
    listed = list(names)
    joints = sorted({int(name[-1]) for name in listed if name[-1].isdigit()})
    moving = ", ".join(map(str, joints))
    plural = "s" if len(joints) > 1 else ""
    return (
        f"{', '.join(listed)} cannot be identified and stay near the prior's; move joint{plural} "
        f"{moving} and those before further and faster, in both directions, at several frequencies (panda-dynamics "
        "excite finds such a motion)"
    )
