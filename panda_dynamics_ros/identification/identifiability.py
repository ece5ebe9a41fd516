# SPDX-License-Identifier: Apache-2.0
"""Identifiability: the condition of the base regressor, and the parameters that a motion does not determine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import BaseParameters
from panda_dynamics_ros.identification.columns import FRICTION_TERMS, friction_slice
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.identification.weighted_fit import NormalEquations
from panda_dynamics_ros.model import RobotModel

LEAST_SINGULAR_VALUE = 1e-3
"""Of the regressor with columns of unit length: below it, a model error of one per mille becomes an error as large as
the parameter itself."""
_INVOLVED = 0.3  # share of a parameter's axis in the directions that are not seen, from which on it is named


FIRST_SECOND_MOMENT = 4  # place among a link's ten inertial parameters


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


def base_gram(equations: NormalEquations, base: BaseParameters) -> FloatArray:
    """W' W (p, p) of the stacked base regressor W (De Luca, document 003, slide 12)."""
    columns = list(base.columns)
    return equations.gram.sum(axis=0)[np.ix_(columns, columns)]


def not_identified(equations: NormalEquations, base: BaseParameters, n: int) -> tuple[str, ...]:
    """Names of base parameters and friction terms that the rows do not determine (full-column-rank check)."""
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
    unseen = {name for name, there in zip(names, seen, strict=True) if not there}
    scaled = gram[np.ix_(seen, seen)] / np.outer(length[seen], length[seen])
    values, directions = np.linalg.eigh(scaled)
    unidentifiable = directions[:, values < LEAST_SINGULAR_VALUE**2]
    involved = np.linalg.norm(unidentifiable, axis=1) > _INVOLVED
    unseen |= {name for name, there in zip(np.array(names)[seen].tolist(), involved, strict=True) if there}
    return tuple(name for name in names if name in unseen)


def too_slow_for(prior: RobotModel, samples: MotionSamples, base: BaseParameters) -> tuple[str, ...]:
    """Names of the second moments if the motion is so slow that their torques are below the residual; else none."""
    state = samples.q, samples.dq, samples.ddq
    moving = prior.inverse_dynamics(*state) - prior.gravity_torques(samples.q)
    if (np.sqrt((moving**2).mean(axis=0)) > prior.residual.std).any():
        return ()
    return tuple(
        name for name, column in zip(base.names, base.columns, strict=True) if column % 10 >= FIRST_SECOND_MOMENT
    )


def joints_of(names: Iterable[str]) -> list[int]:
    """Numbers of the joints whose parameters these are, by the digits at the end of a name (ZZR10, viscous7)."""
    numbers = (re.search(r"\d+$", name) for name in names)
    return sorted({int(number.group()) for number in numbers if number})


def advice(names: Iterable[str]) -> str:
    """Which motion would determine these parameters."""
    listed = list(names)
    joints = joints_of(listed)
    moving = ", ".join(map(str, joints))
    plural = "s" if len(joints) > 1 else ""
    return (
        f"{', '.join(listed)} cannot be identified and stay near the prior's; move joint{plural} "
        f"{moving} and those before further and faster, in both directions, at several frequencies (panda-dynamics "
        "excite finds such a motion)"
    )
