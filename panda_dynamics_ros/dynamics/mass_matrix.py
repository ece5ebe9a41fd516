# SPDX-License-Identifier: Apache-2.0
"""Joint-space mass matrix by the composite rigid body algorithm (Walker and Orin 1982, method 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import RowsKernel, finite, is_one_state, over_rows
from panda_dynamics_ros.dynamics.kernels.blocks import (
    BLOCK,
    ORIGIN,
    PLACED,
    get,
    get_rotation,
    place_block,
    put,
    workspace,
)
from panda_dynamics_ros.dynamics.kernels.vectors import (
    add,
    compiled,
    dot,
    joint_count,
    link_body,
    part,
    place_joints,
    placed,
    rotate,
    scale,
    slides,
)
from panda_dynamics_ros.dynamics.newton_euler import to_parent
from panda_dynamics_ros.robot.description import RobotDescription


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


@part
def joined(one, other):
    """Mass, first moment and inertia of two bodies together."""
    a, b = one[2], other[2]
    inertia = (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])
    return one[0] + other[0], add(one[1], other[1]), inertia


@part
def composite_wrench(body, sliding):
    """Wrench about the frame's origin that gives the composite body unit joint acceleration."""
    mass, mc, inertia = body
    if sliding:
        return (0.0, 0.0, mass), (mc[1], -mc[0], 0.0)
    return (-mc[1], mc[0], 0.0), (inertia[2], inertia[4], inertia[5])


@part
def mass_matrix_sample(table, frames, M):
    """M (n, n) of one state, its joints placed."""
    n = joint_count(table)
    body = link_body(table, n - 1)
    for i in range(n - 1, -1, -1):
        f, moment = composite_wrench(body, slides(table, i))
        for j in range(i, -1, -1):
            M[i, j] = M[j, i] = f[2] if slides(table, j) else moment[2]
            R, p = placed(frames, j)
            f, moment = to_parent(R, p, f, moment)
        if i > 0:
            R, p = placed(frames, i)
            body = joined(link_body(table, i - 1), body_to_parent(R, p, body))


@compiled
def mass_matrix_of_one(table, q, M):
    """M (rows n, n) of stacked states; False if one is not finite."""
    n = joint_count(table)
    frames = np.empty((n, 12))
    for k in range(0, q.shape[0], n):
        place_joints(table, q[k : k + n], frames)
        mass_matrix_sample(table, frames, M[k : k + n])
    return finite(q)


MASS, MC, INERTIA, F, MOMENT = 0, 1, 4, 10, 13  # of the composite body, in the last row


@part
def get_body(S, b):
    """The composite body of state b."""
    return S[MASS, b], get(S, MC, b), (*get(S, INERTIA, b), *get(S, INERTIA + 3, b))


@part
def put_body(S, b, body):
    """Write the composite body of state b."""
    mass, mc, inertia = body
    S[MASS, b] = mass
    put(S, MC, b, mc)
    put(S, INERTIA, b, (inertia[0], inertia[1], inertia[2]))
    put(S, INERTIA + 3, b, (inertia[3], inertia[4], inertia[5]))


@part
def put_wrench(S, b, wrench):
    """Write the composite body's wrench of state b."""
    put(S, F, b, wrench[0])
    put(S, MOMENT, b, wrench[1])


@compiled(nogil=True)
def mass_matrix_blocks(table, q, M):
    """M (rows, n, n) of q (rows, n), as `mass_matrix_of_one` has it."""
    rows, n = q.shape
    W = workspace(n)
    S, E = W[n], np.empty((n, n, BLOCK))
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        count, result = last - first, M[first:last]
        place_block(table, W, q[first:last], n)
        body = link_body(table, n - 1)
        for b in range(count):
            put_body(S, b, body)
        for i in range(n - 1, -1, -1):
            if slides(table, i):
                for b in range(count):
                    put_wrench(S, b, composite_wrench(get_body(S, b), True))
            else:
                for b in range(count):
                    put_wrench(S, b, composite_wrench(get_body(S, b), False))
            for j in range(i, -1, -1):
                V, row = W[j], (F if slides(table, j) else MOMENT) + 2
                for b in range(count):
                    E[i, j, b] = E[j, i, b] = S[row, b]
                for b in range(count):
                    R, p = get_rotation(V, PLACED, b), get(V, ORIGIN, b)
                    put_wrench(S, b, to_parent(R, p, get(S, F, b), get(S, MOMENT, b)))
            if i > 0:
                V, body = W[i], link_body(table, i - 1)
                for b in range(count):
                    moved = body_to_parent(get_rotation(V, PLACED, b), get(V, ORIGIN, b), get_body(S, b))
                    put_body(S, b, joined(body, moved))
        for b in range(count):
            for i in range(n):
                for j in range(n):
                    result[b, i, j] = E[i, j, b]


mass_matrix_kernel = RowsKernel(mass_matrix_of_one, mass_matrix_blocks)


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
