# SPDX-License-Identifier: Apache-2.0
"""Regressors: torques as linear functions of inertial parameters, of the links and of a payload."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import (
    BLOCK,
    FREE,
    ORIGIN,
    PLACED,
    RowsKernel,
    finite,
    get,
    get_rotation,
    is_one_state,
    over_rows,
    put,
    workspace,
)
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
    part,
    place_joints,
    placed,
    rotate,
    rotate_back,
    slides,
    store,
    translation,
    upward,
    vector_at,
)
from panda_dynamics_ros.dynamics.newton_euler import DW, VELOCITY, A, outward_block, start_block, step_outward
from panda_dynamics_ros.robot.description import PRISMATIC, RobotDescription


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


@compiled
def regressor_of_one(table, q, dq, ddq, Y):
    """Upper block triangles of Y (rows n, 10 n) of stacked motions; False if one is not finite."""
    n = joint_count(table)
    frames, S = np.empty((n, 12)), np.empty((n, 6))
    for k in range(0, q.shape[0], n):
        place_joints(table, q[k : k + n], frames)
        a, w, dw = upward(table), ZERO, ZERO
        for i in range(n):
            R, p = placed(frames, i)
            a, w, dw = step_outward(table[i, PRISMATIC], R, p, dq[k + i], ddq[k + i], a, w, dw)
            store_twist(S, i, joint_twist(slides(table, i)))
            for j in range(i + 1):
                if j < i:
                    s, z = twist_at(S, j)
                    store_twist(S, j, carried_twist(R, p, s, z))
                s, z = twist_at(S, j)
                store_row(Y, k + j, 10 * i, project_wrench(s, z, a, w, dw))
    return finite(q) and finite(dq) and finite(ddq)


TWIST = FREE + 2  # of each link
ROW = 0  # of the regressor, in the last row


@compiled(nogil=True)
def regressor_blocks(table, q, dq, ddq, Y):
    """Upper block triangles of Y (rows, n, 10 n) of q, dq, ddq (rows, n), as `regressor_of_one` has them."""
    rows, n = q.shape
    W, S, up = workspace(n), workspace(0)[0], upward(table)
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        count, result = last - first, Y[first:last]
        start_block(table, W, up, q[first:last], dq[first:last], ddq[first:last])
        for i in range(n):
            outward_block(table, W, i, count)
            V, U, twist = W[i], W[i + 1], joint_twist(slides(table, i))
            for b in range(count):
                put(V, TWIST, b, twist[0])
                put(V, TWIST + 3, b, twist[1])
            for j in range(i):
                T = W[j]
                for b in range(count):
                    R, p = get_rotation(V, PLACED, b), get(V, ORIGIN, b)
                    s, z = carried_twist(R, p, get(T, TWIST, b), get(T, TWIST + 3, b))
                    put(T, TWIST, b, s)
                    put(T, TWIST + 3, b, z)
            for j in range(i + 1):
                T = W[j]
                for b in range(count):
                    s, z = get(T, TWIST, b), get(T, TWIST + 3, b)
                    put_ten(S, b, project_wrench(s, z, get(U, A, b), get(U, VELOCITY, b), get(U, DW, b)))
                for b in range(count):
                    for c in range(10):
                        result[b, j, 10 * i + c] = S[ROW + c, b]


@part
def put_ten(S, b, row):
    """Write ten numbers of state b."""
    put(S, ROW, b, (row[0], row[1], row[2]))
    put(S, ROW + 3, b, (row[3], row[4], row[5]))
    put(S, ROW + 6, b, (row[6], row[7], row[8]))
    S[ROW + 9, b] = row[9]


@part
def payload_regressor_sample(table, frame, frames, dq, ddq, S, Y):
    """Y (n, 10) of one motion, its joints placed, for a payload in row `frame` of the table; R, p of T_base_frame."""
    n = joint_count(table)
    a, w, dw = upward(table), ZERO, ZERO
    for i in range(n):
        R, p = placed(frames, i)
        a, w, dw = step_outward(table[i, PRISMATIC], R, p, dq[i], ddq[i], a, w, dw)
    for row in range(n, frame + 1):
        R, p = fixed_rotation(table, row), translation(table, row)
        a = rotate_back(R, add(a, add(cross(dw, p), cross(w, cross(w, p)))))
        w, dw = rotate_back(R, w), rotate_back(R, dw)
    R, p = unit_twists(table, frame, frames, S)
    for j in range(n):
        s, z = twist_at(S, j)
        store_row(Y, j, 0, project_wrench(s, z, a, w, dw))
    return R, p


@compiled
def payload_regressor_of_one(table, frame, q, dq, ddq, Y):
    """Y (rows n, 10) of stacked motions; False if one is not finite."""
    n = joint_count(table)
    frames, S = np.empty((n, 12)), np.empty((n, 6))
    for k in range(0, q.shape[0], n):
        place_joints(table, q[k : k + n], frames)
        payload_regressor_sample(table, frame, frames, dq[k : k + n], ddq[k : k + n], S, Y[k : k + n])
    return finite(q) and finite(dq) and finite(ddq)


regressor_kernel = RowsKernel(regressor_of_one, regressor_blocks)
payload_regressor_kernel = RowsKernel(payload_regressor_of_one, shared=2)


def regressor(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> FloatArray:
    """Y with inverse_dynamics = Y @ inertial_vector; block upper triangular.

    Parameters
    ----------
    q, dq, ddq: (..., n), rad, rad/s, rad/s^2. Leading dimensions broadcast.

    Returns
    -------
    (..., n, 10 n): columns 10 i .. 10 i + 9 belong to (m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of link
    i + 1, inertia about its joint frame's origin. Row j is zero for links before joint j.

    Reference: De Luca, Robotics 2, slide 5, Y_S pi = u (document 003); Gautier and Khalil 1988, eq. (12).
    """
    if is_one_state(robot, q, dq, ddq):
        Y = np.zeros((robot.n, 10 * robot.n))
        if regressor_of_one(robot.table, q, dq, ddq, Y):
            return Y
    return over_rows(robot, regressor_kernel, (robot.n, 10 * robot.n), q=q, dq=dq, ddq=ddq)


def payload_regressor(
    robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, frame: str = "flange"
) -> FloatArray:
    """Y_L with payload torques = Y_L @ payload.vector, for a body fixed in the last link.

    Parameters
    ----------
    q, dq, ddq: (..., n), rad, rad/s, rad/s^2. Leading dimensions broadcast.
    frame: the frame of the payload's inertial vector: flange, ee or the last joint.

    Returns
    -------
    (..., n, 10), N m per unit of (m, m c, I), inertia about the frame's origin, in its axes.

    Raises
    ------
    ArgumentError: an argument is not finite or not of shape (..., n), or the frame is not in the last link.

    Reference: De Luca, Robotics 2, slides 5 and 20 (document 003).
    """
    robot.last_joint_frame(frame)
    index = robot.frame_index(frame)
    if is_one_state(robot, q, dq, ddq):
        Y = np.empty((robot.n, 10))
        if payload_regressor_of_one(robot.table, index, q, dq, ddq, Y):
            return Y
    return over_rows(robot, payload_regressor_kernel, (robot.n, 10), index, q=q, dq=dq, ddq=ddq)


def gravity_regressor(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Y_g with gravity_torques = Y_g @ inertial_vector: the regressor of the arm at rest.

    Parameters
    ----------
    q: (..., n), rad.

    Returns
    -------
    (..., n, 10 n), columns as in `regressor`; those of the inertias are zero, since gravity acts on m and m c only.

    Reference: De Luca, Robotics 2, slide 16, separate identification of gravity terms (document 003).
    """
    rest = np.zeros(robot.n)
    return regressor(robot, q, rest, rest)
