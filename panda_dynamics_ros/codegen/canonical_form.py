# SPDX-License-Identifier: Apache-2.0
"""The same arm with fewer numbers: link frames of modified DH form, and few non-zero inertial parameters.

A link's frame may be turned about its joint's axis and moved along it without a change of any torque. With its x along
the common normal to the next axis, a placement costs two planar turns and one or two lengths (Gautier and Khalil 1988,
section 2). Frames that are of modified DH form already stay as they are.

The base parameters set the regrouped parameters to zero: m, mZ and YY of a link that turns (section 6 there).
Part of a link's XX + YY may then be given back to it, which changes no torque, eq. (20). The part that makes
ZZ = XX + YY, the inertia of a flat body, saves a product in the moment of each link (see `newton_euler`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import base_parameters
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import inertial_transport

# Entries of rotations, and lengths in m, this close to 0 or 1 are rounding: the cosine of 90 degrees is 6e-17.
EXACT = 4e-15
# Where nearly parallel axes come closest may be far away, and digits would be lost on the way: this many lengths.
FARTHEST = 10.0

XX, YY, ZZ = 4, 7, 9
FLAT = np.eye(10)[XX] + np.eye(10)[YY]

# Angles that are nearly right are not taken for right angles: the regrouping is exact, and only costs operations.
ROUNDING = 1e-13

Robot = TypeVar("Robot", bound=RobotDescription)


def with_modified_dh_frames(robot: Robot) -> tuple[Robot, FloatArray]:
    """The same arm with the link frames of this module, and T_base_first (4, 4), which places its new base.

    The new base is the first joint's frame at zero position; torques are unchanged.
    """
    moves = [_towards_common_normal(T) for T in robot.placements[1:]] + [np.eye(4)]
    backs = [np.linalg.inv(T) for T in moves]
    between = zip(backs[:-1], robot.placements[1:], moves[1:], strict=True)
    placements = [np.eye(4), *(back @ T @ move for back, T, move in between)]
    T_base_first = robot.placements[0] @ moves[0]
    reframed = replace(
        robot,
        placements=np.array(placements),
        links=tuple(link.transformed(back) for link, back in zip(robot.links, backs, strict=True)),
        gravity=T_base_first[:3, :3].T @ robot.gravity,
        T_joint_flange=backs[-1] @ robot.T_joint_flange,
    )
    return reframed, T_base_first


def _towards_common_normal(T_next: FloatArray) -> FloatArray:
    """Rz(phi) Tz(h) (4, 4) in a joint's frame: its x on the common normal of its axis and the next one's."""
    z, p = T_next[:3, 2], T_next[:3, 3]
    sine, distance = math.hypot(z[0], z[1]), math.hypot(p[0], p[1])
    height = 0.0
    if sine > EXACT:  # the normal is along z_i x z, through the point of the next axis at p + s z
        x, y = -z[1] / sine, z[0] / sine
        s = -(p[0] * z[0] + p[1] * z[1]) / sine**2
        height = p[2] + s * z[2]
        if abs(height) > FARTHEST * float(np.linalg.norm(p)):
            return np.eye(4)
    elif distance > EXACT:  # parallel axes: any height would do
        x, y = p[0] / distance, p[1] / distance
    else:
        return np.eye(4)
    if abs(y) <= EXACT:
        x, y = 1.0, 0.0
    elif x < 0.0:
        x, y = -x, -y  # of the two directions, the one closer to where x is
    move = np.eye(4)
    move[:2, :2] = [[x, -y], [y, x]]
    move[2, 3] = height if abs(height) > EXACT else 0.0
    return move


def cheapest_parameters(robot: RobotDescription) -> FloatArray:
    """Inertial vectors (n, 10) of the links, with as few non-zero entries as possible and the same torques.

    ZZ = XX + YY holds for every link but the first, which turns about z at most.
    """
    base = base_parameters(robot, tolerance=ROUNDING)

    def regrouped(vectors: FloatArray) -> FloatArray:
        """The base parameters of these links, each in its representative's place."""
        vector, values = vectors.ravel(), np.zeros(vectors.size)
        sums = base.mapping @ vector
        # A sum that is zero but for rounding is zero.
        certain = np.abs(sums) > 1e-15 * (np.abs(base.mapping) @ np.abs(vector))
        values[list(base.columns)] = np.where(certain, sums, 0.0)
        return values.reshape(-1, 10)

    links = regrouped(robot.inertial_vector.reshape(-1, 10))
    for j in range(robot.n - 1, 0, -1):
        if robot.prismatic[j]:
            continue  # its inertia is zero, regrouped to the link before
        share = 0.5 * (links[j, ZZ] - links[j, XX] - links[j, YY]) * FLAT
        taken = np.zeros_like(links)
        taken[j - 1] = inertial_transport(robot.placements[j]) @ share
        links -= regrouped(taken)
        links[j] += share
    return links
