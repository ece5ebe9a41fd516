# SPDX-License-Identifier: Apache-2.0
"""What an arm has for each joint: friction, limits, and the residual torque that the model leaves unexplained."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

PRESLIDING = 0.003
"""rad (m of a sliding joint), by which a joint turns until its dry friction has built up. 1 to 5 mrad predict unseen
motion of the public logs of a Panda and an FR3 alike, and better than any function of the velocity."""


@dataclass(frozen=True, eq=False)
class Friction(checks.Frozen):
    """Friction parameters of n joints; every field has shape (n,)::

        tau_f(dq, s) = viscous dq + coulomb s + offset
                     + amplitude [ g(slope (dq + shift)) - g(slope shift) ]     g(x) = 1 / (1 + e^-x)
                     + stribeck s e^-(dq / stribeck_velocity)^2

    The first line is the linear model of De Luca (document 003, slide 7, note), with s for the sign of the velocity;
    the second is the sigmoid of Gaz et al., RA-L 2019, supplementary material, eq. (1); the third is additional
    resistance at low speed (Armstrong-Helouvry, Dupont and Canudas de Wit, Automatica 1994, eq. (10)).

    Dry friction has a memory: its direction s, in [-1, 1], follows the way of the joint (Prandtl's element)::

        s_k = clip(s_{k-1} + (q_k - q_{k-1}) / PRESLIDING, -1, 1)

    and stays at rest what it was. Where only the velocity is known, s is its steady state, tanh(dq / transition).

    viscous: N m s/rad.
    coulomb, offset: N m.
    transition: rad/s, width of the step of s in the steady state.
    amplitude, slope, shift: N m, s/rad and rad/s, of the sigmoid.
    stribeck, stribeck_velocity: N m, and the speed above which it fades, rad/s.
    Raises ArgumentError: a field is not a finite (n,) array, or a transition or Stribeck velocity is not positive.
    """

    viscous: FloatArray
    coulomb: FloatArray
    offset: FloatArray
    transition: FloatArray
    amplitude: FloatArray
    slope: FloatArray
    shift: FloatArray
    stribeck: FloatArray
    stribeck_velocity: FloatArray

    def __post_init__(self) -> None:
        freeze_per_joint(self, "friction", positive=("transition", "stribeck_velocity"))

    @classmethod
    def of(cls, n: int, **terms: ArrayLike) -> Friction:
        """Friction of `n` joints with the named `terms`, each (n,); the others are absent (zero).

        Raises ArgumentError: there is no such term, or one is not a finite (n,) array.
        """
        values = {field.name: np.zeros(n) for field in fields(cls)}
        values |= {"transition": np.full(n, 0.01), "stribeck_velocity": np.full(n, 0.1)}
        if unknown := set(terms) - set(values):
            raise ArgumentError(f"friction: expected terms among {', '.join(values)}, got {', '.join(sorted(unknown))}")
        values |= {name: checks.exactly(term, (n,), f"friction.{name}") for name, term in terms.items()}
        return cls(**values)

    @cached_property
    def table(self) -> FloatArray:
        """All parameters as one (n, 9) array, for the compiled kernels."""
        return checks.read_only(np.column_stack([getattr(self, field.name) for field in fields(self)]))


@dataclass(frozen=True, eq=False)
class JointLimits(checks.Frozen):
    """Limits per joint, each (n,): rad (or m) and their derivatives with time; effort in N m (or N).

    lower, upper: of the joint position.
    velocity, acceleration, effort: of the magnitude, positive.
    deceleration: rad/s^2, with which a joint has to be able to stop before `lower` and `upper`; by default 1000.
    Raises ArgumentError: a field is not a finite (n,) array, limits are out of order, a magnitude is not positive.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray
    deceleration: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if np.size(self.deceleration) == 0:
            object.__setattr__(self, "deceleration", np.full(np.size(self.lower), 1000.0))
        freeze_per_joint(self, "limits", positive=("velocity", "acceleration", "effort", "deceleration"))
        if not (self.lower < self.upper).all():
            lower, upper = self.lower.tolist(), self.upper.tolist()
            raise ArgumentError(f"limits.lower: expected values below limits.upper {upper}, got {lower}")


@dataclass(frozen=True, eq=False)
class ResidualModel(checks.Frozen):
    """What the model leaves unexplained on the real arm: a coloured disturbance torque per joint.

    std: (n,), N m, standard deviation of measured minus modelled torque.
    correlation_time: (n,), s, time after which its autocorrelation has fallen to 1/e.
    error_ratio: (n,), lasting error of the model, over that of an arm that is known by its type only; 1 by default.
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
