# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: joint accelerations from torques, by the mass matrix and the bias torques."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import finite, is_one_state, joint_rows
from panda_dynamics_ros.dynamics.kernels.scratch import scratch, zeros
from panda_dynamics_ros.dynamics.kernels.small_matrices import solve_in_place, solve_rows
from panda_dynamics_ros.dynamics.kernels.vectors import compiled, place_joints
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix_kernel, mass_matrix_sample
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_kernel, newton_euler_sample
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription


@compiled
def forward_dynamics_of_one(table, q, dq, tau, ddq):
    """ddq (n,) of one state (n,); False if that is not finite, or a joint moves nothing that has mass."""
    n = q.shape[0]
    frames, wrenches, composite = scratch((n, 12)), scratch((n, 6)), scratch((n, 10))
    M, rest = scratch((n, n)), zeros(n)
    place_joints(table, q, frames)
    newton_euler_sample(table, 1.0, frames, dq, rest, wrenches, ddq)
    mass_matrix_sample(table, frames, composite, M)
    for i in range(n):
        ddq[i] = tau[i] - ddq[i]
    return solve_in_place(M, ddq) and finite(q) and finite(dq) and finite(tau)


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
    if is_one_state(robot, q, dq, tau):
        ddq = np.empty(robot.n)
        if forward_dynamics_of_one(robot.table, q, dq, tau, ddq):
            return ddq
    shape, (q_rows, dq_rows, tau_rows) = joint_rows(robot, q=q, dq=dq, tau=tau)
    bias = np.empty_like(q_rows)
    newton_euler_kernel(robot.table, 1.0, q_rows, dq_rows, np.zeros_like(q_rows), bias)
    M = np.empty((len(q_rows), robot.n, robot.n))
    mass_matrix_kernel(robot.table, q_rows, M)
    ddq = tau_rows - bias
    if not solve_rows(M, ddq):
        raise RobotDescriptionError(
            f"links of {robot.name}: expected inertia at every joint, got a singular mass matrix"
        )
    return ddq.reshape(*shape, robot.n)
