# SPDX-License-Identifier: Apache-2.0
"""Regressors: torques as linear functions of inertial parameters, of the links and of a payload."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.body_regressor import (
    carry_twists,
    joint_twist,
    project_wrench,
    store_row,
    unit_twists,
)
from panda_dynamics_ros.dynamics.kernels.batch import batched, is_one_state, joint_rows, over_rows
from panda_dynamics_ros.dynamics.kernels.vectors import (
    ZERO,
    add,
    compiled,
    cross,
    fixed_rotation,
    joint_count,
    placed,
    rotate_back,
    upward,
    vector_at,
)
from panda_dynamics_ros.dynamics.newton_euler import step_outward
from panda_dynamics_ros.robot.description import TRANSLATION, RobotDescription


@compiled
def regressor_sample(table, frames, dq, ddq, S, Y):
    """Upper triangle of Y (n, 10 n) of one motion, its joints placed; S (n, 6) is workspace."""
    a, w, dw = upward(table), ZERO, ZERO
    for i in range(joint_count(table)):
        R, p = placed(frames, i)
        a, w, dw = step_outward(table, i, R, p, dq[i], ddq[i], a, w, dw)
        carry_twists(S, i, R, p)
        joint_twist(table, i, S)
        for j in range(i + 1):
            store_row(Y, j, 10 * i, project_wrench(S, j, a, w, dw))


@compiled
def payload_regressor_sample(table, frame, frames, dq, ddq, S, Y):
    """Y (n, 10) of one motion, its joints placed, for a payload in row `frame` of the table; R, p of T_base_frame."""
    n = joint_count(table)
    a, w, dw = upward(table), ZERO, ZERO
    for i in range(n):
        R, p = placed(frames, i)
        a, w, dw = step_outward(table, i, R, p, dq[i], ddq[i], a, w, dw)
    for row in range(n, frame + 1):
        R, p = fixed_rotation(table, row), vector_at(table, row, TRANSLATION)
        a = rotate_back(R, add(a, add(cross(dw, p), cross(w, cross(w, p)))))
        w, dw = rotate_back(R, w), rotate_back(R, dw)
    R, p = unit_twists(table, frame, frames, S)
    for j in range(n):
        store_row(Y, j, 0, project_wrench(S, j, a, w, dw))
    return R, p


regressor_of_one, regressor_kernel = batched(regressor_sample, columns=6)
payload_regressor_of_one, payload_regressor_kernel = batched(payload_regressor_sample, columns=6)


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

    Reference: De Luca, Robotics 2, slide 5, Y_S pi = u (document 003); Gautier and Khalil 1988, eq. (12).
    """
    if is_one_state(robot, q, dq, ddq):
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

    Raises
    ------
    ArgumentError: `q` is not finite, or not of shape (..., n).

    Reference: De Luca, Robotics 2, slide 16, separate identification of gravity terms (document 003).
    """
    rest = np.zeros(robot.n)
    return regressor(robot, q, rest, rest)
