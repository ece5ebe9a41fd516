# SPDX-License-Identifier: Apache-2.0
"""The functions that can be generated: their arguments, and their results as expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from panda_dynamics_ros.codegen.arm import Arm
from panda_dynamics_ros.codegen.composite_bodies import mass_matrix
from panda_dynamics_ros.codegen.graph import ZERO, Scalar, Vector, add, cross
from panda_dynamics_ros.codegen.newton_euler import joint_torques


@dataclass(frozen=True)
class Function:
    """A function of the joint state.

    Attributes
    ----------
    summary: one line, for the generated source.
    arguments: each an array of n numbers.
    result: name of the array that it gives; `square` ones are matrices.
    rows: the result as expressions of `q1`, `dq1`, `ddq1`, ..: one row, or the rows of a matrix.
    """

    summary: str
    arguments: tuple[str, ...]
    result: str
    rows: Callable[[Arm], list[list[Scalar]]]

    @property
    def square(self) -> bool:
        """Whether the result is a matrix."""
        return self.result.isupper()


def _symbols(arm: Arm, name: str) -> list[Scalar]:
    return [arm.graph.symbol(f"{name}{i + 1}") for i in range(arm.n)]


def _inverse_dynamics(arm: Arm) -> list[list[Scalar]]:
    return [joint_torques(arm, arm.gravity, _symbols(arm, "dq"), _symbols(arm, "ddq"))]


def _gravity_torques(arm: Arm) -> list[list[Scalar]]:
    torques = joint_torques(arm, arm.gravity, [0.0] * arm.n, [0.0] * arm.n)
    if not arm.joints[0].prismatic and arm.gravity[:2] == (0.0, 0.0):
        torques[0] = (
            0.0  # a turn about a vertical axis lifts nothing; in the recursion, this zero would be a sum of terms
        )
    return [torques]


def _coriolis_torques(arm: Arm) -> list[list[Scalar]]:
    return [joint_torques(arm, ZERO, _symbols(arm, "dq"), [0.0] * arm.n)]


def flange_pose(arm: Arm) -> list[Vector]:
    """Columns x, y, z and p of T_base_flange (document 000).

    The product starts at the flange, where most entries are constant. The third axis is the cross product of the
    others: six products instead of four for each joint.
    """
    axes: tuple[Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x, y = (arm.flange.rotate(axis) for axis in axes)
    p: Vector = arm.flange.translation
    for placement in [*(joint.placement for joint in reversed(arm.joints)), arm.base]:
        x, y = placement.rotate(x), placement.rotate(y)
        p = add(placement.translation, placement.rotate(p))
    return [x, y, cross(x, y), p]


def _pose(arm: Arm) -> list[list[Scalar]]:
    columns = flange_pose(arm)
    rows = [[column[row] for column in columns] for row in range(3)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


FUNCTIONS: dict[str, Function] = {
    "gravity_torques": Function("torques that hold the arm still, g(q)", ("q",), "tau", _gravity_torques),
    "coriolis_torques": Function(
        "Coriolis and centrifugal torques, C(q, dq) dq", ("q", "dq"), "tau", _coriolis_torques
    ),
    "inverse_dynamics": Function(
        "tau = M(q) ddq + C(q, dq) dq + g(q), rigid body only", ("q", "dq", "ddq"), "tau", _inverse_dynamics
    ),
    "mass_matrix": Function("M(q), symmetric", ("q",), "M", mass_matrix),
    "pose": Function("T_base_flange", ("q",), "T", _pose),
}
