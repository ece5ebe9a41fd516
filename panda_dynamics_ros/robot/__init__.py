# SPDX-License-Identifier: Apache-2.0
"""Descriptions of arms: bodies, joints, friction, limits, and the files that hold them."""

from panda_dynamics_ros.robot.description import RobotDescription as RobotDescription
from panda_dynamics_ros.robot.inertial import InertialParameters as InertialParameters
from panda_dynamics_ros.robot.joints import Friction as Friction
from panda_dynamics_ros.robot.joints import JointLimits as JointLimits
from panda_dynamics_ros.robot.joints import ResidualModel as ResidualModel
from panda_dynamics_ros.robot.yaml_file import attach_end_effector as attach_end_effector
from panda_dynamics_ros.robot.yaml_file import library_names as library_names
from panda_dynamics_ros.robot.yaml_file import read_robot as read_robot
from panda_dynamics_ros.robot.yaml_file import write_robot as write_robot
