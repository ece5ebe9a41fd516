# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: joint accelerations from torques, by the mass matrix and the bias torques."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import finite, is_one_motion, joint_rows
from panda_dynamics_ros.dynamics.kernels.small_matrices import factorise, solve
from panda_dynamics_ros.dynamics.kernels.vectors import compiled, joint_count, place_joints
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix_sample
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_sample
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription


@compiled
def forward_dynamics_of_one(table, q, dq, tau, ddq):
    """ddq of stacked states; False if one is not finite, or a joint moves nothing that has mass."""
    n = joint_count(table)
    frames, wrenches, bodies, M = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 16)), np.empty((n, n))
    rest = np.zeros(n)
    for k in range(0, q.shape[0], n):
        result = ddq[k : k + n]
        place_joints(table, q[k : k + n], frames)
        newton_euler_sample(table, 1.0, frames, dq[k : k + n], rest, wrenches, result)
        mass_matrix_sample(table, frames, bodies, M)
        for i in range(n):
            result[i] = tau[k + i] - result[i]
        factorise(M)
        solve(M, result)
    return finite(ddq)


def forward_dynamics(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> FloatArray:
    """Joint accelerations under torques: ddq = M(q)^-1 (tau - C(q, dq) dq - g(q)), rigid body only.

    Parameters
    ----------
    q, dq, tau: (..., n), rad, rad/s and N m. Leading dimensions broadcast.

    Returns
    -------
    (..., n), rad/s^2.

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (..., n).
    RobotDescriptionError: the mass matrix is singular, since a joint moves no mass.

    Reference: Walker and Orin 1982; the equation of De Luca, Robotics 2, slide 5 (document 003), solved for
    the acceleration.
    """
    if is_one_motion(robot, q, dq, tau):
        ddq = np.empty(robot.n)
        if forward_dynamics_of_one(robot.table, q, dq, tau, ddq):
            return ddq
    shape, rows = joint_rows(robot, q=q, dq=dq, tau=tau)
    ddq = np.empty(rows[0].size)
    if not forward_dynamics_of_one(robot.table, *(x.reshape(-1) for x in rows), ddq):
        raise RobotDescriptionError(
            f"links of {robot.name}: expected inertia at every joint, got a singular mass matrix"
        )
    return ddq.reshape(*shape, robot.n)
