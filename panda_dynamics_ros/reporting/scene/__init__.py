# SPDX-License-Identifier: Apache-2.0
"""The arm, its torques, its payload and contacts as coloured primitives in the arm's frames.

A scene is made here, and drawn as RViz markers (`nodes/`), in a web page or as a picture (`reporting/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import gravity_torques, pose
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.reporting.scene.arm import arm_primitives
from panda_dynamics_ros.reporting.scene.forces import torque_primitives, wrench_primitives
from panda_dynamics_ros.reporting.scene.payload import payload_primitives
from panda_dynamics_ros.reporting.scene.primitives import Primitive
from panda_dynamics_ros.robot import RobotDescription

__all__ = ["ArmScene", "Scene"]


@dataclass(frozen=True, eq=False)
class Scene:
    """`frames`: T_base_frame (4, 4) by name; `primitives`: each in one of these frames, with distinct names."""

    frames: Mapping[str, FloatArray]
    primitives: tuple[Primitive, ...]

    def place(self, primitive: Primitive) -> FloatArray:
        """T_base_primitive, (4, 4)."""
        T: FloatArray = self.frames[primitive.frame] @ primitive.T
        return T


class ArmScene:
    """Makes the scenes of one arm, `robot`, with the end effector to show."""

    def __init__(self, robot: RobotDescription) -> None:
        self._robot, self._arm = robot, arm_primitives(robot)

    def at(self, q: ArrayLike, estimate: PayloadEstimate | None = None, wrench: ArrayLike | None = None) -> Scene:
        """Arm with gravity torques at joint positions q (n,), rad; payload and contact where given.

        `wrench` (6,), N and N m, force first, acts on the flange at its origin, in base axes. ArgumentError: `q` or
        `wrench` is not finite or of another shape.
        """
        robot = self._robot
        frames = {frame: pose(robot, q, frame) for frame in robot.frames}
        torques = torque_primitives(robot, gravity_torques(robot, q))
        carried = payload_primitives(estimate) if estimate is not None else ()
        touching = wrench_primitives(wrench, frames["flange"][:3, 3]) if wrench is not None else ()
        return Scene(frames, (*self._arm, *torques, *carried, *touching))
