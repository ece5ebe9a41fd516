# SPDX-License-Identifier: Apache-2.0
"""Poses and Jacobians of the arm's frames; mass, centre of mass and inertia of its links in the base frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import (
    BLOCK,
    ORIGIN,
    PLACED,
    RowsKernel,
    finite,
    get,
    get_rotation,
    is_one_state,
    over_rows,
    place_block,
    put,
    put_rotation,
    workspace,
)
from panda_dynamics_ros.dynamics.kernels.vectors import (
    IDENTITY,
    ZERO,
    add,
    column,
    compiled,
    compose,
    cross,
    fixed_rotation,
    joint_count,
    part,
    placement,
    rotate,
    slides,
    sub,
    translation,
)
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription


@part
def step_along(R, p, R_i, p_i):
    """The pose of a frame that is placed at R_i, p_i in the frame at R, p."""
    return compose(R, R_i), add(p, rotate(R, p_i))


@part
def beyond_joints(table, frame, R, p):
    """The pose of `frame` from that of the last joint's frame, by the fixed placements between them."""
    for row in range(joint_count(table), frame + 1):
        R, p = step_along(R, p, fixed_rotation(table, row), translation(table, row))
    return R, p


@part
def frame_sample(table, frame, q):
    """Rotation and position in base of the frame in row `frame` of the table (-1 is base itself)."""
    R, p = IDENTITY, ZERO
    for i in range(min(frame + 1, joint_count(table))):
        R_i, p_i = placement(table, i, q[i])
        R, p = step_along(R, p, R_i, p_i)
    return beyond_joints(table, frame, R, p)


@part
def store_transform(R, p, T):
    """Write a rotation and a position into T (4, 4)."""
    for i in range(3):
        T[i, 3] = p[i]
        T[3, i] = 0.0
        for j in range(3):
            T[i, j] = R[3 * i + j]
    T[3, 3] = 1.0


@compiled
def pose_of_one(table, frame, q, T):
    """T (4 rows, 4) of stacked states, of the frame in row `frame` of the table; False if one is not finite."""
    n = joint_count(table)
    for k in range(q.shape[0] // n):
        R, p = frame_sample(table, frame, q[k * n : (k + 1) * n])
        store_transform(R, p, T[4 * k : 4 * k + 4])
    return finite(q)


@part
def chain_block(W, count, joints):
    """Replace the placements of a block in the link before by those in base, in place."""
    for i in range(1, joints):
        U, V = W[i - 1], W[i]
        for b in range(count):
            R, p = get_rotation(U, PLACED, b), get(U, ORIGIN, b)
            R, p = step_along(R, p, get_rotation(V, PLACED, b), get(V, ORIGIN, b))
            put_rotation(V, PLACED, b, R)
            put(V, ORIGIN, b, p)


@compiled(nogil=True)
def pose_blocks(table, frame, q, T):
    """T (rows, 4, 4) of q (rows, n), as `pose_of_one` has it."""
    rows, n = q.shape
    W, joints = workspace(n), min(frame + 1, n)
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        count = last - first
        place_block(table, W, q[first:last], joints)
        chain_block(W, count, joints)
        V = W[max(joints - 1, 0)]
        if joints == 0:
            for b in range(count):
                put_rotation(V, PLACED, b, IDENTITY)
                put(V, ORIGIN, b, ZERO)
        for row in range(n, frame + 1):
            R_row, p_row = fixed_rotation(table, row), translation(table, row)
            for b in range(count):
                R, p = step_along(get_rotation(V, PLACED, b), get(V, ORIGIN, b), R_row, p_row)
                put_rotation(V, PLACED, b, R)
                put(V, ORIGIN, b, p)
        for b in range(count):
            store_transform(get_rotation(V, PLACED, b), get(V, ORIGIN, b), T[first + b])


pose_kernel = RowsKernel(pose_of_one, pose_blocks, shared=2)


def pose(robot: RobotDescription, q: ArrayLike, frame: str = "flange") -> FloatArray:
    """T_base_frame: maps coordinates in `frame` to `base`.

    Parameters
    ----------
    q: (..., n), rad.
    frame: base, joint1 .. jointn, flange or ee.

    Returns
    -------
    (..., 4, 4), translation in m.

    Raises
    ------
    ArgumentError: `q` is not finite or not of shape (..., n), or there is no such frame.

    Reference: product of modified Denavit-Hartenberg transforms, Gautier and Khalil 1988, eq. (1) (document 004);
    document 000, S_H_i = S_H_1 1_H_2 ..
    """
    index = robot.frame_index(frame)
    if is_one_state(robot, q):
        T = np.empty((4, 4))
        if pose_of_one(robot.table, index, q, T):
            return T
    return over_rows(robot, pose_kernel, (4, 4), index, q=q)


class LinkInertias(NamedTuple):
    """Bodies 1..n at some joint positions.

    Attributes
    ----------
    mass: (n,), kg.
    com: (..., n, 3), m, centres of mass in base.
    inertia: (..., n, 3, 3), kg m^2, about each centre of mass, along base axes.
    """

    mass: FloatArray
    com: FloatArray
    inertia: FloatArray


def links_in_base(robot: RobotDescription, q: ArrayLike) -> LinkInertias:
    """Mass, centre of mass and inertia of every link in base.

    Parameters
    ----------
    q: (..., n), rad.

    Raises
    ------
    ArgumentError: `q` is not finite or not of shape (..., n).

    Reference: document 000, S_c = S_H_i i_c and S_I = S_R_i i_I S_R_i^T. Its table has m c and the inertia about the
    joint's origin (errata 1 and 2), which `InertialParameters.from_vector` turns into c and the inertia about c.
    """
    T = np.stack([pose(robot, q, f"joint{i}") for i in range(1, robot.n + 1)], axis=-3)
    R, p = T[..., :3, :3], T[..., :3, 3]
    com = np.array([link.com for link in robot.links])
    inertia = np.array([link.inertia for link in robot.links])
    return LinkInertias(
        mass=np.array([link.mass for link in robot.links]),
        com=(R @ com[..., None])[..., 0] + p,
        inertia=R @ inertia @ np.swapaxes(R, -1, -2),
    )


_AT_THE_ORIGIN = checks.read_only(np.zeros(3))


@part
def jacobian_sample(table, frame, offset, q, J):
    """Jacobian (6, n) of the point `offset` (in the axes of `frame`, from its origin), linear part first.

    The first loop stores the joints' origins and axes in the columns, the second replaces them by the result.
    """
    n = joint_count(table)
    R, p = IDENTITY, ZERO
    for i in range(min(frame + 1, n)):
        R_i, p_i = placement(table, i, q[i])
        R, p = step_along(R, p, R_i, p_i)
        store_column(J, i, p, column(R, 2))
    R, p = beyond_joints(table, frame, R, p)
    point = add(p, rotate(R, (offset[0], offset[1], offset[2])))
    for i in range(n):
        if i > frame:
            store_column(J, i, ZERO, ZERO)
        else:
            origin, z = (J[0, i], J[1, i], J[2, i]), (J[3, i], J[4, i], J[5, i])
            if slides(table, i):
                store_column(J, i, z, ZERO)
            else:
                store_column(J, i, cross(z, sub(point, origin)), z)


@part
def store_column(J, i, linear, angular):
    """Write column i of J (6, n)."""
    for row in range(3):
        J[row, i] = linear[row]
        J[3 + row, i] = angular[row]


@compiled
def jacobian_of_one(table, frame, offset, q, J):
    """J (6 rows, n) of stacked states; False if one is not finite."""
    n = joint_count(table)
    for k in range(q.shape[0] // n):
        jacobian_sample(table, frame, offset, q[k * n : (k + 1) * n], J[6 * k : 6 * k + 6])
    return finite(q)


jacobian_kernel = RowsKernel(jacobian_of_one, shared=3)


def jacobian(robot: RobotDescription, q: ArrayLike, frame: str = "flange") -> FloatArray:
    """Geometric Jacobian: (v, w) = J dq, the velocity of the frame's origin and its angular velocity.

    Parameters
    ----------
    q: (..., n), rad.
    frame: base, joint1 .. jointn, flange or ee.

    Returns
    -------
    (..., 6, n): linear rows first, both parts in base axes, at the frame's origin.

    Raises
    ------
    ArgumentError: `q` is not finite or not of shape (..., n), or there is no such frame.

    Reference: Lynch and Park 2017, section 5.1; document 002, section 1.3 (with the angular part first).
    """
    index = robot.frame_index(frame)
    return _point_jacobian(robot, q, index, _AT_THE_ORIGIN)


def com_jacobian(robot: RobotDescription, q: ArrayLike, link: int) -> FloatArray:
    """Jacobian of the centre of mass of link 1..n, along base axes.

    Parameters
    ----------
    q: (..., n), rad.
    link: 1..n.

    Returns
    -------
    (..., 6, n): linear velocity of the CoM first, then angular velocity, in base axes.

    Raises
    ------
    ArgumentError: `q` is not finite or not of shape (..., n), or `link` is not one of 1..n.

    Reference: document 002, section 1.3: J_mi = Ad^-1(T_CoM) J_i.
    """
    if not isinstance(link, int | np.integer) or not 1 <= link <= robot.n:
        raise ArgumentError(f"link: expected an integer from 1 to {robot.n}, got {link!r}")
    return _point_jacobian(robot, q, int(link) - 1, checks.read_only(robot.links[link - 1].com))


def _point_jacobian(robot: RobotDescription, q: ArrayLike, frame: int, offset: FloatArray) -> FloatArray:
    """(..., 6, n) of the point `offset` (3,), read-only, of the frame in this row of the table."""
    if is_one_state(robot, q):
        J = np.empty((6, robot.n))
        if jacobian_of_one(robot.table, frame, offset, q, J):
            return J
    return over_rows(robot, jacobian_kernel, (6, robot.n), frame, offset, q=q)
