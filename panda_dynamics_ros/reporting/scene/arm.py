# SPDX-License-Identifier: Apache-2.0
"""The arm as primitives, from its model alone: links, joints, centres of mass, end effector."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene.primitives import (
    Arrow,
    Colour,
    Cylinder,
    Ellipsoid,
    Primitive,
    along,
    translation,
)
from panda_dynamics_ros.robot import RobotDescription

LINK: Colour = (0.86, 0.88, 0.92, 0.45)
JOINT: Colour = (0.22, 0.25, 0.30, 1.0)
COM: Colour = (0.10, 0.55, 0.60, 1.0)
AXES: tuple[Colour, ...] = ((0.85, 0.2, 0.2, 1.0), (0.2, 0.65, 0.25, 1.0), (0.2, 0.4, 0.9, 1.0))
BASE_RADIUS, FLANGE_RADIUS, THICKEST, THINNEST = 0.075, 0.046, 0.058, 0.04  # m
SHORTEST = 0.02  # m: frames nearer to each other have no link drawn between them
IN_LINE = 0.99  # cosine: a Panda's forearm, at 0.98, leads past joint 5's axis by 8 cm
COM_DENSITY = 6000.0  # kg/m^3: a ball of it as heavy as the heaviest link fits into the link


def arm_primitives(robot: RobotDescription) -> tuple[Primitive, ...]:
    """Links, joints, centres of mass and end effector, each in its own frame: the same at every joint position.

    Layers: `arm`, with a ring of the drive's width about each joint's axis; `com`, balls that have the links' masses at
    `COM_DENSITY`; `ee`, its axes x, y, z in red, green and blue.
    """
    radii, primitives = link_radii(robot), _links(robot)
    for i, (T, radius) in enumerate(zip(joint_housings(robot), radii.tolist(), strict=False), start=1):
        primitives.append(Cylinder(f"arm/drive{i}", f"joint{i}", T, JOINT, 1.15 * radius, 0.9 * radius))
    primitives.append(Cylinder("arm/plate", "flange", translation([0.0, 0.0, -0.006]), JOINT, FLANGE_RADIUS, 0.012))
    for i, link in enumerate(robot.links, start=1):
        if link.mass > 0.0:
            size = np.full(3, 0.8 * (3.0 * link.mass / (4.0 * np.pi * COM_DENSITY)) ** (1.0 / 3.0))
            primitives.append(Ellipsoid(f"com/link{i}", f"joint{i}", translation(link.com), COM, size))
    for name, axis, colour in zip("xyz", np.eye(3), AXES, strict=True):
        primitives.append(Arrow(f"ee/{name}", "ee", along(axis, np.zeros(3)), colour, 0.08, 0.004))
    return tuple(primitives)


def joint_housings(robot: RobotDescription) -> tuple[FloatArray, ...]:
    """Where each joint is drawn: (4, 4) in the joint's frame, z along its axis.

    At the frame's origin; halfway back along the link before it where that runs along the joint's axis, as the
    drives of a Panda's joints 1 and 3 sit. (Their frames coincide with the next joint's.)
    """
    places = []
    for i, T in enumerate(robot.placements):
        back = -T[:3, :3].T @ T[:3, 3]  # the frame before, seen from this one
        length = float(np.linalg.norm(back))
        in_line = length > SHORTEST and abs(back[2]) > IN_LINE * length and not robot.prismatic[i]
        places.append(translation([0.0, 0.0, 0.5 * back[2] if in_line else 0.0]))
    return tuple(places)


def link_radii(robot: RobotDescription) -> FloatArray:
    """Radii (n + 1,), m, of the links that base and joints carry: thinner towards the flange."""
    return np.linspace(THICKEST, THINNEST, robot.n + 1)


def _links(robot: RobotDescription) -> list[Primitive]:
    """A tube from each frame to the next, in the frame that it begins in; the first one stands on the base."""
    ends = [*(T[:3, 3] for T in robot.placements), robot.T_joint_flange[:3, 3]]
    primitives: list[Primitive] = [
        Cylinder("arm/plinth", "base", translation([0.0, 0.0, 0.01]), JOINT, BASE_RADIUS, 0.02)
    ]
    for (frame, _), end, radius in zip(pairwise(robot.frames[:-1]), ends, link_radii(robot), strict=True):
        distance = float(np.linalg.norm(end))
        start = end * (radius / distance) if frame == "base" and distance > radius else np.zeros(3)
        length = float(np.linalg.norm(end - start))
        if length > SHORTEST:
            T = along(end, 0.5 * (start + end))
            primitives.append(Cylinder(f"arm/{frame}", frame, T, LINK, float(radius), length))
    return primitives
