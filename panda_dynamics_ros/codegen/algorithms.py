# SPDX-License-Identifier: Apache-2.0
"""The functions that can be generated, as expressions: customised recursions (Gautier and Khalil 1988, section 11).

Inverse dynamics by the recursion of Newton and Euler: as in `dynamics.newton_euler`, quantities of link i are in joint
frame i and moments about its origin. The angular motion enters through U = [dw] + [w][w] (Khalil and Kleinfinger 1987),
whose entries serve every product:
    f = m a + U mc,    n = mc x a + the moment of the inertia, whose terms are entries of U too.

Mass matrix by composite rigid bodies (Walker and Orin 1982): body i is link i with all links beyond, at their present
position. M_ij for i <= j is joint i's share of the wrench that a unit acceleration of joint j asks of body j: it needs
no velocity and no acceleration.
"""

from collections.abc import Callable
from typing import NamedTuple

from panda_dynamics_ros.codegen.arm import Arm, Body, Placement, Six
from panda_dynamics_ros.codegen.graph import Scalar, Turn, Vector
from panda_dynamics_ros.dynamics.kernels.vectors import ZERO, add, cross, dot, rotate, scale


class Motion(NamedTuple):
    """Of a frame: acceleration of its origin (less gravity), angular velocity and acceleration, and U by rows."""

    a: Vector
    w: Vector
    dw: Vector
    U: tuple[Scalar, ...]


def joint_torques(arm: Arm, gravity: Vector, dq: str = "", ddq: str = "") -> list[list[Scalar]]:
    """tau as one row; `dq`, `ddq`: what the names of their symbols begin with; without one they are zero and vanish."""
    motion = Motion(scale(-1.0, gravity), ZERO, ZERO, (0.0,) * 9)
    velocities, accelerations = (
        [arm.graph.symbol(f"{name}{i + 1}") if name else 0.0 for i in range(len(arm.joints))] for name in (dq, ddq)
    )
    wrenches = []
    for joint, link, velocity, acceleration in zip(arm.joints, arm.links, velocities, accelerations, strict=True):
        motion = step_outward(joint, velocity, acceleration, motion)
        wrenches.append(link_wrench(link, motion))
    torques: list[Scalar] = []
    force: Vector = ZERO
    moment: Vector = ZERO
    for joint, wrench in zip(reversed(arm.joints), reversed(wrenches), strict=True):
        force, moment = add(wrench[0], force), add(wrench[1], moment)
        torques.append(force[2] if joint.prismatic else moment[2])
        force, moment = joint.wrench_in_parent(force, moment)
    first = arm.joints[0]
    if not dq and not first.prismatic and first.turns[1].sine == 0.0 and gravity[:2] == (0.0, 0.0):
        torques[-1] = 0.0  # a turn about a vertical axis lifts nothing; as the recursion has it, it is a sum of terms
    return [torques[::-1]]


def step_outward(joint: Placement, dq: Scalar, ddq: Scalar, motion: Motion) -> Motion:
    """The motion of frame i from that of frame i - 1."""
    a = joint.rotate_back(add(motion.a, rotate(motion.U, joint.translation)))
    w, dw = joint.rotate_back(motion.w), joint.rotate_back(motion.dw)
    if joint.prismatic:
        twice = dq + dq  # a + 2 w x (dq z) + ddq z
        a = (a[0] + w[1] * twice, a[1] - w[0] * twice, a[2] + ddq)
    else:
        dw = (dw[0] + w[1] * dq, dw[1] - w[0] * dq, dw[2] + ddq)
        w = (w[0], w[1], w[2] + dq)
    (x, y, z), (dx, dy, dz) = w, dw
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    # U = [dw] + [w][w]: the acceleration of the link's point at r is a + U r.
    U = (-(yy + zz), xy - dz, xz + dy, xy + dz, -(xx + zz), yz - dx, xz - dy, yz + dx, -(xx + yy))
    return Motion(a, w, dw, U)


def link_wrench(link: Body, motion: Motion) -> tuple[Vector, Vector]:
    """A link's force and moment about the joint frame's origin (De Luca, Robotics 2, slides 3 and 4).

    I dw + w x (I w) is written entry by entry, for a link with ZZ = XX + YY or one that turns about z only: `arm`. In
    general the first two have another term each: (ZZ - XX - YY) (w_y w_z), and its negative with w_x w_z.
    """
    xx, xy, xz, yy, yz, zz = link.inertia
    (x, y, z), (_, U_xy, U_xz, U_yx, _, U_yz, U_zx, U_zy, _) = motion.w, motion.U
    turning = (
        xx * U_zy + xz * U_yx - xy * U_zx + yz * (y * y - z * z),
        -yy * U_zx + xy * U_zy - yz * U_xy + xz * (z * z - x * x),
        zz * motion.dw[2] + (yy - xx) * (x * y) + yz * U_xz - xz * U_yz + xy * (x * x - y * y),
    )
    force = add(scale(link.mass, motion.a), rotate(motion.U, link.first_moment))
    return force, add(turning, cross(link.first_moment, motion.a))


def mass_matrix(arm: Arm) -> list[list[Scalar]]:
    """M, symmetric: M[i][j] and M[j][i] are the same expression."""
    M: list[list[Scalar]] = [[0.0] * len(arm.joints) for _ in arm.joints]
    body = Body(0.0, ZERO, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for j in range(len(arm.joints) - 1, -1, -1):
        link = arm.links[j]
        xx, xy, xz, yy, yz, zz = (a + b for a, b in zip(link.inertia, body.inertia, strict=True))
        mass, (mx, my, mz) = link.mass + body.mass, add(link.first_moment, body.first_moment)
        # The wrench for ddq = 1 at rest: of a slide (m z, mc x z), of a turn (z x mc, I z).
        force: Vector = (0.0, 0.0, mass) if arm.joints[j].prismatic else (-my, mx, 0.0)
        moment: Vector = (my, -mx, 0.0) if arm.joints[j].prismatic else (xz, yz, zz)
        for i in range(j, -1, -1):
            joint = arm.joints[i]
            M[i][j] = M[j][i] = force[2] if joint.prismatic else moment[2]
            force, moment = joint.wrench_in_parent(force, moment)
        body = in_parent(arm.joints[j], Body(mass, (mx, my, mz), (xx, xy, xz, yy, yz, zz)))
    return M


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


class Function(NamedTuple):
    """A function of the joint state.

    summary: one line, for the generated source.
    arguments: each an array of n numbers.
    result: name of the array that it gives; those of matrices are capitals.
    rows: the result as expressions of `q1`, `dq1`, `ddq1`, ..: one row, or the rows of a matrix.
    """

    summary: str
    arguments: tuple[str, ...]
    result: str
    rows: Callable[[Arm], list[list[Scalar]]]


def flange_pose(arm: Arm) -> list[list[Scalar]]:
    """T_base_flange (document 000).

    The product starts at the flange, where most entries are constant. The third axis is the cross product of the
    others: six products instead of four for each joint.
    """
    x, y = arm.flange.rotate((1.0, 0.0, 0.0)), arm.flange.rotate((0.0, 1.0, 0.0))
    p: Vector = arm.flange.translation
    for placement in reversed(arm.joints):
        x, y = placement.rotate(x), placement.rotate(y)
        p = add(placement.translation, placement.rotate(p))
    return [*(list(row) for row in zip(x, y, cross(x, y), p, strict=True)), [0.0, 0.0, 0.0, 1.0]]


FUNCTIONS: dict[str, Function] = {
    "gravity_torques": Function(
        "torques that hold the arm still, g(q)", ("q",), "tau", lambda arm: joint_torques(arm, arm.gravity)
    ),
    "coriolis_torques": Function(
        "Coriolis and centrifugal torques, C(q, dq) dq", ("q", "dq"), "tau", lambda arm: joint_torques(arm, ZERO, "dq")
    ),
    "inverse_dynamics": Function(
        *("tau = M(q) ddq + C(q, dq) dq + g(q), rigid body only", ("q", "dq", "ddq"), "tau"),
        lambda arm: joint_torques(arm, arm.gravity, "dq", "ddq"),
    ),
    "mass_matrix": Function("M(q), symmetric", ("q",), "M", mass_matrix),
    "pose": Function("T_base_flange", ("q",), "T", flange_pose),
}
