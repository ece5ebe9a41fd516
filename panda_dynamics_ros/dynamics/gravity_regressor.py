# SPDX-License-Identifier: Apache-2.0
"""The gravity torques as a linear function of the inertial parameters, for identification from static poses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regressor import regressor
from panda_dynamics_ros.robot.description import RobotDescription


def gravity_regressor(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Y_g with gravity_torques = Y_g @ inertial_vector: the regressor of the arm at rest.

    Parameters
    ----------
    q: (..., n), rad.

    Returns
    -------
    (..., n, 10 n), columns as in `regressor`; those of the inertias are zero, gravity knows m and m c only.

    Raises
    ------
    ArgumentError: `q` is not finite, or not of shape (..., n).

    Reference: document 003, slide 16 (the gravity terms identified separately).
    """
    rest = np.zeros(robot.n)
    return regressor(robot, q, rest, rest)
