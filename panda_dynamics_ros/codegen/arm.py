# SPDX-License-Identifier: Apache-2.0
"""An arm as expressions: placements as chains of elementary rotations, links by as few numbers as possible.

A placement of modified DH form costs two planar turns and up to two lengths (Gautier and Khalil 1988, section 2).

The base parameters set the regrouped parameters to zero: m, mZ and YY of a link that turns (section 6 there).
Part of a link's XX + YY may then be given back to it, which changes no torque, eq. (20). The part that makes
ZZ = XX + YY, the inertia of a flat body, saves a product in the moment of each link (see `algorithms`).
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen.graph import Expression, Graph, Scalar, Turn, Vector
from panda_dynamics_ros.dynamics.base_parameters import XX, YY, ZZ, base_parameters
from panda_dynamics_ros.dynamics.kernels.vectors import add, cross, scale
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import inertial_transport

# Entries of rotations, lengths and gravity this close to an integer are rounding: the cosine of 90 degrees is 6e-17.
EXACT = 4e-15
FLAT = np.eye(10)[XX] + np.eye(10)[YY]

# Angles that are nearly right are not taken for right angles: the regrouping is exact, and only costs operations.
ROUNDING = 1e-13

Six: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
"""xx, xy, xz, yy, yz, zz of a symmetric matrix."""


class Placement(NamedTuple):
    """Where a frame is in its parent: p, and R as turns, from the parent's axes inward; whether its joint slides."""

    turns: tuple[Turn, ...]
    translation: Vector
    prismatic: bool = False

    def rotate(self, a: Vector) -> Vector:
        """R a: from this frame's axes to its parent's."""
        for turn in reversed(self.turns):
            a = turn.rotate(a)
        return a

    def rotate_back(self, a: Vector) -> Vector:
        """R' a: from the parent's axes to this frame's."""
        for turn in self.turns:
            a = turn.rotate_back(a)
        return a

    def wrench_in_parent(self, force: Vector, moment: Vector) -> tuple[Vector, Vector]:
        """Force, and moment about the origin, in the parent's axes and about its origin."""
        force = self.rotate(force)
        return force, add(self.rotate(moment), cross(self.translation, force))


class Body(NamedTuple):
    """Mass, first moment, inertia about the origin of the frame that it is given in; of a link, zero where the motion
    does not need them."""

    mass: Scalar
    first_moment: Vector
    inertia: Six


class Arm(NamedTuple):
    """All that the algorithms of this room need: placements of the joints at `qi`, and of the flange."""

    graph: Graph
    joints: tuple[Placement, ...]
    flange: Placement
    links: tuple[Body, ...]
    gravity: Vector


def arm_of(robot: RobotDescription) -> Arm:
    """A robot as expressions of the symbols `q1` .. `qn`: fewest parameters."""
    graph = Graph()
    return Arm(
        graph=graph,
        joints=tuple(
            joint_placement(graph, T, sliding, graph.symbol(f"q{i}"))
            for i, (T, sliding) in enumerate(zip(robot.placements, robot.prismatic, strict=True), start=1)
        ),
        flange=fixed_placement(robot.T_joint_flange),
        links=tuple(
            Body(row[0], (row[1], row[2], row[3]), (row[4], row[5], row[6], row[7], row[8], row[9]))
            for row in cheapest_parameters(robot).tolist()
        ),
        gravity=_exact_vector(robot.gravity),
    )


def joint_placement(graph: Graph, T: FloatArray, sliding: bool, q: Expression) -> Placement:
    """A joint frame in its parent's, from its placement at zero position (Gautier and Khalil 1988, eq. (1))."""
    fixed = fixed_placement(T)
    if sliding:
        return Placement(fixed.turns, add(fixed.translation, scale(q, fixed.rotate((0.0, 0.0, 1.0)))), prismatic=True)
    _, c, s = elementary_turns(T[:3, :3])[-1]
    if c in (0.0, 1.0, -1.0):  # Rz(b + q) for a constant b: quarter turns cost nothing, others an addition
        cosine, sine = graph.cosine(q), graph.sine(q)
        turn = Turn(2, c * cosine - s * sine, s * cosine + c * sine)
    else:
        angle = q + math.atan2(s, c)
        turn = Turn(2, graph.cosine(angle), graph.sine(angle))
    return Placement((*fixed.turns[:-1], turn), fixed.translation)


def fixed_placement(T: FloatArray) -> Placement:
    """A constant transform (4, 4)."""
    return Placement(tuple(Turn(*turn) for turn in elementary_turns(T[:3, :3])), _exact_vector(T[:3, 3]))


def elementary_turns(R: FloatArray) -> list[tuple[int, float, float]]:
    """Axis, cosine and sine of each turn in R = Rz(a) Rx(alpha) Rz(b); of modified DH parameters, a is zero."""
    x, y = map(_exact, R[:2, 2])
    sine, ca, sa = -y if x == 0.0 else math.hypot(x, y), 1.0, 0.0
    if sine != 0.0:
        ca, sa = _exact(-y / sine), _exact(x / sine)
    # b from what a and alpha leave: of nearly parallel axes, a alone is ill determined.
    towards_x = np.array([ca, sa, 0.0]) @ R
    return [(2, ca, sa), (0, _exact(R[2, 2]), _exact(sine)), (2, _exact(towards_x[0]), _exact(-towards_x[1]))]


def _exact(value: float) -> float:
    nearest = float(round(value))
    return nearest if abs(value - nearest) < EXACT else float(value)


def _exact_vector(vector: FloatArray) -> Vector:
    x, y, z = map(_exact, vector)
    return (x, y, z)


def cheapest_parameters(robot: RobotDescription) -> FloatArray:
    """Inertial vectors (n, 10) of the links, with as few non-zero entries as possible and the same torques.

    ZZ = XX + YY holds for every link but the first, which turns about z at most.
    """
    base = base_parameters(robot, tolerance=ROUNDING)

    def regrouped(vectors: FloatArray) -> FloatArray:
        """The base parameters of these links, each in its representative's place."""
        vector, values = vectors.ravel(), np.zeros(vectors.size)
        sums = base.mapping @ vector
        # A sum that is zero but for rounding is zero.
        certain = np.abs(sums) > 1e-15 * (np.abs(base.mapping) @ np.abs(vector))
        values[list(base.columns)] = np.where(certain, sums, 0.0)
        return values.reshape(-1, 10)

    links = regrouped(robot.inertial_vector.reshape(-1, 10))
    for j in range(robot.n - 1, 0, -1):
        if robot.prismatic[j]:
            continue  # its inertia is zero, regrouped to the link before
        share = 0.5 * (links[j, ZZ] - links[j, XX] - links[j, YY]) * FLAT
        taken = np.zeros_like(links)
        taken[j - 1] = inertial_transport(robot.placements[j]) @ share
        links -= regrouped(taken)
        links[j] += share
    return links
