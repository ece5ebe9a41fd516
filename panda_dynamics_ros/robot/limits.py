# SPDX-License-Identifier: Apache-2.0
"""Limits of an arm's joints, and the residual torque that its model leaves unexplained."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits per joint, each (n,): rad (or m) and their derivatives with time; effort in N m (or N).

    lower, upper: of the joint position.
    velocity, acceleration, effort: of the magnitude, positive.
    Raises ArgumentError: a field is not a finite (n,) array, a lower limit is not below the upper, a magnitude is not
        positive.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray

    def __post_init__(self) -> None:
        freeze_per_joint(self, "limits", positive=("velocity", "acceleration", "effort"))
        if not (self.lower < self.upper).all():
            lower, upper = self.lower.tolist(), self.upper.tolist()
            raise ArgumentError(f"limits.lower: expected values below limits.upper {upper}, got {lower}")


@dataclass(frozen=True, eq=False)
class ResidualModel:
    """What the model leaves unexplained on the real arm: a coloured disturbance torque per joint.

    std: (n,), N m, standard deviation of measured minus modelled torque.
    correlation_time: (n,), s, time after which its autocorrelation has fallen to 1/e.
    error_ratio: (n,), lasting error of the model, over that of an arm of which only the type is known; 1 by default,
        less for an identified arm.
    Raises ArgumentError: a field is not a finite (n,) array of positive numbers.
    """

    std: FloatArray
    correlation_time: FloatArray
    error_ratio: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if np.size(self.error_ratio) == 0:
            object.__setattr__(self, "error_ratio", np.ones(np.size(self.std)))
        freeze_per_joint(self, "residual", positive=("std", "correlation_time", "error_ratio"))


def freeze_per_joint(value: Any, name: str, positive: tuple[str, ...]) -> None:
    """Every field of a frozen dataclass checked as (n,), some as `positive`, and made read-only; n is the first's."""
    names = [each.name for each in fields(value)]
    n = checks.real_array(getattr(value, names[0]), f"{name}.{names[0]}").size
    checks.freeze(value, dict.fromkeys(names, (n,)), f"{name}.")
    for key in positive:
        if not (getattr(value, key) > 0.0).all():
            raise ArgumentError(f"{name}.{key}: expected positive numbers, got {getattr(value, key).tolist()}")
