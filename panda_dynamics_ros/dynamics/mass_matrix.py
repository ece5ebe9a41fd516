# SPDX-License-Identifier: Apache-2.0
"""Mass matrix, Coriolis matrix and forward dynamics, by composite bodies.

Every quantity is in base axes about the base origin, where nothing has to be carried from link to link. The mass matrix
is that of Walker and Orin 1982, method 3: M_ij is S_i . (I_j S_j) for the unit twists S and the inertia I_j of link j
and all beyond. The Coriolis matrix of Christoffel symbols is algorithm 1 of Echeandia and Wensing, "Numerical methods
to compute the Coriolis matrix and Christoffel symbols for rigid-body systems", J. Comput. Nonlinear Dyn. 2021.
"""

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels import blocks, chain
from panda_dynamics_ros.dynamics.kernels.batch import finite, is_one_state, of_rows
from panda_dynamics_ros.dynamics.kernels.blocks import BLOCK, FREE, PLACED, get, put
from panda_dynamics_ros.dynamics.kernels.compiled import compiled, part
from panda_dynamics_ros.dynamics.kernels.small_matrices import factorise, solve
from panda_dynamics_ros.dynamics.kernels.vectors import (
    IDENTITY,
    ZERO,
    add,
    along,
    column,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
    sub,
    times,
)
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_sample
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.description import PRISMATIC, RobotDescription


@part
def body_to_parent(X, body):
    """Mass, first moment and inertia of a body, re-expressed from a frame placed by X = (R, p) to its parent.

    mc' = R mc + m p;   I' = R I R^T + (2 p . h) 1 - (p h^T + h p^T) with h = R mc + m p / 2.
    """
    (R, p), (mass, mc, inertia) = X, body
    rc = rotate(R, mc)
    h = add(rc, scale(0.5 * mass, p))
    twice = 2.0 * dot(p, h)
    first, second, third = (R[0], R[1], R[2]), (R[3], R[4], R[5]), (R[6], R[7], R[8])
    x, y, z = times(inertia, first), times(inertia, second), times(inertia, third)
    moved = (
        dot(first, x) - 2.0 * p[0] * h[0] + twice,
        dot(first, y) - p[0] * h[1] - h[0] * p[1],
        dot(first, z) - p[0] * h[2] - h[0] * p[2],
        dot(second, y) - 2.0 * p[1] * h[1] + twice,
        dot(second, z) - p[1] * h[2] - h[1] * p[2],
        dot(third, z) - 2.0 * p[2] * h[2] + twice,
    )
    return mass, add(rc, scale(mass, p)), moved


BODY, TWIST = FREE, FREE + 10  # inertial vector of a body about the base origin; unit twist of its joint, linear first
LINEAR, ANGULAR = PLACED, PLACED + 3  # momentum, where the placement was


@part
def get_body(V, b):
    """The body of state b, as `put_body` wrote it."""
    x, y = get(V, BODY + 4, b), get(V, BODY + 7, b)
    return V[BODY, b], get(V, BODY + 1, b), (x[0], x[1], x[2], y[0], y[1], y[2])


@part
def put_body(V, b, body):
    """Write mass, first moment and inertia of state b, from row BODY on."""
    V[BODY, b] = body[0]
    put(V, BODY + 1, b, body[1])
    put(V, BODY + 4, b, (body[2][0], body[2][1], body[2][2]))
    put(V, BODY + 7, b, (body[2][3], body[2][4], body[2][5]))


@part
def put_joint_in_base(V, b, X, sliding, body):
    """Write the unit twist of a joint, placed by X in base, and the body of its link, both about the base origin."""
    z = column(X[0], 2)
    turn = scale(1.0 - sliding, z)
    put(V, TWIST, b, add(scale(sliding, z), cross(X[1], turn)))
    put(V, TWIST + 3, b, turn)
    put_body(V, b, body_to_parent(X, body))


@part
def momentum_of(body, v, w):
    """(linear, angular) about the origin: the spatial inertia times a twist."""
    mass, mc, inertia = body
    return add(scale(mass, v), cross(w, mc)), add(times(inertia, w), cross(mc, v))


@part
def mass_matrix_sample(table, W, q, M):
    """M (n, n) of one state q (n,); W for one state."""
    n, X = chain.joint_count(table), (IDENTITY, ZERO)
    for i in range(n):
        X = along(X, chain.placement(table, i, q[i]))
        put_joint_in_base(W[i], 0, X, table[i, PRISMATIC], chain.link_body(table, i))
    for j in range(n - 1, -1, -1):
        V = W[j]
        linear, angular = momentum_of(get_body(V, 0), get(V, TWIST, 0), get(V, TWIST + 3, 0))
        for i in range(j + 1):
            M[i, j] = M[j, i] = dot(get(W[i], TWIST, 0), linear) + dot(get(W[i], TWIST + 3, 0), angular)
        if j > 0:
            for k in range(BODY, BODY + 10):
                W[j - 1, k, 0] += V[k, 0]


@part
def mass_matrix_block(table, W, count, q, M):
    """M (count, n, n) of q (count, n)."""
    n = q.shape[1]
    E = np.empty((n, n, W.shape[2]))
    blocks.place_joints(table, W, count, q, n)
    blocks.place_in_base(W, count, n)
    for i in range(n):
        V, body, sliding = W[i], chain.link_body(table, i), table[i, PRISMATIC]
        for b in range(count):
            put_joint_in_base(V, b, blocks.placed(V, b), sliding, body)
    for j in range(n - 1, -1, -1):
        V = W[j]
        for b in range(count):
            linear, angular = momentum_of(get_body(V, b), get(V, TWIST, b), get(V, TWIST + 3, b))
            put(V, LINEAR, b, linear)
            put(V, ANGULAR, b, angular)
        for i in range(j + 1):
            U = W[i]
            for b in range(count):
                moved = dot(get(U, TWIST, b), get(V, LINEAR, b))
                E[i, j, b] = moved + dot(get(U, TWIST + 3, b), get(V, ANGULAR, b))
        if j > 0:
            U = W[j - 1]
            for k in range(BODY, BODY + 10):
                for b in range(count):
                    U[k, b] += V[k, b]
    for b in range(count):
        for i in range(n):
            for j in range(i, n):
                M[b, i, j] = M[b, j, i] = E[i, j, b]


@compiled
def mass_matrix_of_one(table, q, M):
    """M (rows n, n) of stacked states; False if one is not finite."""
    n = chain.joint_count(table)
    W = blocks.workspace(n, 1)
    for k in range(0, q.shape[0], n):
        mass_matrix_sample(table, W, q[k : k + n], M[k : k + n])
    return finite(q)


@compiled(nogil=True)
def mass_matrix_blocks(table, q, M):
    """M (rows, n, n) of q (rows, n), as `mass_matrix_of_one` has it."""
    W = blocks.workspace(q.shape[1])
    for k in range(0, q.shape[0], BLOCK):
        mass_matrix_block(table, W, min(BLOCK, q.shape[0] - k), q[k : k + BLOCK], M[k : k + BLOCK])


def mass_matrix(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Joint-space mass matrix M(q), symmetric positive definite: (..., n, n), kg m^2, at q (..., n), rad.

    Reference: Walker and Orin 1982, method 3; kinetic energy of Gautier and Khalil 1988, eq. (6) (document 004).
    """
    if is_one_state(robot, q):
        M = np.empty((robot.n, robot.n))
        if mass_matrix_of_one(robot.table, q, M):
            return M
    return of_rows(robot, (robot.n, robot.n), (mass_matrix_of_one, mass_matrix_blocks), q=q)


H, RATE = TWIST + 6, TWIST + 18  # h and E of a body; rate of the joint's unit twist


@part
def velocity_product(body, v, w):
    """h and E of B(I, V) = [[0, -[h]], [0, E]], the paper's 1/2 [(V x*) I + (I V) xbar* - I (V x)].

    Written out for one body, most of it cancels: h = m v + w x mc is its linear momentum, and
    E = -[w] (tr(I)/2 1 - I) - v mc^T + (mc . v) 1, returned by columns.
    """
    mass, mc, inertia = body
    half = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    x = cross(w, (inertia[0] - half, inertia[1], inertia[2]))
    y = cross(w, (inertia[1], inertia[3] - half, inertia[4]))
    z = cross(w, (inertia[2], inertia[4], inertia[5] - half))
    parallel = dot(mc, v)
    x = add(sub(x, scale(mc[0], v)), (parallel, 0.0, 0.0))
    y = add(sub(y, scale(mc[1], v)), (0.0, parallel, 0.0))
    z = add(sub(z, scale(mc[2], v)), (0.0, 0.0, parallel))
    return add(scale(mass, v), cross(w, mc)), x, y, z


@part
def coriolis_matrix_sample(table, W, q, dq, C):
    """C (n, n) of one state. W[i]: body, h and E of link i and all beyond; the joint's twist and its rate."""
    n, v, w, X = chain.joint_count(table), ZERO, ZERO, (IDENTITY, ZERO)
    for i in range(n):
        V, X = W[i], along(X, chain.placement(table, i, q[i]))
        put_joint_in_base(V, 0, X, table[i, PRISMATIC], chain.link_body(table, i))
        s, z = get(V, TWIST, 0), get(V, TWIST + 3, 0)
        v, w = add(v, scale(dq[i], s)), add(w, scale(dq[i], z))
        put(V, RATE, 0, add(cross(w, s), cross(v, z)))
        put(V, RATE + 3, 0, cross(w, z))
        h, x, y, z = velocity_product(get_body(V, 0), v, w)
        put(V, H, 0, h)
        put(V, H + 3, 0, x)
        put(V, H + 6, 0, y)
        put(V, H + 9, 0, z)
    for j in range(n - 1, -1, -1):
        V = W[j]
        body, h = get_body(V, 0), get(V, H, 0)
        x, y, z = get(V, H + 3, 0), get(V, H + 6, 0), get(V, H + 9, 0)
        E_T = (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])
        s, z = get(V, TWIST, 0), get(V, TWIST + 3, 0)
        l1, m1 = momentum_of(body, get(V, RATE, 0), get(V, RATE + 3, 0))
        l1, m1 = sub(l1, cross(h, z)), add(m1, rotate_back(E_T, z))  # I dS + B S
        l2, m2 = momentum_of(body, s, z)  # I S
        m3 = add(cross(h, s), rotate(E_T, z))  # B^T S, which has no linear part
        for i in range(j, -1, -1):
            U = W[i]
            s, z = get(U, TWIST, 0), get(U, TWIST + 3, 0)
            C[j, i] = dot(get(U, RATE, 0), l2) + dot(get(U, RATE + 3, 0), m2) + dot(z, m3)
            C[i, j] = dot(s, l1) + dot(z, m1)
        if j > 0:
            for k in range(10):
                W[j - 1, BODY + k, 0] += V[BODY + k, 0]
            for k in range(12):
                W[j - 1, H + k, 0] += V[H + k, 0]


@compiled
def coriolis_matrix_of_one(table, q, dq, C):
    """C (rows n, n) of stacked states; False if one is not finite."""
    n = chain.joint_count(table)
    W = np.empty((n, RATE + 6, 1))
    for k in range(0, q.shape[0], n):
        coriolis_matrix_sample(table, W, q[k : k + n], dq[k : k + n], C[k : k + n])
    return finite(q) and finite(dq)


def coriolis_matrix(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> FloatArray:
    """C(q, dq) of the Christoffel symbols: C dq are the Coriolis torques, Mdot - 2C is skew-symmetric.

    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.
    Returns (..., n, n), kg m^2/s: C_ij = sum_k 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k.

    Reference: Echeandia and Wensing, 2021, algorithm 1.
    """
    if is_one_state(robot, q, dq):
        C = np.empty((robot.n, robot.n))
        if coriolis_matrix_of_one(robot.table, q, dq, C):
            return C
    return of_rows(robot, (robot.n, robot.n), (coriolis_matrix_of_one,), q=q, dq=dq)


@compiled
def forward_dynamics_of_one(table, q, dq, tau, ddq):
    """ddq of stacked states; False if one is not finite, or a joint moves nothing that has mass."""
    n = chain.joint_count(table)
    frames, wrenches, W, M = np.empty((n, 12)), np.empty((n, 6)), blocks.workspace(n, 1), np.empty((n, n))
    rest = np.zeros(n)
    for k in range(0, q.shape[0], n):
        result = ddq[k : k + n]
        chain.place_joints(table, q[k : k + n], frames)
        newton_euler_sample(table, 1.0, frames, dq[k : k + n], rest, wrenches, result)
        mass_matrix_sample(table, W, q[k : k + n], M)
        for i in range(n):
            result[i] = tau[k + i] - result[i]
        factorise(M)
        solve(M, result)
    return finite(ddq)


def forward_dynamics(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> FloatArray:
    """Joint accelerations under torques: ddq = M(q)^-1 (tau - C(q, dq) dq - g(q)), rigid body only.

    q, dq, tau: (..., n), rad, rad/s and N m. Leading dimensions broadcast.
    Returns (..., n), rad/s^2.
    Raises RobotDescriptionError: the mass matrix is singular, since a joint moves no mass.

    Reference: Walker and Orin 1982; the equation of De Luca, Robotics 2, slide 5 (document 003), solved for
    the acceleration.
    """
    if is_one_state(robot, q, dq, tau):
        ddq = np.empty(robot.n)
        if forward_dynamics_of_one(robot.table, q, dq, tau, ddq):
            return ddq
    ddq = of_rows(robot, (robot.n,), (forward_dynamics_of_one,), q=q, dq=dq, tau=tau)
    if not np.isfinite(ddq).all():
        raise RobotDescriptionError(
            f"links of {robot.name}: expected inertia at every joint, got a singular mass matrix"
        )
    return ddq
