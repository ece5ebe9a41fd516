# SPDX-License-Identifier: Apache-2.0
"""Joint torques as bent arrows about the joints' axes, long as the share of the limit that they take."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.scene.arm import joint_housings, link_radii
from panda_dynamics_ros.scene.shapes import Arc, Arrow, Colour, Shape, along

FULL_ANGLE = 1.5 * np.pi  # rad, at the torque limit
CLEARANCE, ROD = 0.04, 0.008  # m, between link and arrow, and the arrow's radius
SMALLEST_SHARE = 0.02  # of the limit, that is drawn at all
# Share of the limit -> colour, linear in between.
SHARES = (0.0, 0.35, 0.8)
COLOURS = np.array([[0.25, 0.70, 0.35], [0.95, 0.70, 0.15], [0.85, 0.15, 0.10]])


def torque_shapes(robot: RobotDescription, torques: ArrayLike, layer: str = "gravity") -> tuple[Shape, ...]:
    """A bent arrow for each joint torque (n,), N m, which turns as the torque does: right-handed about z if positive.

    An angle of `FULL_ANGLE` is the joint's torque limit, beyond which the arrow does not grow; torques below
    `SMALLEST_SHARE` of it are left out. Forces of prismatic joints are not drawn.

    Raises
    ------
    ArgumentError: `torques` is not a finite (n,) array.
    """
    shares = checks.exactly(torques, (robot.n,), "torques") / robot.limits.effort
    shapes: list[Shape] = []
    for i, (T, radius) in enumerate(zip(joint_housings(robot), link_radii(robot), strict=False)):
        share = float(np.clip(shares[i], -1.0, 1.0))
        if robot.prismatic[i] or abs(share) < SMALLEST_SHARE:
            continue
        colour, frame = share_colour(abs(share)), f"joint{i + 1}"
        arc = Arc(f"{layer}/joint{i + 1}", frame, T, colour, float(radius) + CLEARANCE, FULL_ANGLE * share, ROD)
        cos, sin = np.cos(arc.angle), np.sin(arc.angle)
        tip = T[:3, 3] + arc.bend_radius * np.array([cos, sin, 0.0])
        forward = np.sign(share) * np.array([-sin, cos, 0.0])
        head = Arrow(f"{layer}/tip{i + 1}", frame, along(forward, tip), colour, 5.0 * ROD, ROD)
        shapes += [arc, head]
    return tuple(shapes)


def share_colour(share: float) -> Colour:
    """From green over yellow to red as a torque of magnitude `share` of its limit grows."""
    red, green, blue = (float(np.interp(share, SHARES, COLOURS[:, channel])) for channel in range(3))
    return red, green, blue, 1.0
