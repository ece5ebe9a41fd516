# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of frames and of link centres of mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import RowsKernel, finite, is_one_state, over_rows
from panda_dynamics_ros.dynamics.kernels.vectors import (
    IDENTITY,
    ZERO,
    add,
    column,
    compiled,
    cross,
    joint_count,
    part,
    placement,
    rotate,
    slides,
    sub,
)
from panda_dynamics_ros.dynamics.kinematics import beyond_joints, step_along
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription

_AT_THE_ORIGIN = checks.read_only(np.zeros(3))


@part
def jacobian_sample(table, frame, offset, q, J):
    """Jacobian (6, n) of the point `offset` (in the axes of `frame`, from its origin), linear part first.

    The first loop stores the joints' origins and axes in the columns, the second replaces them by the result.
    """
    n = joint_count(table)
    R, p = IDENTITY, ZERO
    for i in range(min(frame + 1, n)):
        R_i, p_i = placement(table, i, q[i])
        R, p = step_along(R, p, R_i, p_i)
        store_column(J, i, p, column(R, 2))
    R, p = beyond_joints(table, frame, R, p)
    point = add(p, rotate(R, (offset[0], offset[1], offset[2])))
    for i in range(n):
        if i > frame:
            store_column(J, i, ZERO, ZERO)
        else:
            origin, z = (J[0, i], J[1, i], J[2, i]), (J[3, i], J[4, i], J[5, i])
            if slides(table, i):
                store_column(J, i, z, ZERO)
            else:
                store_column(J, i, cross(z, sub(point, origin)), z)


@part
def store_column(J, i, linear, angular):
    """Write column i of J (6, n)."""
    for row in range(3):
        J[row, i] = linear[row]
        J[3 + row, i] = angular[row]


@compiled
def jacobian_of_one(table, frame, offset, q, J):
    """J (6 rows, n) of stacked states; False if one is not finite."""
    n = joint_count(table)
    for k in range(q.shape[0] // n):
        jacobian_sample(table, frame, offset, q[k * n : (k + 1) * n], J[6 * k : 6 * k + 6])
    return finite(q)


jacobian_kernel = RowsKernel(jacobian_of_one, shared=3)


def jacobian(robot: RobotDescription, q: ArrayLike, frame: str = "flange") -> FloatArray:
    """Geometric Jacobian: (v, w) = J dq, the velocity of the frame's origin and its angular velocity.

    Parameters
    ----------
    q: (..., n), rad.
    frame: base, joint1 .. jointn, flange or ee.

    Returns
    -------
    (..., 6, n): linear rows first, both parts in base axes, at the frame's origin.

    Raises
    ------
    ArgumentError: `q` is not finite or not of shape (..., n), or there is no such frame.

    Reference: Lynch and Park 2017, section 5.1; document 002, section 1.3 (with the angular part first).
    """
    index = robot.frame_index(frame)
    return _point_jacobian(robot, q, index, _AT_THE_ORIGIN)


def com_jacobian(robot: RobotDescription, q: ArrayLike, link: int) -> FloatArray:
    """Jacobian of the centre of mass of link 1..n, along base axes.

    Parameters
    ----------
    q: (..., n), rad.
    link: 1..n.

    Returns
    -------
    (..., 6, n): linear velocity of the CoM first, then angular velocity, in base axes.

    Raises
    ------
    ArgumentError: `q` is not finite or not of shape (..., n), or `link` is not one of 1..n.

    Reference: document 002, section 1.3: J_mi = Ad^-1(T_CoM) J_i.
    """
    if not isinstance(link, int | np.integer) or not 1 <= link <= robot.n:
        raise ArgumentError(f"link: expected an integer from 1 to {robot.n}, got {link!r}")
    return _point_jacobian(robot, q, int(link) - 1, checks.read_only(robot.links[link - 1].com))


def _point_jacobian(robot: RobotDescription, q: ArrayLike, frame: int, offset: FloatArray) -> FloatArray:
    """(..., 6, n) of the point `offset` (3,), read-only, of the frame in this row of the table."""
    if is_one_state(robot, q):
        J = np.empty((6, robot.n))
        if jacobian_of_one(robot.table, frame, offset, q, J):
            return J
    return over_rows(robot, jacobian_kernel, (6, robot.n), frame, offset, q=q)
