# SPDX-License-Identifier: Apache-2.0
"""Descriptions of arms: bodies, joints, friction, limits, and the files that hold them."""

from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETER_NAMES, InertialParameters
from panda_dynamics_ros.robot.joints import Friction, JointLimits, ResidualModel
from panda_dynamics_ros.robot.yaml_file import attach, attach_end_effector, library_names, read_robot, write_robot

__all__ = [
    "PARAMETER_NAMES",
    "Friction",
    "InertialParameters",
    "JointLimits",
    "ResidualModel",
    "RobotDescription",
    "attach",
    "attach_end_effector",
    "library_names",
    "read_robot",
    "write_robot",
]
