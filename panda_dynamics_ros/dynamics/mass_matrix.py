# SPDX-License-Identifier: Apache-2.0
"""Joint-space mass matrix by the composite rigid body algorithm, and forward dynamics with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.batch import joint_rows
from panda_dynamics_ros.dynamics.newton_euler import AXIS, newton_euler_kernel
from panda_dynamics_ros.dynamics.vectors import add, compiled, cross, dot, placement, rotate, scale
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, RobotDescription


@compiled
def body_to_parent(R, p, body):
    """Inertial vector (10,) re-expressed from frame i to its parent, in place.

    mc' = R mc + m p;   I' = R I R^T + (2 (p . R mc) + m p.p) 1 - (p rc^T + rc p^T + m p p^T), rc = R mc.
    """
    mass = body[0]
    rc = rotate(R, (body[1], body[2], body[3]))
    columns = (
        rotate(R, (body[4], body[5], body[6])),
        rotate(R, (body[5], body[7], body[8])),
        rotate(R, (body[6], body[8], body[9])),
    )
    half = add(rc, scale(0.5 * mass, p))
    trace = 2.0 * dot(p, half)
    k = 4
    for i in range(3):
        row = rotate(R, (columns[0][i], columns[1][i], columns[2][i]))
        for j in range(i, 3):
            body[k] = row[j] - p[i] * half[j] - half[i] * p[j] + (trace if i == j else 0.0)
            k += 1
    for i in range(3):
        body[1 + i] = rc[i] + mass * p[i]


@compiled
def composite_wrench(body, prismatic):
    """Wrench about the frame's origin that gives the composite body unit joint acceleration."""
    if prismatic:
        return (0.0, 0.0, body[0]), (body[2], -body[1], 0.0)
    return (-body[2], body[1], 0.0), (body[6], body[8], body[9])


@compiled
def mass_matrix_kernel(table, q, M):
    """M (rows, n, n) of joint positions (rows, n)."""
    n = q.shape[1]
    composite = np.empty((n, 10))
    for k in range(q.shape[0]):
        composite[:] = table[:n, INERTIAL:]
        for i in range(n - 1, -1, -1):
            f, moment = composite_wrench(composite[i], table[i, PRISMATIC] != 0.0)
            for j in range(i, -1, -1):
                M[k, i, j] = M[k, j, i] = dot(AXIS, f) if table[j, PRISMATIC] != 0.0 else dot(AXIS, moment)
                R, p = placement(table, j, q[k, j])
                f = rotate(R, f)
                moment = add(rotate(R, moment), cross(p, f))
            if i > 0:
                R, p = placement(table, i, q[k, i])
                body_to_parent(R, p, composite[i])
                composite[i - 1] += composite[i]


def mass_matrix(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Joint-space mass matrix M(q), symmetric positive definite: (..., n, n), kg m^2.

    Parameters
    ----------
    q: (..., n), rad.

    Raises
    ------
    ArgumentError: `q` is not finite, or not of shape (..., n).

    Reference: document 003, slide 5; kinetic energy of document 004, eq. (6).
    """
    shape, (q_rows,) = joint_rows(robot, q=q)
    M = np.empty((len(q_rows), robot.n, robot.n))
    mass_matrix_kernel(robot.table, q_rows, M)
    return M.reshape(*shape, robot.n, robot.n)


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
    RobotDescriptionError: a joint moves nothing that has mass.

    Reference: document 003, slide 5, solved for the acceleration.
    """
    shape, (q_rows, dq_rows, tau_rows) = joint_rows(robot, q=q, dq=dq, tau=tau)
    bias = np.empty_like(q_rows)
    newton_euler_kernel(robot.table, 1.0, q_rows, dq_rows, np.zeros_like(q_rows), bias)
    M = np.empty((len(q_rows), robot.n, robot.n))
    mass_matrix_kernel(robot.table, q_rows, M)
    try:
        ddq = np.asarray(np.linalg.solve(M, (tau_rows - bias)[..., None]), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise RobotDescriptionError(
            f"links of {robot.name}: expected inertia at every joint, got a singular mass matrix"
        ) from error
    return ddq.reshape(*shape, robot.n)
