# SPDX-License-Identifier: Apache-2.0
"""Twists, adjoints and matrix exponentials, of numbers or SymPy expressions (Lynch and Park 2017, chapter 3).

A twist here is (v, w), linear part first; document 002 writes (w, v). With P = [[0, 1], [1, 0]] (blocks of 3),
its twists are P V and its adjoints P Ad P of those here; 4x4 matrices are the same in both.

A wrong shape, or an entry that is neither a finite number nor an expression, is an `ArgumentError`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.symbolic.expressions import (
    Array,
    alike,
    exponential_terms,
    numbers_or_expressions,
    require_leading_shapes,
)


def skew(a: ArrayLike) -> Array:
    """[a] (..., 3, 3) of a vector (..., 3): [a] b = a x b. Document 002: Vector2Matrix_3x3."""
    vector = numbers_or_expressions(a, (3,), "a")
    out = np.zeros((*vector.shape, 3), dtype=vector.dtype)
    x, y, z = np.moveaxis(vector, -1, 0)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def twist_matrix(twist: ArrayLike) -> Array:
    """V^ = [[ [w], v ], [0, 0]] (..., 4, 4) of a twist (..., 6), linear first. Document 002: Twist2Matrix_4x4."""
    V = numbers_or_expressions(twist, (6,), "twist")
    out = np.zeros((*V.shape[:-1], 4, 4), dtype=V.dtype)
    out[..., :3, :3] = skew(V[..., 3:])
    out[..., :3, 3] = V[..., :3]
    return out


def exp_rotation(w: ArrayLike, angle: ArrayLike) -> Array:
    """e^([w] angle) (..., 3, 3), by Rodrigues' formula. Document 002: MatrixExp_3x3.

    Parameters
    ----------
    w: (..., 3), an axis of any length, zero included.
    angle: (...), rad where the axis has unit length.
    """
    axis = numbers_or_expressions(w, (3,), "w")
    theta = numbers_or_expressions(angle, (), "angle")
    require_leading_shapes(w=(axis, 1), angle=(theta, 0))
    axis, theta = alike(axis, theta)
    sine, versine, _ = exponential_terms((axis * axis).sum(-1), theta)
    W = skew(axis)
    return np.eye(3, dtype=int) + _scaled(sine, W) + _scaled(versine, W @ W)


def exp_twist(twist: ArrayLike, angle: ArrayLike) -> Array:
    """e^(V^ angle) (..., 4, 4), the screw motion of a twist. Document 002: MatrixExp_4x4.

    R = e^([w] angle),  p = (angle 1 + (1 - cos)/n^2 [w] + (n angle - sin)/n^3 [w]^2) v,  n = |w|, sine and cosine
    of n angle. A pure translation (w = 0) moves by v angle.

    Parameters
    ----------
    twist: (..., 6), linear part first, of any length.
    angle: (...), rad for a unit rotation, m for a unit translation.
    """
    V = numbers_or_expressions(twist, (6,), "twist")
    theta = numbers_or_expressions(angle, (), "angle")
    require_leading_shapes(twist=(V, 1), angle=(theta, 0))
    V, theta = alike(V, theta)
    w = V[..., 3:]
    sine, versine, rest = exponential_terms((w * w).sum(-1), theta)
    W = skew(w)
    WW = W @ W
    identity = np.eye(3, dtype=int)
    left = _scaled(theta + 0 * sine, identity) + _scaled(versine, W) + _scaled(rest, WW)
    return rigid(identity + _scaled(sine, W) + _scaled(versine, WW), _times(left, V[..., :3]))


def rigid(R: ArrayLike, p: ArrayLike) -> Array:
    """[[R, p], [0, 1]] (..., 4, 4) of a rotation (..., 3, 3) and a translation (..., 3)."""
    rotation = numbers_or_expressions(R, (3, 3), "R")
    translation = numbers_or_expressions(p, (3,), "p")
    require_leading_shapes(R=(rotation, 2), p=(translation, 1))
    rotation, translation = alike(rotation, translation)
    shape = np.broadcast_shapes(rotation.shape[:-2], translation.shape[:-1])
    T = np.zeros((*shape, 4, 4), dtype=rotation.dtype)
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = rotation, translation, 1
    return T


def inverse_transform(T_a_b: ArrayLike) -> Array:
    """T_b_a (..., 4, 4) = [[R^T, -R^T p], [0, 1]] of a rigid transform."""
    T = numbers_or_expressions(T_a_b, (4, 4), "T_a_b")
    R_back = np.swapaxes(T[..., :3, :3], -1, -2)
    return rigid(R_back, -_times(R_back, T[..., :3, 3]))


def adjoint(T_a_b: ArrayLike) -> Array:
    """Ad(T) = [[R, [p] R], [0, R]] (..., 6, 6): maps a body's twist (v, w) at b's origin, in b, to a."""
    T = numbers_or_expressions(T_a_b, (4, 4), "T_a_b")
    R = T[..., :3, :3]
    return _adjoint_of_blocks(R, skew(T[..., :3, 3]) @ R)


def adjoint_inverse(T_a_b: ArrayLike) -> Array:
    """Ad(T)^-1 = [[R^T, -R^T [p]], [0, R^T]] (..., 6, 6). Document 002: AdjointInverseMatrix."""
    T = numbers_or_expressions(T_a_b, (4, 4), "T_a_b")
    R_back = np.swapaxes(T[..., :3, :3], -1, -2)
    return _adjoint_of_blocks(R_back, -R_back @ skew(T[..., :3, 3]))


def com_shift(T_base_joint: ArrayLike, com: ArrayLike) -> Array:
    """T_CoM (..., 4, 4) = T_i (T_mi - 1) + 1: the shift from a joint's origin to its link's CoM, in base axes.

    Parameters
    ----------
    T_base_joint: (..., 4, 4), pose of the joint frame.
    com: (..., 3), m, the centre of mass in the joint frame.

    Reference: document 002, section 1.2, T_CoM(i; theta).
    """
    T = numbers_or_expressions(T_base_joint, (4, 4), "T_base_joint")
    c = numbers_or_expressions(com, (3,), "com")
    require_leading_shapes(T_base_joint=(T, 2), com=(c, 1))
    T, c = alike(T, c)
    T_mi_minus_1 = np.zeros((*c.shape[:-1], 4, 4), dtype=c.dtype)
    T_mi_minus_1[..., :3, 3] = c
    return T @ T_mi_minus_1 + np.eye(4, dtype=int)


def _times(A: Array, x: Array) -> Array:
    """A x for (..., 3, 3) and (..., 3)."""
    product: Array = (A @ x[..., None])[..., 0]
    return product


def _scaled(factor: Array, A: Array) -> Array:
    scaled: Array = np.asarray(factor)[..., None, None] * A  # one expression is no longer an array
    return scaled


def _adjoint_of_blocks(R: Array, upper_right: Array) -> Array:
    out = np.zeros((*R.shape[:-2], 6, 6), dtype=R.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = R
    out[..., :3, 3:] = upper_right
    return out
