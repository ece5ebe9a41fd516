# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters as URDF has them, to be pasted into a robot's description."""

from __future__ import annotations

from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import six_from_symmetric

_NAMES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def urdf_inertials(robot: RobotDescription) -> str:
    """One <inertial> element for each link, named in a comment after the joint that moves it.

    Origin and axes are those of the joint frame, as for the links of a URDF; the inertia is about the CoM, with
    URDF's signs of products (those of the matrix).
    """
    elements = []
    for name, link in zip(robot.joint_names, robot.links, strict=True):
        x, y, z = (float(c) for c in link.com)
        moments = zip(_NAMES, six_from_symmetric(link.inertia), strict=True)
        inertia = " ".join(f'{key}="{float(value)!r}"' for key, value in moments)
        elements.append(
            f"<!-- child link of {name} -->\n<inertial>\n"
            f'  <origin xyz="{x!r} {y!r} {z!r}" rpy="0 0 0"/>\n  <mass value="{float(link.mass)!r}"/>\n'
            f"  <inertia {inertia}/>\n</inertial>\n"
        )
    return "".join(elements)
