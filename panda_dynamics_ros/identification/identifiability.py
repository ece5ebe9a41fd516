# SPDX-License-Identifier: Apache-2.0
"""Which parameters a motion determines, and which motion would determine the others."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.regression import FRICTION_TERMS, NormalEquations, friction_slice
from panda_dynamics_ros.identification.rows import MotionSamples
from panda_dynamics_ros.model import RobotModel

FIRST_SECOND_MOMENT = 4
"""Place among a link's ten inertial parameters."""
LEAST_SINGULAR_VALUE = 1e-3
"""Of the regressor with columns of unit length: below it, a model error of one per mille becomes an error as large as
the parameter itself."""
_INVOLVED = 0.3  # share of a parameter's axis in the directions that are not seen, from which on it is named


class IdentifiabilityWarning(UserWarning):
    """The recording does not determine all parameters; the message names them and a motion that would."""


def condition_number(gram: FloatArray) -> float:
    """Of the matrix whose Gram matrix this is; inf where it is singular to rounding."""
    values = np.linalg.eigvalsh(gram)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 1e-15 * values[-1] else float("inf")


def regressor_condition(robot: RobotModel) -> Callable[[FloatArray, FloatArray, FloatArray], float]:
    """A function of the states q, dq, ddq (N, n) of a motion: the condition number of its base regressor.

    Of the base regressor stacked over the states (De Luca, document 003, slide 12).
    """
    columns = list(robot.base_parameters().columns)

    def condition(q: FloatArray, dq: FloatArray, ddq: FloatArray) -> float:
        W = robot.regressor(q, dq, ddq)[..., columns].reshape(-1, len(columns))
        return condition_number(W.T @ W)

    return condition


def not_identified(equations: NormalEquations, prior: RobotModel, samples: MotionSamples) -> tuple[str, ...]:
    """Names of base parameters and friction terms that the rows do not determine (full-column-rank check).

    Where the motion is so slow that torques of acceleration are below the residual, second moments are among them.
    """
    base, n = prior.base_parameters(), prior.n
    # Stribeck terms begin at zero and stay there where nothing speaks for them: they are not looked for.
    friction = [
        (friction_slice(n).start + i, f"{term}{i // len(FRICTION_TERMS) + 1}")
        for i, term in enumerate(FRICTION_TERMS * n)
        if term != "stribeck"
    ]
    place = [*base.columns, *(column for column, _ in friction)]
    names = [*base.names, *(name for _, name in friction)]
    gram = equations.gram.sum(axis=0)[np.ix_(place, place)]
    length = np.sqrt(np.diag(gram))
    seen = length > LEAST_SINGULAR_VALUE * np.median(length)
    values, directions = np.linalg.eigh(gram[np.ix_(seen, seen)] / np.outer(length[seen], length[seen]))
    seen[seen] = np.linalg.norm(directions[:, values < LEAST_SINGULAR_VALUE**2], axis=1) <= _INVOLVED
    moving = prior.inverse_dynamics(samples.q, samples.dq, samples.ddq) - prior.gravity_torques(samples.q)
    if (np.sqrt((moving**2).mean(axis=0)) <= prior.residual.std).all():
        seen[: len(base.columns)] &= np.array(base.columns) % 10 < FIRST_SECOND_MOMENT
    return tuple(name for name, there in zip(names, seen, strict=True) if not there)


def advice(names: tuple[str, ...]) -> str:
    """Which motion would determine these parameters; the joints are the digits at the end of a name (ZZR10)."""
    numbers = (re.search(r"\d+$", name) for name in names)
    joints = sorted({int(number.group()) for number in numbers if number})
    plural = "s" if len(joints) > 1 else ""
    return (
        f"{', '.join(names)} cannot be identified and stay near the prior's; move joint{plural} "
        f"{', '.join(map(str, joints))} and those before further and faster, in both directions, at several "
        "frequencies (panda-dynamics excite finds such a motion)"
    )
