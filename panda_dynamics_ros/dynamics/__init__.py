# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot and a state: kinematics, torques, matrices, regressors.

Joint arrays that are not finite, or not of shape (..., n), are an `ArgumentError`.
"""

from panda_dynamics_ros.dynamics.base_parameters import BaseParameters as BaseParameters
from panda_dynamics_ros.dynamics.base_parameters import base_parameters as base_parameters
from panda_dynamics_ros.dynamics.friction import friction_torques as friction_torques
from panda_dynamics_ros.dynamics.friction import presliding_states as presliding_states
from panda_dynamics_ros.dynamics.kinematics import com_jacobian as com_jacobian
from panda_dynamics_ros.dynamics.kinematics import jacobian as jacobian
from panda_dynamics_ros.dynamics.kinematics import pose as pose
from panda_dynamics_ros.dynamics.mass_matrix import coriolis_matrix as coriolis_matrix
from panda_dynamics_ros.dynamics.mass_matrix import forward_dynamics as forward_dynamics
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix as mass_matrix
from panda_dynamics_ros.dynamics.newton_euler import coriolis_torques as coriolis_torques
from panda_dynamics_ros.dynamics.newton_euler import gravity_torques as gravity_torques
from panda_dynamics_ros.dynamics.newton_euler import inverse_dynamics as inverse_dynamics
from panda_dynamics_ros.dynamics.newton_euler import link_side_torques as link_side_torques
from panda_dynamics_ros.dynamics.regressor import payload_regressor as payload_regressor
from panda_dynamics_ros.dynamics.regressor import regressor as regressor
from panda_dynamics_ros.dynamics.robot_state import RobotState as RobotState
from panda_dynamics_ros.dynamics.robot_state import robot_state as robot_state
