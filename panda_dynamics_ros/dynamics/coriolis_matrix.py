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
from panda_dynamics_ros.dynamics.batch import joint_rows
from panda_dynamics_ros.dynamics.mass_matrix import body_to_parent
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
)
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, RobotDescription


@compiled
def skew_into(a, out):
    """S(a) with S(a) b = a x b, into `out` (3, 3)."""
    out[0, 0] = out[1, 1] = out[2, 2] = 0.0
    out[0, 1], out[0, 2], out[1, 2] = -a[2], a[1], -a[0]
    out[1, 0], out[2, 0], out[2, 1] = a[2], -a[1], a[0]


@compiled
def spatial_inertia_into(body, out):
    """6x6 inertia of an inertial vector: [[m 1, -[mc]], [[mc], I]], linear part first."""
    skew_into((body[1], body[2], body[3]), out[3:, :3])
    skew_into((-body[1], -body[2], -body[3]), out[:3, 3:])
    k = 4
    for i in range(3):
        for j in range(3):
            out[i, j] = body[0] if i == j else 0.0
        for j in range(i, 3):
            out[3 + i, 3 + j] = out[3 + j, 3 + i] = body[k]
            k += 1


@compiled
def motion_cross_into(v, out):
    """(V x) for motions, linear part first: [[w], [v]; 0, [w]]."""
    out[3:, :3] = 0.0
    skew_into(v[3:], out[:3, :3])
    skew_into(v[3:], out[3:, 3:])
    skew_into(v[:3], out[:3, 3:])


@compiled
def velocity_product_into(inertia, v, cross_v, out):
    """B(I, V) = 1/2 [ (V x*) I + (I V) xbar* - I (V x) ], which makes Mdot - 2C skew."""
    h = inertia @ v
    motion_cross_into(v, cross_v)
    bar = np.zeros((6, 6))
    skew_into((-h[0], -h[1], -h[2]), bar[:3, 3:])
    skew_into((-h[0], -h[1], -h[2]), bar[3:, :3])
    skew_into((-h[3], -h[4], -h[5]), bar[3:, 3:])
    out[:] = 0.5 * (bar - cross_v.T @ inertia - inertia @ cross_v)


@compiled
def coriolis_matrix_kernel(table, q, dq, C):
    """C (rows, n, n) of joint positions and velocities (rows, n)."""
    n = q.shape[1]
    S, dS = np.empty((n, 6)), np.empty((n, 6))
    inertias, products = np.empty((n, 6, 6)), np.empty((n, 6, 6))
    cross_v, v, body = np.empty((6, 6)), np.empty(6), np.empty(10)
    for k in range(q.shape[0]):
        R, p = IDENTITY, ZERO
        v[:] = 0.0
        for i in range(n):
            R_i, p_i = placement(table, i, q[k, i])
            R, p = compose(R, R_i), add(p, rotate(R, p_i))
            z = column(R, 2)
            sliding = table[i, PRISMATIC] != 0.0
            linear, angular = (z, ZERO) if sliding else (cross(p, z), z)
            for r in range(3):
                S[i, r], S[i, 3 + r] = linear[r], angular[r]
            v += S[i] * dq[k, i]
            body[:] = table[i, INERTIAL:]
            body_to_parent(R, p, body)
            spatial_inertia_into(body, inertias[i])
            velocity_product_into(inertias[i], v, cross_v, products[i])
            dS[i] = cross_v @ S[i]
        for j in range(n - 1, -1, -1):
            F1 = inertias[j] @ dS[j] + products[j] @ S[j]
            F2 = inertias[j] @ S[j]
            F3 = products[j].T @ S[j]
            for i in range(j, -1, -1):
                C[k, j, i] = dS[i] @ F2 + S[i] @ F3
                C[k, i, j] = S[i] @ F1
            if j > 0:
                inertias[j - 1] += inertias[j]
                products[j - 1] += products[j]


def coriolis_matrix(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> FloatArray:
    """C(q, dq) of the Christoffel symbols: C dq are the Coriolis torques, Mdot - 2C is skew-symmetric.

    Parameters
    ----------
    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.

    Returns
    -------
    (..., n, n), kg m^2/s: C_ij = sum_k 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k.

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (..., n).

    Reference: Echeandia and Wensing, 2021, algorithm 1.
    """
    shape, (q_rows, dq_rows) = joint_rows(robot, q=q, dq=dq)
    C = np.empty((len(q_rows), robot.n, robot.n))
    coriolis_matrix_kernel(robot.table, q_rows, dq_rows, C)
    return C.reshape(*shape, robot.n, robot.n)
