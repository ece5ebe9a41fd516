# SPDX-License-Identifier: Apache-2.0
"""Mass matrix, Coriolis matrix and forward dynamics.

The mass matrix is that of Walker and Orin 1982, method 3: M_ij is S_i . (I_j S_j) for the unit twists S and the inertia
I_j of link j and all beyond, in base axes about the base origin, where nothing has to be carried from link to link.
"""

import numpy as np
from numpy import zeros
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels import blocks, chain, vectors
from panda_dynamics_ros.dynamics.kernels.batch import finite, of_states
from panda_dynamics_ros.dynamics.kernels.blocks import BLOCK, FREE, PLACED, get, put
from panda_dynamics_ros.dynamics.kernels.compiled import compiled, part
from panda_dynamics_ros.dynamics.kernels.vectors import ZERO, add, along, column, cross, dot, rotate, scale, times
from panda_dynamics_ros.dynamics.newton_euler import joint_torques, link_wrenches, newton_euler_sample, step_outward
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
    """Mass, first moment and inertia of state b."""
    return V[BODY, b], get(V, BODY + 1, b), get(V, BODY + 4, b) + get(V, BODY + 7, b)


@part
def put_joint_in_base(V, b, X, sliding, body):
    """Write the unit twist of a joint, placed by X in base, and the body of its link, both about the base origin."""
    z = column(X[0], 2)
    turn = scale(1.0 - sliding, z)
    put(V, TWIST, b, add(scale(sliding, z), cross(X[1], turn)))
    put(V, TWIST + 3, b, turn)
    V[BODY, b], mc, inertia = body_to_parent(X, body)
    put(V, BODY + 1, b, mc)
    put(V, BODY + 4, b, inertia[:3])
    put(V, BODY + 7, b, inertia[3:])


@part
def mass_matrix_sample(table, W, q, M):
    """M (n, n) of one state q (n,); W for one state."""
    n, X = chain.joint_count(table), chain.BASE
    for i in range(n):
        X = along(X, chain.placement(table, i, q[i]))
        put_joint_in_base(W[i], 0, X, table[i, PRISMATIC], chain.link_body(table, i))
    for j in range(n - 1, -1, -1):
        V = W[j]
        linear, angular = chain.momentum_of(get_body(V, 0), get(V, TWIST, 0), get(V, TWIST + 3, 0))
        for i in range(j + 1):
            M[i, j] = M[j, i] = dot(get(W[i], TWIST, 0), linear) + dot(get(W[i], TWIST + 3, 0), angular)
        if j > 0:
            for k in range(BODY, BODY + 10):
                W[j - 1, k, 0] += V[k, 0]


@compiled
def mass_matrix_of_one(table, q, M):
    """M (rows n, n) of stacked states; whether they are finite."""
    n = chain.joint_count(table)
    W = blocks.workspace(n, 1)
    for k in range(0, q.shape[0], n):
        mass_matrix_sample(table, W, q[k : k + n], M[k : k + n])
    return finite(q)


@compiled(nogil=True)
def mass_matrix_blocks(table, q, M):
    """M (rows, n, n) of q (rows, n), as `mass_matrix_of_one` has it."""
    rows, n = q.shape
    W, E = blocks.workspace(n), np.empty((n, n, BLOCK))
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        blocks.place_joints(table, W, count, q[first : first + BLOCK], n)
        blocks.place_in_base(W, count, n)
        for i in range(n):
            V, body, sliding = W[i], chain.link_body(table, i), table[i, PRISMATIC]
            for b in range(count):
                put_joint_in_base(V, b, blocks.placed(V, b), sliding, body)
        for j in range(n - 1, -1, -1):
            V = W[j]
            for b in range(count):
                linear, angular = chain.momentum_of(get_body(V, b), get(V, TWIST, b), get(V, TWIST + 3, b))
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
                    M[first + b, i, j] = M[first + b, j, i] = E[i, j, b]


def mass_matrix(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Joint-space mass matrix M(q), symmetric positive definite: (..., n, n), kg m^2, at q (..., n), rad.

    Reference: Walker and Orin 1982, method 3; kinetic energy of Gautier and Khalil 1988, eq. (6) (document 004).
    """
    return of_states(robot, (q,), mass_matrix_of_one, mass_matrix_blocks, (robot.table, q, zeros((robot.n, robot.n))))


@compiled
def coriolis_matrix_of_one(table, q, dq, C):
    """C (rows n, n) of stacked states; whether they are finite."""
    n = chain.joint_count(table)
    frames, wrenches, slower = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 6))
    velocity, tau, rest = np.empty(n), np.empty(n), np.zeros(n)
    for k in range(0, q.shape[0], n):
        chain.place_joints(table, q[k : k + n], frames)
        h, a, w, dw = 0.0, ZERO, ZERO, ZERO
        for i in range(n):
            velocity[i], h = dq[k + i], max(h, abs(dq[k + i]))
        h = h or 1.0
        for j in range(n):  # the links before joint j move alike
            velocity[j] = dq[k + j] + h
            link_wrenches(table, j, (a, w, dw), frames, velocity, rest, wrenches)
            velocity[j] = dq[k + j] - h
            link_wrenches(table, j, (a, w, dw), frames, velocity, rest, slower)
            velocity[j] = dq[k + j]
            for i in range(n):  # slices would take several times as long to compile
                for c in range(6):
                    wrenches[i, c] = wrenches[i, c] - slower[i, c] if i >= j else 0.0
            joint_torques(table, frames, wrenches, tau)
            for i in range(n):
                C[k + i, j] = tau[i] / (4.0 * h)
            a, w, dw = step_outward(table[j, PRISMATIC], chain.placed(frames, j), velocity[j], 0.0, a, w, dw)
    return finite(q) and finite(dq)


def coriolis_matrix(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> FloatArray:
    """C(q, dq) of the Christoffel symbols: C dq are the Coriolis torques, Mdot - 2C is skew-symmetric.

    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.
    Returns (..., n, n), kg m^2/s: C_ij = sum_k 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k.

    Reference: De Luca, Robotics 2, slide 5 (document 003). The Coriolis torques c(q, dq) are a quadratic form of dq.
    C dq' is its symmetric bilinear form: for every h, column j is [c(q, dq + h e_j) - c(q, dq - h e_j)] / 4 h.
    """
    return of_states(robot, (q, dq), coriolis_matrix_of_one, None, (robot.table, q, dq, zeros((robot.n, robot.n))))


@compiled
def forward_dynamics_of_one(table, q, dq, tau, ddq):
    """ddq of stacked states; whether they are finite. ZeroDivisionError: a joint moves nothing that has mass."""
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
        vectors.factorise(M)
        vectors.solve(M, result)
    given = finite(q) and finite(dq) and finite(tau)
    if given and not finite(ddq):
        raise ZeroDivisionError
    return given


def forward_dynamics(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> FloatArray:
    """Joint accelerations under torques: ddq = M(q)^-1 (tau - C(q, dq) dq - g(q)), rigid body only.

    q, dq, tau: (..., n), rad, rad/s and N m. Leading dimensions broadcast.
    Returns (..., n), rad/s^2.
    Raises RobotDescriptionError: the mass matrix is singular, since a joint moves no mass.

    Reference: Walker and Orin 1982; the equation of De Luca, Robotics 2, slide 5 (document 003), solved for
    the acceleration.
    """
    try:
        return of_states(robot, (q, dq, tau), forward_dynamics_of_one, None, (robot.table, q, dq, tau, zeros(robot.n)))
    except ZeroDivisionError as error:
        message = f"links of {robot.name}: expected inertia at every joint, got a singular mass matrix"
        raise RobotDescriptionError(message) from error
