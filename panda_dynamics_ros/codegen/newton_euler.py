# SPDX-License-Identifier: Apache-2.0
"""Customised recursive Newton-Euler (Gautier and Khalil 1988, section 11): inverse dynamics as expressions.

As in `dynamics.newton_euler`, quantities of link i are in joint frame i and moments about its origin. The angular
motion enters through U = [dw] + [w][w] (Khalil and Kleinfinger 1987), whose entries serve every product:
    f = m a + U mc,    n = mc x a + the moment of the inertia, whose terms are entries of U too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from panda_dynamics_ros.codegen.arm import Arm, Joint, Link
from panda_dynamics_ros.codegen.graph import ZERO, Scalar, Vector, add, cross, dot, scale

Matrix: TypeAlias = tuple[Vector, Vector, Vector]


class Motion(NamedTuple):
    """Of a frame: acceleration of its origin (less gravity), angular velocity, and U."""

    a: Vector
    w: Vector
    dw: Vector
    U: Matrix


def joint_torques(arm: Arm, gravity: Vector, dq: Sequence[Scalar], ddq: Sequence[Scalar]) -> list[Scalar]:
    """tau of one motion; zeros in `gravity`, `dq` and `ddq` vanish from the expressions."""
    motion = Motion(scale(-1.0, gravity), ZERO, ZERO, (ZERO, ZERO, ZERO))
    wrenches = []
    for joint, link, velocity, acceleration in zip(arm.joints, arm.links, dq, ddq, strict=True):
        motion = step_outward(joint, velocity, acceleration, motion)
        wrenches.append(link_wrench(link, motion))
    torques: list[Scalar] = []
    force, moment = ZERO, ZERO
    for joint, wrench in zip(reversed(arm.joints), reversed(wrenches), strict=True):
        force, moment = add(wrench[0], force), add(wrench[1], moment)
        torques.append(force[2] if joint.prismatic else moment[2])
        force = joint.placement.rotate(force)
        moment = add(joint.placement.rotate(moment), cross(joint.placement.translation, force))
    return torques[::-1]


def step_outward(joint: Joint, dq: Scalar, ddq: Scalar, motion: Motion) -> Motion:
    """The motion of frame i from that of frame i - 1."""
    place = joint.placement
    a = place.rotate_back(add(motion.a, times(motion.U, place.translation)))
    w, dw = place.rotate_back(motion.w), place.rotate_back(motion.dw)
    if joint.prismatic:
        twice = dq + dq  # a + 2 w x (dq z) + ddq z
        a = (a[0] + w[1] * twice, a[1] - w[0] * twice, a[2] + ddq)
    else:
        dw = (dw[0] + w[1] * dq, dw[1] - w[0] * dq, dw[2] + ddq)
        w = (w[0], w[1], w[2] + dq)
    return Motion(a, w, dw, angular(w, dw))


def angular(w: Vector, dw: Vector) -> Matrix:
    """U = [dw] + [w][w]: the acceleration of the link's point at r is a + U r."""
    (x, y, z), (dx, dy, dz) = w, dw
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return (-(yy + zz), xy - dz, xz + dy), (xy + dz, -(xx + zz), yz - dx), (xz - dy, yz + dx, -(xx + yy))


def times(U: Matrix, r: Vector) -> Vector:
    """U r."""
    return (dot(U[0], r), dot(U[1], r), dot(U[2], r))


def link_wrench(link: Link, motion: Motion) -> tuple[Vector, Vector]:
    """A link's force and moment about the joint frame's origin (De Luca, Robotics 2, slides 3 and 4)."""
    force = add(scale(link.mass, motion.a), times(motion.U, link.first_moment))
    return force, add(inertia_moment(link, motion), cross(link.first_moment, motion.a))


def inertia_moment(link: Link, motion: Motion) -> Vector:
    """I dw + w x (I w), entry by entry, of a link with ZZ = XX + YY or one that turns about z only: `canonical_form`.

    In general the first two have another term each: (ZZ - XX - YY) (w_y w_z), and its negative with w_x w_z.
    """
    xx, xy, xz, yy, yz, zz = link.inertia
    (x, y, z), dz, U = motion.w, motion.dw[2], motion.U
    return (
        xx * U[2][1] + xz * U[1][0] - xy * U[2][0] + yz * (y * y - z * z),
        -yy * U[2][0] + xy * U[2][1] - yz * U[0][1] + xz * (z * z - x * x),
        zz * dz + (yy - xx) * (x * y) + yz * U[0][2] - xz * U[1][2] + xy * (x * x - y * y),
    )
