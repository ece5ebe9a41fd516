# SPDX-License-Identifier: Apache-2.0
"""Customised mass matrix by composite rigid bodies (Walker and Orin 1982), as expressions.

Body i is link i with all links beyond, at their present position. M_ij for i <= j is joint i's share of the wrench that
a unit acceleration of joint j asks of body j: it needs no velocity and no acceleration.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from panda_dynamics_ros.codegen.arm import Arm, Joint, Link, Placement
from panda_dynamics_ros.codegen.graph import Scalar, Turn, Vector, add, cross, dot, scale

Six: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]


class Body(NamedTuple):
    """Mass, first moment, inertia (xx, xy, xz, yy, yz, zz) about the origin of the frame that it is given in."""

    mass: Scalar
    first_moment: Vector
    inertia: Six


def mass_matrix(arm: Arm) -> list[list[Scalar]]:
    """M, symmetric: M[i][j] and M[j][i] are the same expression."""
    M: list[list[Scalar]] = [[0.0] * arm.n for _ in range(arm.n)]
    body = Body(0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for j in range(arm.n - 1, -1, -1):
        body = with_link(arm.links[j], body)
        force, moment = unit_acceleration_wrench(arm.joints[j], body)
        for i in range(j, -1, -1):
            joint = arm.joints[i]
            M[i][j] = M[j][i] = force[2] if joint.prismatic else moment[2]
            force = joint.placement.rotate(force)
            moment = add(joint.placement.rotate(moment), cross(joint.placement.translation, force))
        body = in_parent(arm.joints[j].placement, body)
    return M


def unit_acceleration_wrench(joint: Joint, body: Body) -> tuple[Vector, Vector]:
    """Force and moment for ddq = 1 at rest: of a slide (m z, mc x z), of a turn (z x mc, I z)."""
    mx, my, _ = body.first_moment
    _, _, xz, _, yz, zz = body.inertia
    if joint.prismatic:
        return (0.0, 0.0, body.mass), (my, -mx, 0.0)
    return (-my, mx, 0.0), (xz, yz, zz)


def with_link(link: Link, body: Body) -> Body:
    """The body and a link, both in the link's frame."""
    xx, xy, xz, yy, yz, zz = (a + b for a, b in zip(link.inertia, body.inertia, strict=True))
    return Body(link.mass + body.mass, add(link.first_moment, body.first_moment), (xx, xy, xz, yy, yz, zz))


def in_parent(placement: Placement, body: Body) -> Body:
    """The body in the parent's frame: turned, then moved by p (Steiner's theorem about an origin).

    With c = R mc: I' = R I R' + 2 (c.p) 1 - c p' - p c' + m (p.p 1 - p p'), which is I'' below with h = c + m p / 2.
    """
    c, inertia = body.first_moment, body.inertia
    for turn in reversed(placement.turns):
        c, inertia = turn.rotate(c), turned_inertia(turn, inertia)
    p = placement.translation
    h = add(c, scale(0.5, scale(body.mass, p)))
    twice = add(h, h)
    diagonal = dot(twice, p)
    xx, xy, xz, yy, yz, zz = inertia
    moved = (
        xx + (diagonal - twice[0] * p[0]), xy - (h[0] * p[1] + h[1] * p[0]), xz - (h[0] * p[2] + h[2] * p[0]),
        yy + (diagonal - twice[1] * p[1]), yz - (h[1] * p[2] + h[2] * p[1]),
        zz + (diagonal - twice[2] * p[2]),
    )  # fmt: skip
    return Body(body.mass, add(c, scale(body.mass, p)), moved)


def turned_inertia(turn: Turn, inertia: Six) -> Six:
    """R I R' of a turn about z (or x, with the axes renamed): eight products.

    With t = s (xx - yy) + 2 c xy:  xx' = xx - s t,  yy' = yy + s t,  xy' = c t - xy.
    """
    xx, xy, xz, yy, yz, zz = inertia
    if turn.axis == 0:  # y, z, x in place of x, y, z
        yy, yz, xy, zz, xz, xx = turned_inertia(Turn(2, turn.cosine, turn.sine), (yy, yz, xy, zz, xz, xx))
        return xx, xy, xz, yy, yz, zz
    c, s = turn.cosine, turn.sine
    t = s * (xx - yy) + c * (xy + xy)
    return xx - s * t, c * t - xy, c * xz - s * yz, yy + s * t, s * xz + c * yz, zz
