# SPDX-License-Identifier: Apache-2.0
"""Poses and Jacobians of the arm's frames, and of its links' centres of mass."""

import numpy as np
from numpy import zeros
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels import blocks, chain
from panda_dynamics_ros.dynamics.kernels.batch import finite, of_states
from panda_dynamics_ros.dynamics.kernels.blocks import get, put
from panda_dynamics_ros.dynamics.kernels.compiled import compiled, part
from panda_dynamics_ros.dynamics.kernels.vectors import ZERO, add, along, column, cross, scale
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription

_CROSS = np.cross(np.eye(3)[:, None], np.eye(3))  # [j, k]: axis j times axis k; np.cross of few vectors is slow


@part
def beyond_joints(table, frame, X):
    """The placement of `frame` from that of the last joint's frame, by the fixed placements between them."""
    for row in range(chain.joint_count(table), frame + 1):
        X = along(X, chain.placed(table, row))
    return X


@part
def store_transform(X, T):
    """Write a placement into T (4, 4)."""
    for j in range(3):
        put(T, 0, j, column(X[0], j))
        T[3, j] = 0.0
    put(T, 0, 3, X[1])
    T[3, 3] = 1.0


@compiled
def pose_of_one(table, frame, q, T):
    """T (4 rows, 4) of stacked states, of the frame in this row of the table (-1: base); whether they are finite."""
    n = chain.joint_count(table)
    for k in range(q.shape[0] // n):
        X = chain.BASE
        for i in range(min(frame + 1, n)):
            X = along(X, chain.placement(table, i, q[k * n + i]))
        store_transform(beyond_joints(table, frame, X), T[4 * k : 4 * k + 4])
    return finite(q)


@compiled(nogil=True)
def pose_blocks(table, frame, q, T):
    """T (rows, 4, 4) of q (rows, n), as `pose_of_one` has it, of any frame but base."""
    rows, n = q.shape
    W, joints = blocks.workspace(n), min(frame + 1, n)
    for first in range(0, rows, blocks.BLOCK):
        last = min(first + blocks.BLOCK, rows)
        count, V = last - first, W[joints - 1]
        blocks.place_joints(table, W, count, q[first:last], joints)
        blocks.place_in_base(W, count, joints)
        for row in range(n, frame + 1):
            X = chain.placed(table, row)
            for b in range(count):
                blocks.place(V, b, along(blocks.placed(V, b), X))
        for b in range(count):
            store_transform(blocks.placed(V, b), T[first + b])


def pose(robot: RobotDescription, q: ArrayLike, frame: str = "flange") -> FloatArray:
    """T_base_frame: maps coordinates in `frame` to `base`.

    q: (..., n), rad.
    frame: base, joint1 .. jointn, flange or ee.
    Returns (..., 4, 4), translation in m.

    Reference: product of modified Denavit-Hartenberg transforms, Gautier and Khalil 1988, eq. (1) (document 004);
    document 000, S_H_i = S_H_1 1_H_2 ..
    """
    row = robot.frame_index(frame)
    return of_states(robot, (q,), pose_of_one, pose_blocks if row >= 0 else None, (robot.table, row, q, zeros((4, 4))))


@compiled
def jacobian_of_one(table, frame, q, J):
    """J (6 rows, n) of stacked states, where it is not zero; whether they are finite.

    The first loop over joints stores their origins and axes in the columns, the second replaces them by the result.
    """
    n = chain.joint_count(table)
    joints = min(frame + 1, n)
    for k in range(q.shape[0] // n):
        one, X = J[6 * k : 6 * k + 6], chain.BASE
        for i in range(joints):
            X = along(X, chain.placement(table, i, q[k * n + i]))
            put(one, 0, i, X[1])
            put(one, 3, i, column(X[0], 2))
        _, point = beyond_joints(table, frame, X)
        for i in range(joints):
            origin, z = get(one, 0, i), get(one, 3, i)
            if chain.slides(table, i):
                put(one, 0, i, z)
                put(one, 3, i, ZERO)
            else:
                put(one, 0, i, cross(z, add(point, scale(-1.0, origin))))
    return finite(q)


def jacobian(robot: RobotDescription, q: ArrayLike, frame: str = "flange") -> FloatArray:
    """Geometric Jacobian: (v, w) = J dq, the velocity of the frame's origin and its angular velocity.

    q: (..., n), rad.
    frame: base, joint1 .. jointn, flange or ee.
    Returns (..., 6, n): linear rows first, both parts in base axes, at the frame's origin.

    Reference: Lynch and Park 2017, section 5.1; document 002, section 1.3 (with the angular part first).
    """
    row = robot.frame_index(frame)
    return of_states(robot, (q,), jacobian_of_one, None, (robot.table, row, q, zeros((6, robot.n))))


def com_jacobian(robot: RobotDescription, q: ArrayLike, link: int) -> FloatArray:
    """Jacobian (..., 6, n) of the centre of mass of `link`, 1..n, at q (..., n), rad: linear part first, base axes.

    Reference: document 002, section 1.3: J_mi = Ad^-1(T_CoM) J_i.
    """
    if not isinstance(link, int | np.integer) or not 1 <= link <= robot.n:
        raise ArgumentError(f"link: expected an integer from 1 to {robot.n}, got {link!r}")
    J = jacobian(robot, q, f"joint{link}")
    com = pose(robot, q, f"joint{link}")[..., :3, :3] @ robot.links[link - 1].com  # from the joint's origin, base axes
    J[..., :3, :] += np.einsum("...ji,...k,jkl->...li", J[..., 3:, :], com, _CROSS)
    return J
