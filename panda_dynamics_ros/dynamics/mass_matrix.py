# SPDX-License-Identifier: Apache-2.0
"""Mass matrix, Coriolis matrix and forward dynamics, by composite bodies.

Every quantity is in base axes about the base origin, where nothing has to be carried from link to link. The mass matrix
is that of Walker and Orin 1982, method 3: M_ij is S_i . (I_j S_j) for the unit twists S and the inertia I_j of link j
and all beyond. The Coriolis matrix of Christoffel symbols is algorithm 1 of Echeandia and Wensing, "Numerical methods
to compute the Coriolis matrix and Christoffel symbols for rigid-body systems", J. Comput. Nonlinear Dyn. 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import (
    BLOCK,
    FREE,
    ORIGIN,
    PLACED,
    RowsKernel,
    finite,
    get,
    get_rotation,
    is_one_state,
    joint_rows,
    over_rows,
    place_block,
    put,
    workspace,
)
from panda_dynamics_ros.dynamics.kernels.small_matrices import factorise, solve
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
from panda_dynamics_ros.dynamics.kinematics import chain_block, step_along
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_sample
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.description import PRISMATIC, RobotDescription


@part
def body_to_parent(R, p, body):
    """Mass, first moment and inertia of a body, re-expressed from frame i to its parent.

    mc' = R mc + m p;   I' = R I R^T + (2 p . h) 1 - (p h^T + h p^T) with h = R mc + m p / 2.
    """
    mass, mc, inertia = body
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
    return mass, add(rc, scale(mass, p)), moved


TWIST, COLUMNS = 10, 16  # in a row of a workspace, after the inertial vector of the body; its length
LINEAR, ANGULAR = PLACED, PLACED + 3  # momentum, where the placement was


@part
def joint_twist_in_base(sliding, R, p):
    """Unit twist about the base origin, linear part first, of a joint whose frame is at R, p."""
    z = column(R, 2)
    return (z, scale(0.0, z)) if sliding else (cross(p, z), z)


@part
def store_body(work, i, body):
    """Write mass, first moment and inertia into row i, from column 0 on."""
    mass, mc, inertia = body
    work[i, 0] = mass
    store(work, i, 1, mc)
    store(work, i, 4, (inertia[0], inertia[1], inertia[2]))
    store(work, i, 7, (inertia[3], inertia[4], inertia[5]))


@part
def body_at(work, i):
    """The body in row i."""
    w = work[i]
    return w[0], (w[1], w[2], w[3]), (w[4], w[5], w[6], w[7], w[8], w[9])


@part
def get_body(V, b):
    """The body of state b, as `put_body` wrote it."""
    first, second = get(V, FREE + 4, b), get(V, FREE + 7, b)
    return V[FREE, b], get(V, FREE + 1, b), (first[0], first[1], first[2], second[0], second[1], second[2])


@part
def put_body(V, b, body):
    """Write mass, first moment and inertia of state b, from row FREE on."""
    mass, mc, inertia = body
    V[FREE, b] = mass
    put(V, FREE + 1, b, mc)
    put(V, FREE + 4, b, (inertia[0], inertia[1], inertia[2]))
    put(V, FREE + 7, b, (inertia[3], inertia[4], inertia[5]))


@part
def momentum_of(mass, mc, inertia, v, w):
    """(linear, angular) about the origin: the spatial inertia times a twist."""
    return add(scale(mass, v), cross(w, mc)), add(symmetric_times(inertia, w), cross(mc, v))


@part
def mass_matrix_sample(table, frames, work, M):
    """M (n, n) of one state, its joints placed; `work` (n, 16)."""
    n = joint_count(table)
    R, p = IDENTITY, ZERO
    for i in range(n):
        R_i, p_i = placed(frames, i)
        R, p = step_along(R, p, R_i, p_i)
        s, z = joint_twist_in_base(slides(table, i), R, p)
        store(work, i, TWIST, s)
        store(work, i, TWIST + 3, z)
        store_body(work, i, body_to_parent(R, p, link_body(table, i)))
    for j in range(n - 1, -1, -1):
        mass, mc, inertia = body_at(work, j)
        linear, angular = momentum_of(mass, mc, inertia, vector_at(work, j, TWIST), vector_at(work, j, TWIST + 3))
        for i in range(j + 1):
            entry = dot(vector_at(work, i, TWIST), linear) + dot(vector_at(work, i, TWIST + 3), angular)
            M[i, j] = M[j, i] = entry
        if j > 0:
            for k in range(TWIST):
                work[j - 1, k] += work[j, k]


@compiled
def mass_matrix_of_one(table, q, M):
    """M (rows n, n) of stacked states; False if one is not finite."""
    n = joint_count(table)
    frames, work = np.empty((n, 12)), np.empty((n, COLUMNS))
    for k in range(0, q.shape[0], n):
        place_joints(table, q[k : k + n], frames)
        mass_matrix_sample(table, frames, work, M[k : k + n])
    return finite(q)


@compiled(nogil=True)
def mass_matrix_blocks(table, q, M):
    """M (rows, n, n) of q (rows, n), as `mass_matrix_of_one` has it."""
    rows, n = q.shape
    W, E = workspace(n), np.empty((n, n, BLOCK))
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        count, result = last - first, M[first:last]
        place_block(table, W, q[first:last], n)
        chain_block(W, count, n)
        for i in range(n):
            V, body, sliding = W[i], link_body(table, i), table[i, PRISMATIC]
            for b in range(count):
                R, p = get_rotation(V, PLACED, b), get(V, ORIGIN, b)
                z = column(R, 2)
                turn = scale(1.0 - sliding, z)
                put(V, FREE + TWIST, b, add(scale(sliding, z), cross(p, turn)))
                put(V, FREE + TWIST + 3, b, turn)
                put_body(V, b, body_to_parent(R, p, body))
        for j in range(n - 1, -1, -1):
            V = W[j]
            for b in range(count):
                mass, mc, inertia = get_body(V, b)
                v, w = get(V, FREE + TWIST, b), get(V, FREE + TWIST + 3, b)
                linear, angular = momentum_of(mass, mc, inertia, v, w)
                put(V, LINEAR, b, linear)
                put(V, ANGULAR, b, angular)
            for i in range(j + 1):
                U = W[i]
                for b in range(count):
                    along = dot(get(U, FREE + TWIST, b), get(V, LINEAR, b))
                    E[i, j, b] = along + dot(get(U, FREE + TWIST + 3, b), get(V, ANGULAR, b))
            if j > 0:
                U = W[j - 1]
                for k in range(FREE, FREE + TWIST):
                    for b in range(count):
                        U[k, b] += V[k, b]
        for b in range(count):
            for i in range(n):
                for j in range(i, n):
                    result[b, i, j] = result[b, j, i] = E[i, j, b]


mass_matrix_kernel = RowsKernel(mass_matrix_of_one, mass_matrix_blocks)


def mass_matrix(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Joint-space mass matrix M(q), symmetric positive definite: (..., n, n), kg m^2.

    Parameters
    ----------
    q: (..., n), rad.

    Reference: Walker and Orin 1982, method 3; kinetic energy of Gautier and Khalil 1988, eq. (6) (document 004).
    """
    if is_one_state(robot, q):
        M = np.empty((robot.n, robot.n))
        if mass_matrix_of_one(robot.table, q, M):
            return M
    return over_rows(robot, mass_matrix_kernel, (robot.n, robot.n), q=q)


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
        s, z = joint_twist_in_base(slides(table, i), R, p)
        v, w = add(v, scale(dq[i], s)), add(w, scale(dq[i], z))
        store(work, i, BODY, s)
        store(work, i, BODY + 3, z)
        store(work, i, BODY + 6, add(cross(w, s), cross(v, z)))
        store(work, i, BODY + 9, cross(w, z))
        body = body_to_parent(R, p, link_body(table, i))
        store_body(work, i, body)
        mass, mc, inertia = body
        h, x, y, z = velocity_product(mass, mc, inertia, v, w)
        store(work, i, 10, h)
        store(work, i, 13, x)
        store(work, i, 16, y)
        store(work, i, 19, z)
    for j in range(n - 1, -1, -1):
        mass, mc, inertia = body_at(work, j)
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
    if is_one_state(robot, q, dq, tau):
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
