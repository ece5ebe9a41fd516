# SPDX-License-Identifier: Apache-2.0
"""Regressors: torques as linear functions of inertial parameters, of the links and of a payload."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.body_regressor import (
    carried_twist,
    joint_twist,
    project_wrench,
    store_row,
    store_twist,
    twist_at,
    unit_twists,
)
from panda_dynamics_ros.dynamics.kernels.batch import RowsKernel, finite, is_one_motion, joint_rows, over_rows
from panda_dynamics_ros.dynamics.kernels.blocks import (
    BLOCK,
    FREE,
    ORIGIN,
    PLACED,
    get,
    get_rotation,
    load,
    place_block,
    put,
    workspace,
)
from panda_dynamics_ros.dynamics.kernels.vectors import (
    ZERO,
    add,
    compiled,
    cross,
    fixed_rotation,
    joint_count,
    part,
    place_joints,
    placed,
    rotate_back,
    slides,
    translation,
    upward,
)
from panda_dynamics_ros.dynamics.newton_euler import step_outward
from panda_dynamics_ros.robot.description import PRISMATIC, RobotDescription


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


DQ, DDQ, TWIST = FREE, FREE + 1, FREE + 2  # of each link
A, VELOCITY, DW = FREE + 8, FREE + 11, FREE + 14  # motion of the link before
ROW = 0  # of the regressor, in the last row


@compiled(nogil=True)
def regressor_blocks(table, q, dq, ddq, Y):
    """Upper block triangles of Y (rows, n, 10 n) of q, dq, ddq (rows, n), as `regressor_of_one` has them."""
    rows, n = q.shape
    W, S, up = workspace(n), workspace(0)[0], upward(table)
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        count, result = last - first, Y[first:last]
        place_block(table, W, q[first:last], n)
        load(W, DQ, dq[first:last])
        load(W, DDQ, ddq[first:last])
        V = W[0]
        for b in range(count):
            put(V, A, b, up)
            put(V, VELOCITY, b, ZERO)
            put(V, DW, b, ZERO)
        for i in range(n):
            V, U, sliding, twist = W[i], W[i + 1], table[i, PRISMATIC], joint_twist(slides(table, i))
            for b in range(count):
                R, p = get_rotation(V, PLACED, b), get(V, ORIGIN, b)
                a, w, dw = get(V, A, b), get(V, VELOCITY, b), get(V, DW, b)
                a, w, dw = step_outward(sliding, R, p, V[DQ, b], V[DDQ, b], a, w, dw)
                put(U, A, b, a)
                put(U, VELOCITY, b, w)
                put(U, DW, b, dw)
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
    if is_one_motion(robot, q, dq, ddq):
        Y = np.zeros((robot.n, 10 * robot.n))
        if regressor_of_one(robot.table, q, dq, ddq, Y):
            return Y
    shape, (q_rows, dq_rows, ddq_rows) = joint_rows(robot, q=q, dq=dq, ddq=ddq)
    Y = np.zeros((len(q_rows), robot.n, 10 * robot.n))
    regressor_kernel(robot.table, q_rows, dq_rows, ddq_rows, Y)
    return Y.reshape(*shape, robot.n, 10 * robot.n)


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
    if is_one_motion(robot, q, dq, ddq):
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
