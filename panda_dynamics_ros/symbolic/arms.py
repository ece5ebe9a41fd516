# SPDX-License-Identifier: Apache-2.0
"""Arms as screws: of given placements, in symbols as document 002 has them, or of a robot, with exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.symbolic.twists import Array, expressions, identity, rigid


@dataclass(frozen=True, eq=False)
class ScrewChain:
    """What the product of exponentials needs of an arm (document 002, sections 1.1 and 1.2), as expressions.

    twists: (n, 6), unit twists xi_i(0) of the joints at zero position, about the base origin, in base axes,
        linear part first: (r x w, w) of a joint that turns, (z, 0) of one that slides.
    T_base_joint: (n, 4, 4), T_i_0(0), the joint frames at zero position.
    T_joint_flange, T_flange_ee: (4, 4), the flange in the last joint frame, the end effector in the flange.
    coms: (n, 3), m, each link's centre of mass in its joint frame.
    """

    twists: Array
    T_base_joint: Array
    T_joint_flange: Array
    T_flange_ee: Array
    coms: Array

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.twists)

    @classmethod
    def from_placements(
        cls,
        placements: Sequence[ArrayLike],
        prismatic: Sequence[bool],
        coms: ArrayLike,
        T_joint_flange: ArrayLike,
        T_flange_ee: ArrayLike,
    ) -> ScrewChain:
        """The screws of joint frames placed one after another.

        placements: n of (4, 4), T_{i-1}_{i} at zero position, the joint's axis along z of frame i.
        prismatic: n booleans, whether the joint slides.
        coms: (n, 3), m.
        T_joint_flange, T_flange_ee: (4, 4).
        Raises ArgumentError: a shape is wrong, or an entry is neither a finite number nor a SymPy expression.
        """
        T, frames, twists = identity(4), [], []
        for step, sliding in zip(placements, prismatic, strict=True):
            # R_0_i = R_0_1 R_1_2 .. R_{i-1}_i: document 002 multiplies in reverse, which is right only where the
            # fixed rotations commute, as the Panda's do (erratum 5).
            T = T @ expressions(step, (4, 4), "placements")
            z, r = T[:3, 2], T[:3, 3]
            frames.append(T)
            twists.append(np.concatenate((z, 0 * z) if sliding else (np.cross(r, z), z)))
        return cls(
            twists=np.array(twists),
            T_base_joint=np.array(frames),
            T_joint_flange=expressions(T_joint_flange, (4, 4), "T_joint_flange"),
            T_flange_ee=expressions(T_flange_ee, (4, 4), "T_flange_ee"),
            coms=expressions(coms, (len(twists), 3), "coms"),
        )


def joint_symbols(n: int, name: str = "q") -> Array:
    """(n,) real SymPy symbols q_1 .. q_n.

    Raises ArgumentError: `n` is not a positive integer.
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ArgumentError(f"n: expected a positive integer, got {n!r}")
    return np.array([sympy.Symbol(f"{name}_{i}", real=True) for i in range(1, n + 1)])


def exact_chain(robot: RobotDescription) -> ScrewChain:
    """The screws of a robot with exact numbers, to be given to functions together with symbols for q.

    An entry of a fixed rotation that is the sine of a multiple of 30 or 45 degrees up to rounding becomes exactly
    that (6e-17 becomes 0), so that terms cancel. Any other number becomes the fraction that its decimals say, where
    they are few (0.333), and stays a number with sixteen digits where they are not.

    Raises ArgumentError: `robot` is not a robot.
    """
    if not isinstance(robot, RobotDescription):
        raise ArgumentError(f"robot: expected a robot, got {type(robot).__name__}")
    *placements, flange, ee = (
        rigid([[_sine(entry) for entry in row] for row in T[:3, :3]], [_number(p) for p in T[:3, 3]])
        for T in (*robot.placements, robot.T_joint_flange, robot.T_flange_ee)
    )
    coms = [[_number(c) for c in link.com] for link in robot.links]
    return ScrewChain.from_placements(placements, robot.prismatic, coms, flange, ee)


def _sine(value: float) -> Any:
    """The sine of a multiple of 30 or 45 degrees that `value` is within 1e-12, else a number."""
    half = sympy.Rational(1, 2)
    for sine in (sympy.Integer(0), sympy.Integer(1), half, half * sympy.sqrt(2), half * sympy.sqrt(3)):
        if abs(abs(value) - float(sine)) < 1e-12:
            return sine if value > 0 else -sine
    return _number(value)


def _number(value: float) -> Any:
    """The fraction that the decimals of `value` say, if they are few; 0 below 1e-15, which is rounding (m)."""
    written = repr(float(value))
    if abs(value) < 1e-15:
        return sympy.Integer(0)
    # A product of fractions with sixteen digits each is no more exact than they are, but grows without bound.
    return sympy.Rational(written) if len(written) < 15 else sympy.Float(float(value))
