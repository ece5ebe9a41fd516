# SPDX-License-Identifier: Apache-2.0
"""Of all inertial parameters with which an arm moves the same, those with which Newton and Euler have least to do.

The base parameters set the regrouped parameters to zero (document 004, section 6): m, mZ and YY of a link that turns.
Part of a link's XX + YY may then be given back to it, which changes no torque, eq. (20): as much as makes
ZZ = XX + YY, the inertia of a flat body, saves a product in the moment of each link (see `newton_euler`).
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import base_parameters
from panda_dynamics_ros.dynamics.regrouping import inertial_transport
from panda_dynamics_ros.robot import RobotDescription

XX, YY, ZZ = 4, 7, 9
FLAT = np.eye(10)[XX] + np.eye(10)[YY]

# What is regrouped is regrouped exactly: nearly right angles are no right angles here, and only cost operations.
ROUNDING = 1e-13


def cheapest_parameters(robot: RobotDescription) -> FloatArray:
    """Inertial vectors (n, 10) of the links, as many entries zero as can be; torques are those of the robot.

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
