# SPDX-License-Identifier: Apache-2.0
"""Joint friction: the torque that a link-side sensor measures beside that of the rigid bodies."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.limits import freeze_per_joint

PRESLIDING = 0.003
"""rad (m of a sliding joint), by which a joint turns until its dry friction has built up. 1 to 5 mrad predict unseen
motion of the public logs of a Panda and an FR3 alike, and better than any function of the velocity."""


@dataclass(frozen=True, eq=False)
class Friction:
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
        values["transition"] = np.full(n, 0.01)
        values["stribeck_velocity"] = np.full(n, 0.1)
        unknown = set(terms) - set(values)
        if unknown:
            raise ArgumentError(f"friction: expected terms among {', '.join(values)}, got {', '.join(sorted(unknown))}")
        values |= {name: checks.exactly(term, (n,), f"friction.{name}") for name, term in terms.items()}
        return cls(**values)

    @cached_property
    def table(self) -> FloatArray:
        """All parameters as one (n, 9) array, for the compiled kernels."""
        return checks.read_only(np.column_stack([getattr(self, field.name) for field in fields(self)]))
