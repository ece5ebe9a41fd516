# SPDX-License-Identifier: Apache-2.0
"""An arm on a base that tilts while it moves: gravity in base axes changes from sample to sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, TypeVar

from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.robot.description import PRISMATIC, TRANSLATION, RobotDescription, rotation_from_rpy

Robot = TypeVar("Robot", bound=RobotDescription)


class MovingBase(Generic[Robot]):
    """Changes the gravity of an arm, for all that compute with it at once.

    `PayloadEstimator(base.robot)`, `ArmMonitor(base.robot)` and every other user of `base.robot` follow: its `gravity`
    and its `table` are views of one array, which `set_gravity` writes to. The acceleration of the base belongs to
    gravity (an accelerometer measures both as one); the torques of its rotation are neglected: of a Panda that moves at
    1 rad/s they are 0.8 N m at 0.2 rad/s, and 1.8 N m at 0.5 rad/s (test_moving_base.py has these motions).

    Parameters
    ----------
    robot: the arm; it stays as it is.
    mounting: (3,), rad, roll, pitch and yaw of the arm's base in the frame in which `set_gravity` gets its vectors.

    Attributes
    ----------
    robot: a copy of the arm, whose gravity changes.

    Raises
    ------
    ArgumentError: `mounting` is not a finite (3,) array.
    """

    def __init__(self, robot: Robot, mounting: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        self._R_base_frame = rotation_from_rpy(checks.exactly(mounting, (3,), "mounting")).T
        self.robot = replace(robot)
        table = robot.table.copy()
        self._gravity = table[robot.n + 2, TRANSLATION:PRISMATIC]
        # Views, read-only as they were: kernels are compiled for such arrays.
        for name, view in (("table", table.view()), ("gravity", self._gravity.view())):
            view.setflags(write=False)
            self.robot.__dict__[name] = view

    def set_gravity(self, gravity: ArrayLike) -> None:
        """From now on gravity is `gravity` (3,), m/s^2, in the frame in which the base is mounted.

        Raises
        ------
        ArgumentError: it is not a finite (3,) array.
        """
        self._gravity[:] = self._R_base_frame @ checks.exactly(gravity, (3,), "gravity")
