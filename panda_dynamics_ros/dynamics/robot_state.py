# SPDX-License-Identifier: Apache-2.0
"""What a control loop needs of one state in one compiled call: pose, gravity and Coriolis torques."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels import chain
from panda_dynamics_ros.dynamics.kernels.batch import finite, is_one_state
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.dynamics.kernels.vectors import along
from panda_dynamics_ros.dynamics.kinematics import beyond_joints, store_transform
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_sample
from panda_dynamics_ros.robot.description import RobotDescription


class RobotState(NamedTuple):
    """T_base_ee (4, 4); gravity and Coriolis torques (n,), N m."""

    T_base_ee: FloatArray
    gravity_torques: FloatArray
    coriolis_torques: FloatArray


@compiled
def robot_state_of_one(table, q, dq, T, gravity, coriolis):
    """The fields of `RobotState` for q and dq (n,); False if they are not finite."""
    n = chain.joint_count(table)
    frames, work, rest = np.empty((n, 12)), np.empty((n, 6)), np.zeros(n)
    chain.place_joints(table, q, frames)
    newton_euler_sample(table, 1.0, frames, rest, rest, work, gravity)
    newton_euler_sample(table, 0.0, frames, dq, rest, work, coriolis)
    X = chain.BASE
    for i in range(n):
        X = along(X, chain.placed(frames, i))
    store_transform(beyond_joints(table, n + 1, X), T)
    return finite(q) and finite(dq)


def robot_state(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> RobotState:
    """`pose` of the end effector, `gravity_torques` and `coriolis_torques` of one state at once.

    q, dq: (n,), rad and rad/s.
    Returns RobotState: what those functions return.
    Raises ArgumentError: an argument is not finite, or not of shape (n,).

    Reference: De Luca, Robotics 2, slide 5 (document 003).
    """
    n = robot.n
    T, gravity, coriolis = np.empty((4, 4)), np.empty(n), np.empty(n)
    if not (is_one_state(robot, (q, dq)) and robot_state_of_one(robot.table, q, dq, T, gravity, coriolis)):
        q, dq = (checks.exactly(value, (n,), name).copy() for value, name in ((q, "q"), (dq, "dq")))
        robot_state_of_one(robot.table, q, dq, T, gravity, coriolis)
    # The named tuple's own constructor is a Python function and would add a tenth to the time of this call.
    return tuple.__new__(RobotState, (T, gravity, coriolis))
