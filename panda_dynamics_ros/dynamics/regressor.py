# SPDX-License-Identifier: Apache-2.0
"""Regressors: torques as linear functions of inertial parameters, of the links and of a payload."""

import numpy as np
from numpy import zeros
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels import blocks, chain
from panda_dynamics_ros.dynamics.kernels.batch import finite, of_states
from panda_dynamics_ros.dynamics.kernels.blocks import BLOCK, FREE, get, put
from panda_dynamics_ros.dynamics.kernels.compiled import compiled, part
from panda_dynamics_ros.dynamics.kernels.vectors import AXIS, ZERO, add, along, cross, dot, fetch, rotate_back, store
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
def unit_twists(table, frame, frames, S):
    """S (n, 6): unit twist of every joint at the origin of `frame`, in its axes; and the placement T_base_frame.

    `frame` is the last joint's or one fixed behind it; linear parts first. This is the body Jacobian, transposed.
    Inward from the frame: with its pose R, p in joint i's axes, the joint's own z turns it by R^T (z x p), R^T z.
    """
    n, X = chain.joint_count(table), chain.BASE
    for row in range(frame, n - 1, -1):
        X = along(chain.placed(table, row), X)
    for i in range(n - 1, -1, -1):
        R, p = X
        z, sliding = (R[6], R[7], R[8]), chain.slides(table, i)
        store(S, i, 0, z if sliding else rotate_back(R, cross(AXIS, p)))
        store(S, i, 3, ZERO if sliding else z)
        X = along(chain.placed(frames, i), X)
    return X


TWIST = FREE + 2  # of each link, linear part first


@part
def regressor_block(table, W, count, q, dq, ddq, Y):
    """Upper block triangles of Y (count, n, 10 n) of q, dq, ddq (count, n)."""
    n = q.shape[1]
    entries = np.empty((10, W.shape[2]))  # beside W: the loop that writes them reads two parts of W already
    start_block(table, W, chain.upward(table), count, q, dq, ddq)
    for i in range(n):
        outward_block(table, W, i, count)
        V, U, sliding = W[i], W[i + 1], table[i, PRISMATIC]
        for b in range(count):
            put(V, TWIST, b, (0.0, 0.0, sliding))
            put(V, TWIST + 3, b, (0.0, 0.0, 1.0 - sliding))
        for j in range(i):
            T = W[j]
            for b in range(count):  # s' = R^T (s + z x p), z' = R^T z
                (R, p), s, z = blocks.placed(V, b), get(T, TWIST, b), get(T, TWIST + 3, b)
                put(T, TWIST, b, rotate_back(R, add(s, cross(z, p))))
                put(T, TWIST + 3, b, rotate_back(R, z))
        for j in range(i + 1):
            T = W[j]
            for b in range(count):
                s, z = get(T, TWIST, b), get(T, TWIST + 3, b)
                row = project_wrench(s, z, get(U, A, b), get(U, VELOCITY, b), get(U, DW, b))
                for c in range(10):
                    entries[c, b] = row[c]
            for b in range(count):
                for c in range(10):
                    Y[b, j, 10 * i + c] = entries[c, b]


@compiled
def regressor_of_one(table, q, dq, ddq, Y):
    """Upper block triangles of Y (rows n, 10 n) of stacked motions; whether they are finite."""
    n = chain.joint_count(table)
    W = blocks.workspace(n, 1)
    for k in range(0, q.shape[0], n):
        one, row = slice(k, k + n), (1, n)
        result = Y[one].reshape(1, n, 10 * n)
        regressor_block(table, W, 1, q[one].reshape(row), dq[one].reshape(row), ddq[one].reshape(row), result)
    return finite(q) and finite(dq) and finite(ddq)


@compiled(nogil=True)
def regressor_blocks(table, q, dq, ddq, Y):
    """Upper block triangles of Y (rows, n, 10 n) of q, dq, ddq (rows, n), as `regressor_of_one` has them."""
    W = blocks.workspace(q.shape[1])
    for k in range(0, q.shape[0], BLOCK):
        some, count = slice(k, k + BLOCK), min(BLOCK, q.shape[0] - k)
        regressor_block(table, W, count, q[some], dq[some], ddq[some], Y[some])


@compiled
def payload_regressor_of_one(table, frame, q, dq, ddq, Y):
    """Y (rows n, 10) of stacked motions, for a payload in row `frame` of the table; whether they are finite."""
    n = chain.joint_count(table)
    frames, S = np.empty((n, 12)), np.empty((n, 6))
    for k in range(0, q.shape[0], n):
        chain.place_joints(table, q[k : k + n], frames)
        a, w, dw = chain.upward(table), ZERO, ZERO
        for i in range(n):
            a, w, dw = step_outward(table[i, PRISMATIC], chain.placed(frames, i), dq[k + i], ddq[k + i], a, w, dw)
        for row in range(n, frame + 1):
            a, w, dw = step_outward(0.0, chain.placed(table, row), 0.0, 0.0, a, w, dw)
        unit_twists(table, frame, frames, S)
        for j in range(n):
            row = project_wrench(fetch(S, j, 0), fetch(S, j, 3), a, w, dw)
            for c in range(10):
                Y[k + j, c] = row[c]
    return finite(q) and finite(dq) and finite(ddq)


def regressor(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> FloatArray:
    """Y with inverse_dynamics = Y @ inertial_vector; block upper triangular.

    q, dq, ddq: (..., n), rad, rad/s, rad/s^2. Leading dimensions broadcast.
    Returns (..., n, 10 n): columns 10 i .. 10 i + 9 belong to (m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of link
        i + 1, inertia about its joint frame's origin. Row j is zero for links before joint j.

    Reference: De Luca, Robotics 2, slide 5, Y_S pi = u (document 003); Gautier and Khalil 1988, eq. (12).
    """
    Y = zeros((robot.n, 10 * robot.n))
    return of_states(robot, (q, dq, ddq), regressor_of_one, regressor_blocks, (robot.table, q, dq, ddq, Y))


def payload_regressor(
    robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, frame: str = "flange"
) -> FloatArray:
    """Y_L with payload torques = Y_L @ payload.vector, for a body fixed in the last link.

    q, dq, ddq: (..., n), rad, rad/s, rad/s^2. Leading dimensions broadcast.
    frame: the frame of the payload's inertial vector: flange, ee or the last joint.
    Returns (..., n, 10), N m per unit of (m, m c, I), inertia about the frame's origin, in its axes.
    Raises ArgumentError: the frame is not in the last link.

    Reference: De Luca, Robotics 2, slides 5 and 20 (document 003).
    """
    robot.last_joint_frame(frame)
    row, Y = robot.frame_index(frame), zeros((robot.n, 10))
    return of_states(robot, (q, dq, ddq), payload_regressor_of_one, None, (robot.table, row, q, dq, ddq, Y))
