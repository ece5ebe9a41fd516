# SPDX-License-Identifier: Apache-2.0
"""The generalized force of one body as a linear function of its ten inertial parameters."""

from __future__ import annotations

from panda_dynamics_ros.dynamics.kernels.vectors import (
    AXIS,
    IDENTITY,
    ZERO,
    add,
    compiled,
    compose,
    cross,
    dot,
    fixed_rotation,
    joint_count,
    placed,
    rotate,
    rotate_back,
    store,
    vector_at,
)
from panda_dynamics_ros.robot.description import PRISMATIC, TRANSLATION


@compiled
def project_wrench(S, j, a, w, dw):
    """The row (10,) whose product with (m, m c, I) is S_j . wrench, the body's torque about joint j.

    S_j = (s, z) is the joint's unit twist (row j of S). The wrench is that of De Luca, Robotics 2, slides 3-5,
        f = m a + dw x mc + w x (w x mc),   n = I dw + w x (I w) + mc x a,
    about the frame's origin, in its axes. Each triple product is rearranged so that mc or I stands alone:
        s . f + z . n = m (s . a) + mc . (s x dw + w x (w x s) + a x z) + z . I dw + (z x w) . I w.
    With (v, 0, w) instead of (a, w, dw) it gives the body's momentum along S_j, with (-g, 0, 0) its weight.
    """
    s, z = vector_at(S, j, 0), vector_at(S, j, 3)
    first = add(cross(s, dw), add(cross(w, cross(w, s)), cross(a, z)))
    u = cross(z, w)
    return (
        dot(s, a),
        first[0],
        first[1],
        first[2],
        z[0] * dw[0] + u[0] * w[0],
        z[0] * dw[1] + z[1] * dw[0] + u[0] * w[1] + u[1] * w[0],
        z[0] * dw[2] + z[2] * dw[0] + u[0] * w[2] + u[2] * w[0],
        z[1] * dw[1] + u[1] * w[1],
        z[1] * dw[2] + z[2] * dw[1] + u[1] * w[2] + u[2] * w[1],
        z[2] * dw[2] + u[2] * w[2],
    )


@compiled
def store_row(Y, j, column, row):
    """Write ten entries into row j of Y from this column on."""
    for k in range(10):
        Y[j, column + k] = row[k]


@compiled
def carry_twists(S, count, R, p):
    """Move `count` unit twists (rows of S) to a frame at R, p in theirs: s' = R^T (s + z x p), z' = R^T z."""
    for j in range(count):
        s, z = vector_at(S, j, 0), vector_at(S, j, 3)
        store(S, j, 0, rotate_back(R, add(s, cross(z, p))))
        store(S, j, 3, rotate_back(R, z))


@compiled
def joint_twist(table, i, S):
    """Row i of S: the unit twist of joint i in its own frame."""
    if table[i, PRISMATIC] != 0.0:
        store(S, i, 0, AXIS)
        store(S, i, 3, ZERO)
    else:
        store(S, i, 0, ZERO)
        store(S, i, 3, AXIS)


@compiled
def unit_twists(table, frame, frames, S):
    """S (n, 6): unit twist of every joint at the origin of `frame`, in its axes; and R, p of T_base_frame.

    `frame` is the last joint's or one fixed behind it; linear parts first. This is the body Jacobian, transposed.
    Inward from the frame: with its pose R, p in joint i's axes, the joint's own z turns it by R^T (z x p), R^T z.
    """
    n = joint_count(table)
    R, p = IDENTITY, ZERO
    for row in range(frame, n - 1, -1):
        R_row, p_row = fixed_rotation(table, row), vector_at(table, row, TRANSLATION)
        R, p = compose(R_row, R), add(p_row, rotate(R_row, p))
    for i in range(n - 1, -1, -1):
        z = (R[6], R[7], R[8])
        if table[i, PRISMATIC] != 0.0:
            store(S, i, 0, z)
            store(S, i, 3, ZERO)
        else:
            store(S, i, 0, rotate_back(R, cross(AXIS, p)))
            store(S, i, 3, z)
        R_i, p_i = placed(frames, i)
        R, p = compose(R_i, R), add(p_i, rotate(R_i, p))
    return R, p
