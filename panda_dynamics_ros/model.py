# SPDX-License-Identifier: Apache-2.0
"""RobotModel: a robot's description with its dynamics as methods."""

from __future__ import annotations

from pathlib import Path

from panda_dynamics_ros import dynamics
from panda_dynamics_ros.robot import RobotDescription, attach, read_end_effector, read_robot


class RobotModel(RobotDescription):
    """An arm to compute with: the data of `RobotDescription`, the functions of `dynamics` as methods.

    Each method is the function of the same name in `dynamics`, which states shapes, units, frames and equations:
    `robot.pose(q)` is `dynamics.pose(robot, q)`. The module `panda_dynamics_ros.pose` is something else: it converts
    between Franka's pose formats.
    """

    pose = dynamics.pose
    jacobian = dynamics.jacobian
    com_jacobian = dynamics.com_jacobian
    gravity_torques = dynamics.gravity_torques
    coriolis_torques = dynamics.coriolis_torques
    coriolis_matrix = dynamics.coriolis_matrix
    mass_matrix = dynamics.mass_matrix
    inverse_dynamics = dynamics.inverse_dynamics
    forward_dynamics = dynamics.forward_dynamics
    friction_torques = dynamics.friction_torques
    regressor = dynamics.regressor
    gravity_regressor = dynamics.gravity_regressor
    payload_regressor = dynamics.payload_regressor
    momentum = dynamics.momentum
    base_parameters = dynamics.base_parameters


def load_robot(
    source: str | Path = "panda",
    *,
    end_effector: str | Path = "none",
    base: str | None = None,
    tip: str | None = None,
) -> RobotModel:
    """An arm of the library, or of a user's file.

    Parameters
    ----------
    source: "panda" (Gaz et al. 2019), "panda_ledezma" (Diaz Ledezma and Haddadin, document 000), "fr3", or the path of
        a .yaml or .urdf file.
    end_effector: "none", "hand" (the Franka hand), or the path of a .yaml file: its bodies become part of the last
        link, and `ee` its tool frame.
    base, tip: links between which the chain of a .urdf file is taken; by default its root, and the end link with
        most joints to it. See `robot.urdf_file.read_urdf` for what URDF does and does not say.

    Raises
    ------
    ArgumentError: neither a library name nor a path, and the message lists the names; or `base` or `tip` do not
        fit, and the message lists the links.
    DataFileNotFoundError: the file does not exist.
    RobotDescriptionError: the file is malformed, or a link is not physical.
    """
    return attach(read_robot(source, RobotModel, base, tip), read_end_effector(end_effector))
