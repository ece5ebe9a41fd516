# SPDX-License-Identifier: Apache-2.0
"""Twists, adjoints and matrix exponentials as SymPy expressions (Lynch and Park 2017, chapter 3).

A twist here is (v, w), linear part first; document 002 writes (w, v). With P = [[0, 1], [1, 0]] (blocks of 3),
its twists are P V and its adjoints P Ad P of those here; 4x4 matrices are the same in both.

Arguments are numbers or expressions, results NumPy arrays of expressions, which multiply and add like those of numbers.
A wrong shape, or an entry that is neither a finite number nor an expression, is an `ArgumentError`.
"""

from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.errors import ArgumentError

Array = NDArray[Any]  # dtype object, with SymPy expressions as entries


def expressions(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """`value` as an array of this shape, each entry an expression; whole numbers are integers, since 1.0 x is not x.

    Raises ArgumentError: the shape is wrong, or an entry is neither a finite number nor an expression.
    """
    given = np.asarray(value, dtype=object)
    if given.shape != shape:
        raise ArgumentError(f"{name}: expected shape {shape}, got {given.shape}")
    out = np.empty(shape, dtype=object)
    for index, entry in np.ndenumerate(given):
        try:
            expression = sympy.sympify(entry, strict=True)
        except sympy.SympifyError as error:
            raise ArgumentError(f"{name}: expected numbers or SymPy expressions, got {entry!r:.80}") from error
        if not isinstance(expression, sympy.Expr) or expression.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo):
            raise ArgumentError(f"{name}: expected finite numbers or SymPy expressions, got {entry!r:.80}")
        whole = expression.is_Float and float(expression).is_integer()
        out[index] = sympy.Integer(int(expression)) if whole else expression
    return out


def identity(size: int) -> Array:
    """1 (size, size), of exact numbers."""
    return np.array(sympy.eye(size))


def skew(a: ArrayLike) -> Array:
    """[a] (3, 3) of a vector (3,): [a] b = a x b. Document 002: Vector2Matrix_3x3."""
    x, y, z = expressions(a, (3,), "a")
    return expressions([[0, -z, y], [z, 0, -x], [-y, x, 0]], (3, 3), "a")


def exp_twist(twist: ArrayLike, angle: Any) -> Array:
    """e^(V^ angle) (4, 4), the screw motion of a twist. Document 002: MatrixExp_4x4; its rotation is MatrixExp_3x3.

    R = e^([w] angle),  p = (angle 1 + (1 - cos)/n^2 [w] + (n angle - sin)/n^3 [w]^2) v,  n = |w|, sine and cosine
    of n angle. A pure translation (w = 0) moves by v angle.

    twist: (6,), linear part first, of any length.
    angle: rad for a unit rotation, m for a unit translation.
    """
    V, theta = expressions(twist, (6,), "twist"), expressions(angle, (), "angle").item()
    v, w, one = V[:3], V[3:], identity(3)
    n2 = sympy.nsimplify(sympy.simplify(w @ w), tolerance=1e-12)  # 0 and 1 are to be found, rounded or not
    if n2 == 0:
        return rigid(one, v * theta)
    n, W = sympy.sqrt(n2), skew(w)
    sine, versine, WW = sympy.sin(n * theta), (1 - sympy.cos(n * theta)) / n2, W @ W
    left = theta * one + versine * W + (n * theta - sine) / n**3 * WW
    return rigid(one + sine / n * W + versine * WW, left @ v)


def rigid(R: ArrayLike, p: ArrayLike) -> Array:
    """[[R, p], [0, 1]] (4, 4) of a rotation (3, 3) and a translation (3,)."""
    T = identity(4)
    T[:3, :3], T[:3, 3] = expressions(R, (3, 3), "R"), expressions(p, (3,), "p")
    return T


def adjoint(T_a_b: ArrayLike) -> Array:
    """Ad(T) = [[R, [p] R], [0, R]] (6, 6): maps a body's twist (v, w) at b's origin, in b, to a."""
    T = expressions(T_a_b, (4, 4), "T_a_b")
    out = 0 * identity(6)
    out[:3, :3] = out[3:, 3:] = T[:3, :3]
    out[:3, 3:] = skew(T[:3, 3]) @ T[:3, :3]
    return out
