# SPDX-License-Identifier: Apache-2.0
"""Pose, gravity and Coriolis torques of one state in one compiled call, as a 1 kHz loop needs them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kinematics import frame_sample, store_transform
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_sample
from panda_dynamics_ros.dynamics.vectors import compiled
from panda_dynamics_ros.robot import RobotDescription


class RobotState(NamedTuple):
    """T_base_ee (4, 4); gravity and Coriolis torques (n,), N m."""

    T_base_ee: FloatArray
    gravity_torques: FloatArray
    coriolis_torques: FloatArray


@compiled
def robot_state_kernel(table, q, dq):
    """T_base_ee, gravity and Coriolis torques of one state (n,)."""
    n = q.shape[0]
    T, gravity, coriolis = np.empty((4, 4)), np.empty(n), np.empty(n)
    zero, wrenches = np.zeros(n), np.empty((n, 6))
    R, p = frame_sample(table, n, n + 1, q)
    store_transform(R, p, T)
    newton_euler_sample(table, 1.0, q, zero, zero, wrenches, gravity)
    newton_euler_sample(table, 0.0, q, dq, zero, wrenches, coriolis)
    return T, gravity, coriolis


def robot_state(robot: RobotDescription, q: FloatArray, dq: FloatArray) -> RobotState:
    """`pose(robot, q, "ee")`, `gravity_torques` and `coriolis_torques` of one state at once.

    Parameters
    ----------
    q, dq: (n,), rad and rad/s: float64 arrays that were checked before (`JointMapping`), since this is the
        inner loop; the functions named above check for themselves.
    """
    return RobotState(*robot_state_kernel(robot.table, q, dq))
