# SPDX-License-Identifier: Apache-2.0
"""An arm as expressions: placements as chains of elementary rotations, links by as few numbers as possible."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen.canonical_form import EXACT, cheapest_parameters, with_modified_dh_frames
from panda_dynamics_ros.codegen.graph import Expression, Graph, Turn, Vector, add, scale
from panda_dynamics_ros.robot import RobotDescription


@dataclass(frozen=True)
class Placement:
    """Where a frame is in its parent: p, and R as turns, from the parent's axes inward."""

    turns: tuple[Turn, ...]
    translation: Vector

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


@dataclass(frozen=True)
class Link:
    """Mass, first moment and inertia about the joint frame's origin; zero where the motion does not need them."""

    mass: float
    first_moment: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Joint:
    """The placement of a joint's frame in its parent's at its position `qi`, and whether it slides along z."""

    placement: Placement
    prismatic: bool


@dataclass(frozen=True)
class Arm:
    """All that the algorithms of this room need; `base` and `flange` are constant placements at the two ends."""

    graph: Graph
    base: Placement
    joints: tuple[Joint, ...]
    flange: Placement
    links: tuple[Link, ...]
    gravity: Vector

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)


def arm_of(robot: RobotDescription, graph: Graph) -> Arm:
    """A robot as expressions of the symbols `q1` .. `qn`: modified DH frames, fewest parameters."""
    reframed, T_base_first = with_modified_dh_frames(robot)
    size = float(np.linalg.norm(reframed.gravity))
    return Arm(
        graph=graph,
        base=fixed_placement(T_base_first),
        joints=tuple(
            Joint(joint_placement(graph, T, sliding, graph.symbol(f"q{i}")), sliding)
            for i, (T, sliding) in enumerate(zip(reframed.placements, reframed.prismatic, strict=True), start=1)
        ),
        flange=fixed_placement(reframed.T_joint_flange),
        links=tuple(
            Link(row[0], (row[1], row[2], row[3]), (row[4], row[5], row[6], row[7], row[8], row[9]))
            for row in cheapest_parameters(reframed).tolist()
        ),
        gravity=_exact_vector(reframed.gravity, EXACT * size),
    )


def joint_placement(graph: Graph, T: FloatArray, sliding: bool, q: Expression) -> Placement:
    """A joint frame in its parent's, from its placement at zero position (Gautier and Khalil 1988, eq. (1))."""
    fixed = fixed_placement(T)
    if sliding:
        axis = fixed.rotate((0.0, 0.0, 1.0))
        return Placement(fixed.turns, add(fixed.translation, scale(q, axis)))
    _, cosine, sine = elementary_turns(T[:3, :3])[-1]
    return Placement((*fixed.turns[:-1], _turn_about_joint(graph, q, cosine, sine)), fixed.translation)


def fixed_placement(T: FloatArray) -> Placement:
    """A constant transform (4, 4)."""
    turns = elementary_turns(T[:3, :3])
    return Placement(tuple(Turn(*turn) for turn in turns), _exact_vector(T[:3, 3], EXACT))


def elementary_turns(R: FloatArray) -> list[tuple[int, float, float]]:
    """Axis, cosine and sine of each turn in R = Rz(a) Rx(alpha) Rz(b); of modified DH parameters, a is zero."""
    sine = math.hypot(_exact(R[0, 2]), _exact(R[1, 2]))
    ca, sa = 1.0, 0.0
    if sine > 0.0:
        if _exact(R[0, 2]) == 0.0:
            sine = -R[1, 2]
        ca, sa = _exact(-R[1, 2] / sine), _exact(R[0, 2] / sine)
    # b from what a and alpha leave: of nearly parallel axes, a alone is ill determined.
    towards_x = np.array([ca, sa, 0.0]) @ R
    return [(2, ca, sa), (0, _exact(R[2, 2]), _exact(sine)), (2, _exact(towards_x[0]), _exact(-towards_x[1]))]


def _turn_about_joint(graph: Graph, q: Expression, c: float, s: float) -> Turn:
    """Rz(b + q) for the constant angle b of cosine c and sine s; quarter turns cost nothing, others an addition."""
    if c in (0.0, 1.0, -1.0):
        cosine, sine = graph.cosine(q), graph.sine(q)
        return Turn(2, c * cosine - s * sine, s * cosine + c * sine)
    angle = q + math.atan2(s, c)
    return Turn(2, graph.cosine(angle), graph.sine(angle))


def _exact(value: float) -> float:
    nearest = float(round(value))
    return nearest if abs(value - nearest) < EXACT else float(value)


def _exact_vector(vector: FloatArray, threshold: float) -> Vector:
    x, y, z = (float(value) if abs(value) > threshold else 0.0 for value in vector)
    return (x, y, z)
