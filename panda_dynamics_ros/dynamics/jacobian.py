# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of frames and of link centres of mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.batch import joint_rows
from panda_dynamics_ros.dynamics.kinematics import frame_sample
from panda_dynamics_ros.dynamics.vectors import (
    IDENTITY,
    ZERO,
    add,
    column,
    compiled,
    compose,
    cross,
    placement,
    rotate,
    sub,
)
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import PRISMATIC, RobotDescription


@compiled
def jacobian_kernel(table, frame, offset, q, J):
    """Jacobian of the point `offset` (in the axes of `frame`, from its origin), linear part first."""
    n = q.shape[1]
    for k in range(q.shape[0]):
        R_end, p_end = frame_sample(table, n, frame, q[k])
        point = add(p_end, rotate(R_end, (offset[0], offset[1], offset[2])))
        J[k] = 0.0
        R, p = IDENTITY, ZERO
        for i in range(min(frame + 1, n)):
            R_i, p_i = placement(table, i, q[k, i])
            R, p = compose(R, R_i), add(p, rotate(R, p_i))
            z = column(R, 2)
            sliding = table[i, PRISMATIC] != 0.0
            linear = z if sliding else cross(z, sub(point, p))
            angular = ZERO if sliding else z
            for row in range(3):
                J[k, row, i] = linear[row]
                J[k, 3 + row, i] = angular[row]


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

    Reference: document 002, section 1.3 (columns are unit joint twists; there angular part first).
    """
    index = robot.frame_index(frame)
    shape, (q_rows,) = joint_rows(robot, q=q)
    J = np.empty((len(q_rows), 6, robot.n))
    jacobian_kernel(robot.table, index, np.zeros(3), q_rows, J)
    return J.reshape(*shape, 6, robot.n)


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
    shape, (q_rows,) = joint_rows(robot, q=q)
    J = np.empty((len(q_rows), 6, robot.n))
    jacobian_kernel(robot.table, int(link) - 1, robot.links[link - 1].com.copy(), q_rows, J)
    return J.reshape(*shape, 6, robot.n)
