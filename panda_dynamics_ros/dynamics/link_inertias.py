# SPDX-License-Identifier: Apache-2.0
"""The bodies of an arm seen from its base: the mapping to {S} of document 000."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kinematics import pose
from panda_dynamics_ros.robot.description import RobotDescription


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
    joint's origin (ERRATA, 1 and 2), which `InertialParameters.from_vector` turns into c and the inertia about c.
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
