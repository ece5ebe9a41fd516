# SPDX-License-Identifier: Apache-2.0
"""RobotModel: a robot's description with its dynamics as methods."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from panda_dynamics_ros import dynamics
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import RobotDescription, attach_end_effector, read_robot


class RobotModel(RobotDescription):
    """An arm to compute with: the data of `RobotDescription`, the functions of `dynamics` as methods.

    Each method is the function of the same name in `dynamics`, which states shapes, units, frames and equations:
    `robot.pose(q)` is `dynamics.pose(robot, q)`. The module `panda_dynamics_ros.pose` converts pose formats.
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
    link_side_torques = dynamics.link_side_torques
    regressor = dynamics.regressor
    payload_regressor = dynamics.payload_regressor
    base_parameters = dynamics.base_parameters


def load_robot(
    source: str | Path = "panda",
    *,
    end_effector: str | Path = "none",
    base: str | None = None,
    tip: str | None = None,
    friction: str = "published",
    mounting: ArrayLike = (0.0, 0.0, 0.0),
    gravity: ArrayLike | None = None,
    effort: str | None = None,
    motor_constants: ArrayLike | None = None,
    rotor_inertia: ArrayLike | None = None,
) -> RobotModel:
    """An arm of the library, or of a user's file.

    source: "panda" (Gaz et al. 2019), "panda_ledezma" (Diaz Ledezma and Haddadin, document 000), "fr3", the path of
        a .yaml, .urdf or MJCF (.xml) file, or the text of a URDF (ROS's `robot_description`).
    end_effector: "none", "hand" (the Franka hand), or the path of a .yaml file: its bodies become part of the last
        link, and `ee` its tool frame.
    base, tip: links between which the chain of a .urdf or .xml file is taken; by default its root, and the flange or
        the link with most joints to it. See `robot.urdf.arm_of_chain` for what URDF does and does not say.
    friction: "published", of the library or the file, or "none", of simulated arms without friction.
    mounting: (3,), roll, pitch and yaw of the base in rad, for an arm on a wall, a ceiling or a tilted table.
    gravity: (3,), m/s^2, in the frame that `mounting` turns the base in; by default the description's.
    effort: what the arm's joint states have as effort: "measured" on the links with gravity, "without_gravity",
        "actuator" torques, which accelerate the rotors, too, or motor "current"; by default as described, or measured.
    motor_constants: (n,), N m/A, joint torque per motor current, for effort "current".
    rotor_inertia: (n,), kg m^2, at the joints, which counts for every effort but "measured"; by default the
        description's (MJCF: armature).
    Raises ArgumentError: neither a library name nor a path, and the message lists the names; or `base` or `tip` do not
        fit, and the message lists the links; or another argument is not as above.
    Raises DataFileNotFoundError: the file does not exist.
    Raises RobotDescriptionError: the file is malformed, or a link is not physical.
    """
    if friction not in ("published", "none"):
        raise ArgumentError(f"friction: expected published or none, got {friction!r}")
    robot = read_robot(source, RobotModel, base, tip).mounted(mounting, gravity)
    robot = robot.without_friction() if friction == "none" else robot
    stated: dict[str, Any] = {"effort": effort, "motor_constants": motor_constants, "rotor_inertia": rotor_inertia}
    robot = replace(robot, **{name: value for name, value in stated.items() if value is not None})
    return attach_end_effector(robot, end_effector)
