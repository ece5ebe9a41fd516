# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot and a state: kinematics, torques, matrices, regressors.

Joint arrays that are not finite, or not of shape (..., n), are an `ArgumentError`.
"""

from panda_dynamics_ros.dynamics.base_parameters import BaseParameters, base_parameters
from panda_dynamics_ros.dynamics.effort import link_side_torques
from panda_dynamics_ros.dynamics.friction import friction_torques, presliding_states
from panda_dynamics_ros.dynamics.kinematics import com_jacobian, jacobian, pose
from panda_dynamics_ros.dynamics.mass_matrix import coriolis_matrix, forward_dynamics, mass_matrix
from panda_dynamics_ros.dynamics.newton_euler import coriolis_torques, gravity_torques, inverse_dynamics
from panda_dynamics_ros.dynamics.regressor import payload_regressor, regressor
from panda_dynamics_ros.dynamics.robot_state import RobotState, robot_state

__all__ = [
    "BaseParameters",
    "RobotState",
    "base_parameters",
    "com_jacobian",
    "coriolis_matrix",
    "coriolis_torques",
    "forward_dynamics",
    "friction_torques",
    "gravity_torques",
    "inverse_dynamics",
    "jacobian",
    "link_side_torques",
    "mass_matrix",
    "payload_regressor",
    "pose",
    "presliding_states",
    "regressor",
    "robot_state",
]
