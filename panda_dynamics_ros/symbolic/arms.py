# SPDX-License-Identifier: Apache-2.0
"""Symbolic arms: the Panda of document 002, and any robot with exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.symbolic.expressions import Array, require_sympy
from panda_dynamics_ros.symbolic.screw_chain import ScrewChain
from panda_dynamics_ros.symbolic.twists import exp_rotation, rigid


@dataclass(frozen=True, eq=False)
class DocumentPanda:
    """The Panda of document 002, section 1.1.

    Attributes
    ----------
    chain: its screws, in the symbols z_1, y_3, x_4, x_5, y_5, x_7, z_8 and x_c1 .. z_c7.
    t: time.
    q, dq: (7,), theta_i(t) and its derivative.
    """

    chain: ScrewChain
    t: Any
    q: Array
    dq: Array


def document_panda() -> DocumentPanda:
    """The Panda with the geometry and the centres of mass of document 002 as symbols.

    Raises
    ------
    MissingDependencyError: SymPy is not installed.

    Reference: document 002, sections 1.1 and 1.2; translations and fixed rotations are those of its URDF file.
    """
    sympy = require_sympy()
    z1, y3, x4, x5, y5, x7, z8 = sympy.symbols("z_1 y_3 x_4 x_5 y_5 x_7 z_8", real=True)
    quarter_turns = (0, -1, 1, 1, -1, 1, 1)  # RPY_0_1 .. RPY_6_7: all about x
    translations = [(0, 0, z1), (0, 0, 0), (0, y3, 0), (x4, 0, 0), (x5, y5, 0), (0, 0, 0), (x7, 0, 0)]
    coms = [sympy.symbols(f"x_c{i} y_c{i} z_c{i}", real=True) for i in range(1, 8)]
    t = sympy.Symbol("t", real=True)
    q = _expressions([sympy.Function(f"theta_{i}", real=True)(t) for i in range(1, 8)])
    turns = exp_rotation(_expressions([1, 0, 0]), _expressions(quarter_turns) * sympy.pi / 2)
    chain = ScrewChain.from_placements(
        rigid(turns, _expressions(translations)),
        prismatic=[False] * 7,
        coms=_expressions(coms),
        T_joint_flange=rigid(_expressions(np.eye(3, dtype=int)), _expressions([0, 0, z8])),
    )
    return DocumentPanda(chain, t, q, _expressions([angle.diff(t) for angle in q]))


def joint_symbols(n: int, name: str = "q") -> Array:
    """(n,) real SymPy symbols q_1 .. q_n.

    Raises
    ------
    ArgumentError: `n` is not a positive integer.
    MissingDependencyError: SymPy is not installed.
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ArgumentError(f"n: expected a positive integer, got {n!r}")
    sympy = require_sympy()
    return _expressions([sympy.Symbol(f"{name}_{i}", real=True) for i in range(1, n + 1)])


def exact_chain(robot: RobotDescription) -> ScrewChain:
    """The screws of a robot with exact numbers, to be given to functions together with symbols for q.

    An entry of a fixed rotation that is the sine of a multiple of 30 or 45 degrees up to rounding becomes exactly
    that (6e-17 becomes 0), so that terms cancel. Any other number becomes the fraction that its decimals say, where
    they are few (0.333), and stays a number with sixteen digits where they are not.

    Raises
    ------
    ArgumentError: `robot` is not a robot.
    MissingDependencyError: SymPy is not installed.
    """
    if not isinstance(robot, RobotDescription):
        raise ArgumentError(f"robot: expected a robot, got {type(robot).__name__}")
    steps = np.array([_exact(T) for T in (*robot.placements, robot.T_joint_flange, robot.T_flange_ee)])
    coms = _expressions([[_number(c) for c in link.com] for link in robot.links])
    return ScrewChain.from_placements(steps[: robot.n], robot.prismatic, coms, steps[robot.n], steps[robot.n + 1])


def _exact(T: Array) -> Array:
    out = _expressions(np.eye(4, dtype=int))
    out[:3, 3] = [_number(p) for p in T[:3, 3]]
    out[:3, :3] = [[_sine(entry) for entry in row] for row in T[:3, :3]]
    return out


def _sine(value: float) -> Any:
    """The sine of a multiple of 30 or 45 degrees that `value` is within 1e-12, else a number."""
    sympy = require_sympy()
    half = sympy.Rational(1, 2)
    for sine in (sympy.Integer(0), sympy.Integer(1), half, half * sympy.sqrt(2), half * sympy.sqrt(3)):
        if abs(abs(value) - float(sine)) < 1e-12:
            return sine if value > 0 else -sine
    return _number(value)


def _number(value: float) -> Any:
    """The fraction that the decimals of `value` say, if they are few; 0 below 1e-15, which is rounding (m)."""
    sympy, written = require_sympy(), repr(float(value))
    if abs(value) < 1e-15:
        return sympy.Integer(0)
    # A product of fractions with sixteen digits each is no more exact than they are, but grows without bound.
    return sympy.Rational(written) if len(written) < 15 else sympy.Float(float(value))


def _expressions(values: ArrayLike) -> Array:
    """An object array of SymPy expressions."""
    given = np.asarray(values, dtype=object)
    out = np.empty(given.shape, dtype=object)
    for index, entry in np.ndenumerate(given):
        out[index] = require_sympy().sympify(entry)
    return out
