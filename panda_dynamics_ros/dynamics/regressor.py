# SPDX-License-Identifier: Apache-2.0
"""The torque regressor: inverse dynamics as a linear function of the inertial parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.batch import joint_rows
from panda_dynamics_ros.dynamics.body_regressor import project, unit_twists, wrench_regressor
from panda_dynamics_ros.dynamics.newton_euler import step_outward
from panda_dynamics_ros.dynamics.vectors import (
    ZERO,
    add,
    compiled,
    cross,
    fixed_rotation,
    placement,
    rotate_back,
    scale,
    vector_at,
)
from panda_dynamics_ros.robot.description import TRANSLATION, RobotDescription


@compiled
def regressor_kernel(table, q, dq, ddq, Y):
    """Y (rows, n, 10 n) of motions (rows, n)."""
    n = q.shape[1]
    S, A = np.empty((n, 6)), np.empty((6, 10))
    for k in range(q.shape[0]):
        Y[k] = 0.0
        a, w, dw = scale(-1.0, vector_at(table, n + 2, TRANSLATION)), ZERO, ZERO
        for i in range(n):
            R, p = placement(table, i, q[k, i])
            a, w, dw = step_outward(table, i, R, p, dq[k, i], ddq[k, i], a, w, dw)
            wrench_regressor(a, w, dw, A)
            unit_twists(table, n, i, q[k], S)
            for j in range(i + 1):
                project(S[j], A, Y[k, j, 10 * i : 10 * i + 10])


@compiled
def payload_regressor_kernel(table, frame, q, dq, ddq, Y):
    """Y (rows, n, 10) of motions (rows, n), for a payload in the frame of row `frame` of the table."""
    n = q.shape[1]
    S, A = np.empty((n, 6)), np.empty((6, 10))
    for k in range(q.shape[0]):
        a, w, dw = scale(-1.0, vector_at(table, n + 2, TRANSLATION)), ZERO, ZERO
        for i in range(n):
            R, p = placement(table, i, q[k, i])
            a, w, dw = step_outward(table, i, R, p, dq[k, i], ddq[k, i], a, w, dw)
        for row in range(n, frame + 1):
            R, p = fixed_rotation(table, row), vector_at(table, row, TRANSLATION)
            a = rotate_back(R, add(a, add(cross(dw, p), cross(w, cross(w, p)))))
            w, dw = rotate_back(R, w), rotate_back(R, dw)
        wrench_regressor(a, w, dw, A)
        unit_twists(table, n, frame, q[k], S)
        for j in range(n):
            project(S[j], A, Y[k, j])


def regressor(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> FloatArray:
    """Y with inverse_dynamics = Y @ inertial_vector; block upper triangular.

    Parameters
    ----------
    q, dq, ddq: (..., n), rad, rad/s, rad/s^2. Leading dimensions broadcast.

    Returns
    -------
    (..., n, 10 n): columns 10 i .. 10 i + 9 belong to (m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of link
    i + 1, inertia about its joint frame's origin. Row j is zero for links before joint j.

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (..., n).

    Reference: document 003, slide 5 (Y_S pi = u); document 004, eq. (12).
    """
    shape, (q_rows, dq_rows, ddq_rows) = joint_rows(robot, q=q, dq=dq, ddq=ddq)
    Y = np.empty((len(q_rows), robot.n, 10 * robot.n))
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

    Reference: document 003, slides 5 and 20.
    """
    robot.last_joint_frame(frame)
    shape, (q_rows, dq_rows, ddq_rows) = joint_rows(robot, q=q, dq=dq, ddq=ddq)
    Y = np.empty((len(q_rows), robot.n, 10))
    payload_regressor_kernel(robot.table, robot.frame_index(frame), q_rows, dq_rows, ddq_rows, Y)
    return Y.reshape(*shape, robot.n, 10)
