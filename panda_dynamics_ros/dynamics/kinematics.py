# SPDX-License-Identifier: Apache-2.0
"""Poses of the arm's frames, and mass, centre of mass and inertia of its links in the base frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import batched, is_one_state, over_rows
from panda_dynamics_ros.dynamics.kernels.vectors import (
    IDENTITY,
    ZERO,
    add,
    compiled,
    compose,
    fixed_rotation,
    joint_count,
    placement,
    rotate,
    vector_at,
)
from panda_dynamics_ros.robot.description import TRANSLATION, RobotDescription


@compiled
def beyond_joints(table, frame, R, p):
    """The pose of `frame` from that of the last joint's frame, by the fixed placements between them."""
    for row in range(joint_count(table), frame + 1):
        R, p = step_beyond(table, row, R, p)
    return R, p


@compiled
def step_beyond(table, row, R, p):
    """The pose of the frame in row `row` of the table, whose parent is at R, p."""
    return compose(R, fixed_rotation(table, row)), add(p, rotate(R, vector_at(table, row, TRANSLATION)))


@compiled
def frame_sample(table, frame, q):
    """Rotation and position in base of the frame in row `frame` of the table (-1 is base itself)."""
    n = joint_count(table)
    R, p = IDENTITY, ZERO
    for i in range(min(frame + 1, n)):
        R_i, p_i = placement(table, i, q[i])
        R, p = compose(R, R_i), add(p, rotate(R, p_i))
    return beyond_joints(table, frame, R, p)


@compiled
def store_transform(R, p, T):
    """Write a rotation and a position into T (4, 4)."""
    for i in range(3):
        for j in range(3):
            T[i, j] = R[3 * i + j]
        T[i, 3] = p[i]
        T[3, i] = 0.0
    T[3, 3] = 1.0


@compiled
def pose_sample(table, frame, q, T):
    """T (4, 4) of the frame in row `frame` of the table."""
    R, p = frame_sample(table, frame, q)
    store_transform(R, p, T)


pose_of_one, pose_kernel = batched(pose_sample)


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
