# SPDX-License-Identifier: Apache-2.0
"""Joint-space mass matrix by the composite rigid body algorithm (Walker and Orin 1982, method 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import batched, is_one_state, over_rows
from panda_dynamics_ros.dynamics.kernels.vectors import (
    AXIS,
    add,
    compiled,
    cross,
    dot,
    joint_count,
    placed,
    rotate,
    scale,
    vector_at,
)
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, RobotDescription


@compiled
def body_at(bodies, i):
    """Mass, first moment and inertia (xx, xy, xz, yy, yz, zz) in row i of inertial vectors."""
    b = bodies
    return b[i, 0], vector_at(b, i, 1), (b[i, 4], b[i, 5], b[i, 6], b[i, 7], b[i, 8], b[i, 9])


@compiled
def body_to_parent(R, p, mass, mc, inertia):
    """First moment and inertia of a body, re-expressed from frame i to its parent.

    mc' = R mc + m p;   I' = R I R^T + (2 p . h) 1 - (p h^T + h p^T) with h = R mc + m p / 2.
    """
    rc = rotate(R, mc)
    h = add(rc, scale(0.5 * mass, p))
    twice = 2.0 * dot(p, h)
    # Row i of R I is x[i], y[i], z[i].
    x = rotate(R, (inertia[0], inertia[1], inertia[2]))
    y = rotate(R, (inertia[1], inertia[3], inertia[4]))
    z = rotate(R, (inertia[2], inertia[4], inertia[5]))
    first, second = (R[0], R[1], R[2]), (R[3], R[4], R[5])
    row0 = (x[0], y[0], z[0])
    row1 = (x[1], y[1], z[1])
    row2 = (x[2], y[2], z[2])
    third = (R[6], R[7], R[8])
    moved = (
        dot(row0, first) - 2.0 * p[0] * h[0] + twice,
        dot(row0, second) - p[0] * h[1] - h[0] * p[1],
        dot(row0, third) - p[0] * h[2] - h[0] * p[2],
        dot(row1, second) - 2.0 * p[1] * h[1] + twice,
        dot(row1, third) - p[1] * h[2] - h[1] * p[2],
        dot(row2, third) - 2.0 * p[2] * h[2] + twice,
    )
    return add(rc, scale(mass, p)), moved


@compiled
def add_body(bodies, i, mass, mc, inertia):
    """Add a body to the one in row i."""
    bodies[i, 0] += mass
    for k in range(3):
        bodies[i, 1 + k] += mc[k]
    for k in range(6):
        bodies[i, 4 + k] += inertia[k]


@compiled
def composite_wrench(mass, mc, inertia, prismatic):
    """Wrench about the frame's origin that gives the composite body unit joint acceleration."""
    if prismatic:
        return (0.0, 0.0, mass), (mc[1], -mc[0], 0.0)
    return (-mc[1], mc[0], 0.0), (inertia[2], inertia[4], inertia[5])


@compiled
def mass_matrix_sample(table, frames, composite, M):
    """M (n, n) of one state, its joints placed; `composite` (n, 10) is workspace."""
    n = joint_count(table)
    for i in range(n):
        for k in range(10):
            composite[i, k] = table[i, INERTIAL + k]
    for i in range(n - 1, -1, -1):
        mass, mc, inertia = body_at(composite, i)
        f, moment = composite_wrench(mass, mc, inertia, table[i, PRISMATIC] != 0.0)
        for j in range(i, -1, -1):
            M[i, j] = M[j, i] = dot(AXIS, f) if table[j, PRISMATIC] != 0.0 else dot(AXIS, moment)
            R, p = placed(frames, j)
            f = rotate(R, f)
            moment = add(rotate(R, moment), cross(p, f))
        if i > 0:
            R, p = placed(frames, i)
            mc, inertia = body_to_parent(R, p, mass, mc, inertia)
            add_body(composite, i - 1, mass, mc, inertia)


mass_matrix_of_one, mass_matrix_kernel = batched(mass_matrix_sample, columns=10)


def mass_matrix(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Joint-space mass matrix M(q), symmetric positive definite: (..., n, n), kg m^2.

    Parameters
    ----------
    q: (..., n), rad.

    Raises
    ------
    ArgumentError: `q` is not finite, or not of shape (..., n).

    Reference: Walker and Orin 1982, method 3; kinetic energy of Gautier and Khalil 1988, eq. (6) (document 004).
    """
    if is_one_state(robot, q):
        M = np.empty((robot.n, robot.n))
        if mass_matrix_of_one(robot.table, q, M):
            return M
    return over_rows(robot, mass_matrix_kernel, (robot.n, robot.n), q=q)
