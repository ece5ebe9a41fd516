# SPDX-License-Identifier: Apache-2.0
"""Arrows: joint torques as bent arrows about the joints' axes, a contact wrench as straight ones at the flange."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene.arm import joint_housings, link_radii
from panda_dynamics_ros.reporting.scene.primitives import Arc, Arrow, Colour, Label, Primitive, along, translation
from panda_dynamics_ros.robot import RobotDescription

FULL_ANGLE = 1.5 * np.pi  # rad, at the torque limit
CLEARANCE, ROD = 0.04, 0.008  # m, between link and arrow, and the arrow's radius
SMALLEST_SHARE = 0.02  # of the limit, that is drawn at all
# Share of the limit -> colour, linear in between.
SHARES = (0.0, 0.35, 0.8)
COLOURS = np.array([[0.25, 0.70, 0.35], [0.95, 0.70, 0.15], [0.85, 0.15, 0.10]])
PER_NEWTON, PER_NEWTON_METRE, LONGEST = 0.015, 0.04, 0.6  # m
SURFACE = 0.05  # m from the flange's origin, where a force's arrow ends: it would be hidden in the wrist
SMALLEST_FORCE, SMALLEST_MOMENT = 3.0, 1.0  # N, N m: about what an arm at rest makes of its model's errors
LABEL_HEIGHT = 0.035  # m
FORCE: Colour = (0.75, 0.10, 0.55, 1.0)
MOMENT: Colour = (0.45, 0.25, 0.75, 1.0)


def torque_primitives(robot: RobotDescription, torques: ArrayLike, layer: str = "gravity") -> tuple[Primitive, ...]:
    """A bent arrow for each joint torque (n,), N m, which turns as the torque does: right-handed about z if positive.

    It has `FULL_ANGLE` at the joint's torque limit and beyond; torques below `SMALLEST_SHARE` of it and forces of
    prismatic joints are not drawn. ArgumentError: `torques` is not a finite (n,) array.
    """
    shares = checks.exactly(torques, (robot.n,), "torques") / robot.limits.effort
    primitives: list[Primitive] = []
    for i, (T, radius) in enumerate(zip(joint_housings(robot), link_radii(robot), strict=False)):
        share = float(np.clip(shares[i], -1.0, 1.0))
        if robot.prismatic[i] or abs(share) < SMALLEST_SHARE:
            continue
        colour, frame = share_colour(abs(share)), f"joint{i + 1}"
        arc = Arc(f"{layer}/joint{i + 1}", frame, T, colour, float(radius) + CLEARANCE, FULL_ANGLE * share, ROD)
        cos, sin = np.cos(arc.angle), np.sin(arc.angle)
        tip = T[:3, 3] + arc.bend_radius * np.array([cos, sin, 0.0])
        forward = np.sign(share) * np.array([-sin, cos, 0.0])
        size = min(5.0 * ROD, abs(arc.angle) * arc.bend_radius)  # a head longer than its arc would look like a cone
        head = Arrow(f"{layer}/tip{i + 1}", frame, along(forward, tip), colour, size, ROD)
        primitives += [arc, head]
    return tuple(primitives)


def share_colour(share: float) -> Colour:
    """From green over yellow to red as a torque of magnitude `share` of its limit grows."""
    red, green, blue = (float(np.interp(share, SHARES, COLOURS[:, channel])) for channel in range(3))
    return red, green, blue, 1.0


def wrench_primitives(wrench: ArrayLike, point: FloatArray) -> tuple[Primitive, ...]:
    """The force as an arrow that ends before the point, the moment as one that begins there; layer `contact`, in base.

    `wrench` (6,), N and N m, force first, in base axes, is what the surroundings do to the arm at `point` (3,), m. 15
    mm stand for a newton, 4 cm for a newton metre, up to 0.6 m; less than 3 N or 1 N m is not drawn. ArgumentError:
    `wrench` is not a finite (6,) array.
    """
    force, moment = np.split(checks.exactly(wrench, (6,), "wrench"), 2)
    primitives: list[Primitive] = []
    size = float(np.linalg.norm(force))
    if size > SMALLEST_FORCE:
        length = min(PER_NEWTON * size, LONGEST)
        tail = point - force * ((length + SURFACE) / size)
        primitives.append(Arrow("contact/force", "base", along(force, tail), FORCE, length, 0.008))
        behind = tail - LABEL_HEIGHT / size * force  # or the arrow would pierce it
        primitives.append(Label("contact/size", "base", translation(behind), FORCE, f"{size:.0f} N", LABEL_HEIGHT))
    size = float(np.linalg.norm(moment))
    if size > SMALLEST_MOMENT:
        length = min(PER_NEWTON_METRE * size, LONGEST)
        primitives.append(Arrow("contact/moment", "base", along(moment, point), MOMENT, length, 0.006))
    return tuple(primitives)
