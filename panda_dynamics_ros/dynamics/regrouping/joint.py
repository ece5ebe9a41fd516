# SPDX-License-Identifier: Apache-2.0
"""What the energy recursion needs of one joint: eqs. (17), (18) of document 004 at enough joint positions.

lambda(q) and X(q) are polynomials of degree 2 and 1 in q (sliding) or in cos q, sin q (turning), so that three or
five positions determine them: what holds at these positions holds at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.regrouping.energy import inertial_transport, kinetic_energy_gradient, twist_transport
from panda_dynamics_ros.robot.description import RobotDescription

TURNING_POSITIONS = tuple(2.0 * np.pi / 5.0 * k for k in range(5))  # rad
SLIDING_POSITIONS = (0.0, 1.0, -1.0)  # m


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint j: the placement T_{j-1}_{j} (4, 4) of its frame at zero position, and whether it slides along z."""

    placement: FloatArray
    prismatic: bool

    def in_units_of(self, length: float) -> Joint:
        """The same joint, with `length` m as the unit of length."""
        placement = self.placement.copy()
        placement[:3, 3] /= length
        return Joint(placement, self.prismatic)

    @cached_property
    def axis(self) -> FloatArray:
        """The joint's unit twist (6,) in its own frame: eqs. (7), (8), terms of the joint's velocity."""
        return np.eye(6)[2 if self.prismatic else 5]

    def placed(self, position: float) -> FloatArray:
        """T_{j-1}_{j} (4, 4) at a joint position, eq. (1)."""
        moved = np.eye(4)
        if self.prismatic:
            moved[2, 3] = position
        else:
            c, s = np.cos(position), np.sin(position)
            moved[:2, :2] = [[c, -s], [s, c]]
        return self.placement @ moved

    @cached_property
    def positions(self) -> tuple[float, ...]:
        """Zero first, and enough others to determine lambda(q)."""
        return SLIDING_POSITIONS if self.prismatic else TURNING_POSITIONS

    @cached_property
    def energy_transports(self) -> tuple[FloatArray, ...]:
        """lambda (10, 10) of eqs. (17), (18) at `positions`."""
        return tuple(inertial_transport(self.placed(position)).T for position in self.positions)

    def carried(self, twists: FloatArray) -> FloatArray:
        """Twists (6, k) of link j - 1, in frame j at each of `positions`, side by side."""
        return np.hstack([twist_transport(self.placed(position)) @ twists for position in self.positions])

    def energy_terms(self, carried: FloatArray) -> FloatArray:
        """f of eq. (17), (10, k + 1): the part along dq_j for each of the carried twists, and that along dq_j^2."""
        along_velocity = 2.0 * kinetic_energy_gradient(carried.T, self.axis)
        return np.vstack([along_velocity, kinetic_energy_gradient(self.axis, self.axis)]).T


def joints_of(robot: RobotDescription) -> tuple[Joint, ...]:
    """The joints of a robot, from base to tip."""
    return tuple(
        Joint(placement, sliding) for placement, sliding in zip(robot.placements, robot.prismatic, strict=True)
    )
