# SPDX-License-Identifier: Apache-2.0
"""The generalized force of one body as a linear function of its ten inertial parameters."""

from __future__ import annotations

from panda_dynamics_ros.dynamics.kernels.vectors import (
    AXIS,
    IDENTITY,
    ZERO,
    add,
    compose,
    cross,
    dot,
    fixed_rotation,
    joint_count,
    part,
    placed,
    rotate,
    rotate_back,
    slides,
    store,
    translation,
    vector_at,
)


@part
def project_wrench(s, z, a, w, dw):
    """The row (10,) whose product with (m, m c, I) is S_j . wrench, the body's torque about joint j.

    S_j = (s, z) is the joint's unit twist. The wrench is that of De Luca, Robotics 2, slides 3-5,
        f = m a + dw x mc + w x (w x mc),   n = I dw + w x (I w) + mc x a,
    about the frame's origin, in its axes. Each triple product is rearranged so that mc or I stands alone:
        s . f + z . n = m (s . a) + mc . (s x dw + w x (w x s) + a x z) + z . I dw + (z x w) . I w.
    With (v, 0, w) instead of (a, w, dw) it gives the body's momentum along S_j, with (-g, 0, 0) its weight.
    """
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


@part
def store_row(Y, j, column, row):
    """Write ten entries into row j of Y from this column on."""
    for k in range(10):
        Y[j, column + k] = row[k]


@part
def twist_at(S, j):
    """The unit twist of joint j, linear part first."""
    return vector_at(S, j, 0), vector_at(S, j, 3)


@part
def store_twist(S, j, twist):
    """Write the unit twist of joint j."""
    store(S, j, 0, twist[0])
    store(S, j, 3, twist[1])


@part
def carried_twist(R, p, s, z):
    """A unit twist in a frame at R, p in its own: s' = R^T (s + z x p), z' = R^T z."""
    return rotate_back(R, add(s, cross(z, p))), rotate_back(R, z)


@part
def joint_twist(sliding):
    """The unit twist of a joint in its own frame."""
    return (AXIS, ZERO) if sliding else (ZERO, AXIS)


@part
def unit_twists(table, frame, frames, S):
    """S (n, 6): unit twist of every joint at the origin of `frame`, in its axes; and R, p of T_base_frame.

    `frame` is the last joint's or one fixed behind it; linear parts first. This is the body Jacobian, transposed.
    Inward from the frame: with its pose R, p in joint i's axes, the joint's own z turns it by R^T (z x p), R^T z.
    """
    n = joint_count(table)
    R, p = IDENTITY, ZERO
    for row in range(frame, n - 1, -1):
        R_row, p_row = fixed_rotation(table, row), translation(table, row)
        R, p = compose(R_row, R), add(p_row, rotate(R_row, p))
    for i in range(n - 1, -1, -1):
        z = (R[6], R[7], R[8])
        store_twist(S, i, (z, ZERO) if slides(table, i) else (rotate_back(R, cross(AXIS, p)), z))
        R_i, p_i = placed(frames, i)
        R, p = compose(R_i, R), add(p_i, rotate(R_i, p))
    return R, p
