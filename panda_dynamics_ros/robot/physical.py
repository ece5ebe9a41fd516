# SPDX-License-Identifier: Apache-2.0
"""The gate for bodies that come from files."""

from __future__ import annotations

from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.inertial import InertialParameters


def require_physical(body: InertialParameters, name: str) -> InertialParameters:
    """`body`, if some distribution of mass has it.

    Raises
    ------
    RobotDescriptionError: none has (see `InertialParameters.is_physical`); the message begins with `name`.
    """
    if not body.is_physical():
        raise RobotDescriptionError(
            f"{name}: expected a body that some distribution of mass has, got mass {body.mass:g} kg and second moments "
            f"about the CoM of {body.second_moments.round(6).tolist()} kg m^2"
        )
    return body
