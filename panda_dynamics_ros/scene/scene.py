# SPDX-License-Identifier: Apache-2.0
"""A scene: shapes in the arm's frames, and where those frames are at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import gravity_torques, pose
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.scene.arm import arm_shapes
from panda_dynamics_ros.scene.payload import payload_shapes
from panda_dynamics_ros.scene.shapes import Shape
from panda_dynamics_ros.scene.torques import torque_shapes
from panda_dynamics_ros.scene.wrench import wrench_shapes


@dataclass(frozen=True, eq=False)
class Scene:
    """`frames`: T_base_frame (4, 4) by name; `shapes`: each in one of these frames, names distinct."""

    frames: Mapping[str, FloatArray]
    shapes: tuple[Shape, ...]

    def place(self, shape: Shape) -> FloatArray:
        """T_base_shape, (4, 4)."""
        T: FloatArray = self.frames[shape.frame] @ shape.T
        return T


class ArmScene:
    """Makes the scenes of one arm.

    Parameters
    ----------
    robot: the arm's model, with the end effector to show.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._robot, self._arm = robot, arm_shapes(robot)

    def at(self, q: ArrayLike, estimate: PayloadEstimate | None = None, wrench: ArrayLike | None = None) -> Scene:
        """Arm with gravity torques at joint positions q (n,), rad; payload and contact where given.

        Parameters
        ----------
        wrench: (6,), N and N m, force first, that acts on the flange at its origin, in base axes.

        Raises
        ------
        ArgumentError: `q` is not a finite (n,) array, or `wrench` not a finite (6,) one.
        """
        robot, frames = self._robot, frame_poses(self._robot, q)
        torques = torque_shapes(robot, gravity_torques(robot, q))
        carried = payload_shapes(estimate) if estimate is not None else ()
        touching = wrench_shapes(wrench, frames["flange"][:3, 3]) if wrench is not None else ()
        return Scene(frames, (*self._arm, *torques, *carried, *touching))


def frame_poses(robot: RobotDescription, q: ArrayLike) -> dict[str, FloatArray]:
    """T_base_frame (4, 4) of every frame of the robot at joint positions q (n,), rad."""
    return {frame: pose(robot, q, frame) for frame in robot.frames}
