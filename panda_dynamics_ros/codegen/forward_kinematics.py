# SPDX-License-Identifier: Apache-2.0
"""Customised forward kinematics, as expressions: the flange's pose, carried inward from frame to frame."""

from __future__ import annotations

from panda_dynamics_ros.codegen.arm import Arm
from panda_dynamics_ros.codegen.graph import Scalar
from panda_dynamics_ros.codegen.vectors import Vector, add, cross

AXES: tuple[Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def flange_pose(arm: Arm) -> list[Vector]:
    """Columns x, y, z and p of T_base_flange (document 000). From the flange inward, the wrist's constants are first.

    The third axis is the cross product of the others: six products instead of four for each joint.
    """
    x, y = (arm.flange.rotate(axis) for axis in AXES)
    p: Vector = arm.flange.translation
    for placement in [*(joint.placement for joint in reversed(arm.joints)), arm.base]:
        x, y = placement.rotate(x), placement.rotate(y)
        p = add(placement.translation, placement.rotate(p))
    return [x, y, cross(x, y), p]


def entries(columns: list[Vector]) -> list[list[Scalar]]:
    """The (4, 4) matrix of these columns."""
    rows = [[column[row] for column in columns] for row in range(3)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]
