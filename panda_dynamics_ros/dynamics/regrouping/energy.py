# SPDX-License-Identifier: Apache-2.0
"""How the energies of link j follow from those of link j - 1 (Gautier and Khalil 1988, sections 4 and 7-1).

A link's energies are linear in its inertial vector: E = DE . pi and U = DU . pi, eqs. (10), (11). Twists are
(v, w), linear part first, of the joint frame's origin along its axes. The matrices in the appendix of the scan
(document 004) have errors; everything here is derived from eqs. (6), (7), (8), and a test compares it with them.

lambda(q) and X(q) of eqs. (17), (18) are polynomials of degree 2 and 1 in q (a prismatic joint) or in cos q, sin q (a
revolute one). Three or five positions therefore determine them: what holds at these positions holds at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.robot.description import RobotDescription

_UPPER = np.triu_indices(3)
_HALF_DIAGONAL = np.ones((3, 3)) - 0.5 * np.eye(3)

TURNING_POSITIONS = tuple(2.0 * np.pi / 5.0 * k for k in range(5))  # rad
SLIDING_POSITIONS = (0.0, 1.0, -1.0)  # m


def kinetic_energy_gradient(a: FloatArray, b: FloatArray) -> FloatArray:
    """DE (..., 10) of eq. (6) as a bilinear form of two twists (..., 6): that of a twist V is with a = b = V.

    In the order of the inertial vector: v.v / 2, v x w, and w_x^2 / 2, w_x w_y, w_x w_z, w_y^2 / 2, ...
    """
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vv = 0.5 * (va * vb).sum(axis=-1, keepdims=True)
    vw = 0.5 * (np.cross(va, wb) + np.cross(vb, wa))
    ww = 0.5 * (wa[..., :, None] * wb[..., None, :] + wb[..., :, None] * wa[..., None, :])
    return np.concatenate([vv, vw, (ww * _HALF_DIAGONAL)[..., _UPPER[0], _UPPER[1]]], axis=-1)


def potential_energy_gradient(gravity: FloatArray) -> FloatArray:
    """DU (10,) of a body in the base frame, eq. (9): -g for its first moment."""
    return np.concatenate(([0.0], -gravity, np.zeros(6)))


def inertial_transport(T_a_b: FloatArray) -> FloatArray:
    """Lambda (10, 10): the inertial vector of a body in frame a is Lambda times that in frame b.

    Its transpose is lambda of eqs. (17), (18): DE^j = lambda DE^{j-1} + f and DU^j = lambda DU^{j-1}. It is eq. (22)
    with the first moment and the mass: the pseudo-inertia [[S, mc], [mc', m]], S = tr(J)/2 1 - J, becomes T P T'.
    """
    transported = np.einsum("ij,kjl,ml->kim", T_a_b, UNIT_PSEUDO_INERTIAS, T_a_b)
    S = transported[:, :3, :3]
    J = np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3) - S
    return np.vstack([transported[:, 3, 3], transported[:, :3, 3].T, J[:, _UPPER[0], _UPPER[1]].T])


def twist_transport(T_a_b: FloatArray) -> FloatArray:
    """X (6, 6), eqs. (7), (8) of a joint at rest: v_b = R' (v_a + w_a x p), w_b = R' w_a."""
    R, p = T_a_b[:3, :3], T_a_b[:3, 3]
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[:3, 3:] = R.T @ [[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]]  # w x p = -p x w
    return X


def _pseudo_inertia(vector: FloatArray) -> FloatArray:
    J = np.zeros((3, 3))
    J[_UPPER] = vector[4:]
    J += np.triu(J, 1).T
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[:3, 3] = P[3, :3] = vector[1:4]
    P[3, 3] = vector[0]
    return P


UNIT_PSEUDO_INERTIAS = np.array([_pseudo_inertia(unit) for unit in np.eye(10)])


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
