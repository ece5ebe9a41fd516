# SPDX-License-Identifier: Apache-2.0
"""SymPy on each entry of an array, the exact test for zero, and the arm and the matrices of document 002."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.symbolic import ScrewChain, exp_twist, rigid, skew

Array = NDArray[Any]


def normal_form(entry: Any) -> Any:
    """Expanded, without sin^2: 0 exactly where a polynomial in sines and cosines vanishes.

    Sines of power 0 or 1, times any power of cosines, are independent functions.
    """
    expanded = sympy.expand(sympy.nsimplify(entry, rational=True))
    return sympy.expand(
        expanded.replace(
            lambda e: e.is_Pow and isinstance(e.base, sympy.sin) and e.exp.is_Integer and e.exp >= 2,
            lambda e: (1 - sympy.cos(e.base.args[0]) ** 2) ** (int(e.exp) // 2) * e.base ** (int(e.exp) % 2),
        )
    )


def is_zero(array: ArrayLike) -> bool:
    return not any(normal_form(entry) for entry in np.asarray(array, dtype=object).flat)


def substituted(array: ArrayLike, values: Mapping[Any, Any]) -> Array:
    """Numbers in place of symbols, all at once."""
    rule = {key: sympy.sympify(value) for key, value in values.items()}
    each = np.frompyfunc(lambda entry: float(sympy.sympify(entry).xreplace(rule)), 1, 1)
    return np.asarray(each(array), dtype=np.float64)


def time_derivative(array: ArrayLike, t: Any) -> Array:
    return np.asarray(np.frompyfunc(lambda entry: sympy.diff(entry, t), 1, 1)(array))


def jacobian_from_velocity(velocity: Array, rates: Array) -> Array:
    """J with velocity = J rates: document 002, section 1.3, JacobianFromDefinition."""
    return np.array(sympy.Matrix(velocity).jacobian(sympy.Matrix(rates)), dtype=object)


def twist_matrix(V: ArrayLike) -> Array:
    """V^ = [[ [w], v ], [0, 0]] (4, 4) of a twist (6,), linear first: Twist2Matrix_4x4."""
    twist = np.asarray(V, dtype=object)
    out = rigid(skew(twist[3:]), twist[:3])
    out[3, 3] = 0 * out[3, 3]
    return out


def inverse_transform(T_a_b: Array) -> Array:
    """T_b_a (4, 4) = [[R^T, -R^T p], [0, 1]] of a rigid transform."""
    R = T_a_b[:3, :3]
    return rigid(R.T, -R.T @ T_a_b[:3, 3])


def com_shift(T_base_joint: Array, com: ArrayLike) -> Array:
    """T_CoM (4, 4) = T_i (T_mi - 1) + 1."""
    return rigid(np.eye(3), T_base_joint[:3, :3] @ com)


def com_poses(chain: ScrewChain, q: ArrayLike) -> Array:
    """T_i_0 T_mi_i of all links."""
    return np.array([T @ rigid(np.eye(3), com) for T, com in zip(chain.joint_poses(q), chain.coms, strict=True)])


def document_panda() -> tuple[ScrewChain, Any, Array]:
    """The Panda in the symbols of document 002, sections 1.1 and 1.2; time t, and theta (7,) as functions of it."""
    z1, y3, x4, x5, y5, x7, z8 = sympy.symbols("z_1 y_3 x_4 x_5 y_5 x_7 z_8", real=True)
    quarter_turns = (0, -1, 1, 1, -1, 1, 1)  # RPY_0_1 .. RPY_6_7: all about x
    translations = [(0, 0, z1), (0, 0, 0), (0, y3, 0), (x4, 0, 0), (x5, y5, 0), (0, 0, 0), (x7, 0, 0)]
    turns = [exp_twist(np.array([0, 0, 0, 1, 0, 0]), turn * sympy.pi / 2)[:3, :3] for turn in quarter_turns]
    placements = [rigid(R, p) for R, p in zip(turns, translations, strict=True)]
    coms = [sympy.symbols(f"x_c{i} y_c{i} z_c{i}", real=True) for i in range(1, 8)]
    chain = ScrewChain(placements, [False] * 7, coms, rigid(np.eye(3), [0, 0, z8]), np.eye(4))
    t = sympy.Symbol("t", real=True)
    return chain, t, np.array([sympy.Function(f"theta_{i}", real=True)(t) for i in range(1, 8)])
