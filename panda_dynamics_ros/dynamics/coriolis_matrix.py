# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix of Christoffel symbols, by a recursion over composite bodies.

Echeandia and Wensing, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for
rigid-body systems", J. Comput. Nonlinear Dyn. 2021, algorithm 1, with every quantity in base axes about
the base origin, where nothing has to be transported between links.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import RowsKernel, finite, is_one_state, over_rows
from panda_dynamics_ros.dynamics.kernels.vectors import (
    IDENTITY,
    ZERO,
    add,
    column,
    compiled,
    cross,
    dot,
    joint_count,
    link_body,
    part,
    place_joints,
    placed,
    rotate,
    rotate_back,
    scale,
    slides,
    store,
    sub,
    symmetric_times,
    vector_at,
)
from panda_dynamics_ros.dynamics.kinematics import step_along
from panda_dynamics_ros.dynamics.mass_matrix import body_to_parent
from panda_dynamics_ros.robot.description import RobotDescription

BODY = 22  # columns of the workspace for a body: inertial vector, h and E; then come a unit twist and its rate


@part
def twist_and_rate(work, i):
    """The unit twist of joint i, linear part first, and its rate."""
    return (
        vector_at(work, i, BODY),
        vector_at(work, i, BODY + 3),
        vector_at(work, i, BODY + 6),
        vector_at(work, i, BODY + 9),
    )


@part
def momentum_of(mass, mc, inertia, v, w):
    """(linear, angular) about the base origin: the spatial inertia times a twist."""
    return add(scale(mass, v), cross(w, mc)), add(symmetric_times(inertia, w), cross(mc, v))


@part
def velocity_product(mass, mc, inertia, v, w):
    """h and E of B(I, V) = [[0, -[h]], [0, E]], the paper's 1/2 [(V x*) I + (I V) xbar* - I (V x)].

    Written out for one body, most of it cancels: h = m v + w x mc is its linear momentum, and
    E = -[w] (tr(I)/2 1 - I) - v mc^T + (mc . v) 1, returned by columns.
    """
    half = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    x = cross(w, (inertia[0] - half, inertia[1], inertia[2]))
    y = cross(w, (inertia[1], inertia[3] - half, inertia[4]))
    z = cross(w, (inertia[2], inertia[4], inertia[5] - half))
    along = dot(mc, v)
    x = add(sub(x, scale(mc[0], v)), (along, 0.0, 0.0))
    y = add(sub(y, scale(mc[1], v)), (0.0, along, 0.0))
    z = add(sub(z, scale(mc[2], v)), (0.0, 0.0, along))
    return add(scale(mass, v), cross(w, mc)), x, y, z


@part
def coriolis_matrix_sample(table, frames, dq, work, C):
    """C (n, n) of one state, its joints placed.

    Workspace (n, 34): inertial vector, h and E of link i and all beyond, then the joint's unit twist and its rate.
    """
    n = joint_count(table)
    R, p, v, w = IDENTITY, ZERO, ZERO, ZERO
    for i in range(n):
        R_i, p_i = placed(frames, i)
        R, p = step_along(R, p, R_i, p_i)
        z = column(R, 2)
        s = cross(p, z)
        if slides(table, i):
            s, z = z, scale(0.0, z)
        v, w = add(v, scale(dq[i], s)), add(w, scale(dq[i], z))
        store(work, i, BODY, s)
        store(work, i, BODY + 3, z)
        store(work, i, BODY + 6, add(cross(w, s), cross(v, z)))
        store(work, i, BODY + 9, cross(w, z))
        mass, mc, inertia = body_to_parent(R, p, link_body(table, i))
        work[i, 0] = mass
        store(work, i, 1, mc)
        store(work, i, 4, (inertia[0], inertia[1], inertia[2]))
        store(work, i, 7, (inertia[3], inertia[4], inertia[5]))
        h, x, y, z = velocity_product(mass, mc, inertia, v, w)
        store(work, i, 10, h)
        store(work, i, 13, x)
        store(work, i, 16, y)
        store(work, i, 19, z)
    for j in range(n - 1, -1, -1):
        mass, mc = work[j, 0], vector_at(work, j, 1)
        inertia = (work[j, 4], work[j, 5], work[j, 6], work[j, 7], work[j, 8], work[j, 9])
        h, x, y = vector_at(work, j, 10), vector_at(work, j, 13), vector_at(work, j, 16)
        E_T = (x[0], x[1], x[2], y[0], y[1], y[2], work[j, 19], work[j, 20], work[j, 21])
        s, z, ds, dz = twist_and_rate(work, j)
        l1, m1 = momentum_of(mass, mc, inertia, ds, dz)
        l1, m1 = sub(l1, cross(h, z)), add(m1, rotate_back(E_T, z))  # I dS + B S
        l2, m2 = momentum_of(mass, mc, inertia, s, z)  # I S
        m3 = add(cross(h, s), rotate(E_T, z))  # B^T S, which has no linear part
        for i in range(j, -1, -1):
            s, z, ds, dz = twist_and_rate(work, i)
            C[j, i] = dot(ds, l2) + dot(dz, m2) + dot(z, m3)
            C[i, j] = dot(s, l1) + dot(z, m1)
        if j > 0:
            for k in range(BODY):
                work[j - 1, k] += work[j, k]


@compiled
def coriolis_matrix_of_one(table, q, dq, C):
    """C (rows n, n) of stacked states; False if one is not finite."""
    n = joint_count(table)
    frames, work = np.empty((n, 12)), np.empty((n, BODY + 12))
    for k in range(0, q.shape[0], n):
        place_joints(table, q[k : k + n], frames)
        coriolis_matrix_sample(table, frames, dq[k : k + n], work, C[k : k + n])
    return finite(q) and finite(dq)


coriolis_matrix_kernel = RowsKernel(coriolis_matrix_of_one)


def coriolis_matrix(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> FloatArray:
    """C(q, dq) of the Christoffel symbols: C dq are the Coriolis torques, Mdot - 2C is skew-symmetric.

    Parameters
    ----------
    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.

    Returns
    -------
    (..., n, n), kg m^2/s: C_ij = sum_k 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k.

    Reference: Echeandia and Wensing, 2021, algorithm 1.
    """
    if is_one_state(robot, q, dq):
        C = np.empty((robot.n, robot.n))
        if coriolis_matrix_of_one(robot.table, q, dq, C):
            return C
    return over_rows(robot, coriolis_matrix_kernel, (robot.n, robot.n), q=q, dq=dq)
