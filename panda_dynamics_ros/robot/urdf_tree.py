# SPDX-License-Identifier: Apache-2.0
"""The chain of a URDF tree between two links, and the rigid bodies along it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.urdf_xml import UrdfJoint, UrdfTree

FLANGES = ("link8", "flange", "tool0", "attachment_site")
"""How the names of flange links end: of Franka's arms, of others (REP 199), of the arms of MuJoCo Menagerie."""


@dataclass(frozen=True)
class Tree:
    """A `UrdfTree` that is known to be a tree.

    Raises
    ------
    RobotDescriptionError: a joint names a link that is not there, a link has two parents, or there is not
        exactly one root; the message names the joint or the links.
    """

    urdf: UrdfTree
    parent_joint: dict[str, UrdfJoint] = field(init=False, default_factory=dict)
    child_joints: dict[str, list[UrdfJoint]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.urdf.links:
            raise RobotDescriptionError("expected links, got none")
        self.child_joints.update({link: [] for link in self.urdf.links})
        names = set()
        for joint in self.urdf.joints:
            if joint.name in names:
                raise RobotDescriptionError(f"joint {joint.name}: expected one joint of this name, got two")
            names.add(joint.name)
            for end in (joint.parent, joint.child):
                if end not in self.urdf.links:
                    raise RobotDescriptionError(f"joint {joint.name}: expected an existing link, got {end}")
            if joint.child in self.parent_joint:
                other = self.parent_joint[joint.child].name
                raise RobotDescriptionError(f"link {joint.child}: expected one parent joint, got {other}, {joint.name}")
            self.parent_joint[joint.child] = joint
            self.child_joints[joint.parent].append(joint)
        roots = [link for link in self.urdf.links if link not in self.parent_joint]
        if len(roots) != 1:
            raise RobotDescriptionError(f"expected one root link, got {', '.join(roots) or 'none: a loop of joints'}")
        reached = set(self.descendants(roots[0]))
        apart = [link for link in self.urdf.links if link not in reached]
        if apart:
            raise RobotDescriptionError(f"link {apart[0]}: expected a way from the root {roots[0]}, got a loop")

    @property
    def root(self) -> str:
        """The link that is no joint's child."""
        return next(link for link in self.urdf.links if link not in self.parent_joint)

    def descendants(self, link: str) -> Iterator[str]:
        """`link` and all links below it."""
        waiting = [link]
        while waiting:
            link = waiting.pop()
            yield link
            waiting.extend(joint.child for joint in self.child_joints[link])

    def path(self, base: str, tip: str) -> list[UrdfJoint]:
        """All joints from `base` to `tip`, fixed ones too; an ArgumentError where `tip` is not below `base`."""
        joints: list[UrdfJoint] = []
        link = tip
        while link != base:
            if link not in self.parent_joint:
                raise ArgumentError(f"tip: expected a link below the base {base}, got {tip}")
            joints.insert(0, self.parent_joint[link])
            link = joints[0].parent
        return joints

    def placement(self, link: str) -> FloatArray:
        """T_root_link (4, 4), all joints at zero."""
        T = np.eye(4)
        for joint in self.path(self.root, link):
            T = T @ joint.T_parent_child
        return T

    def deepest_tip(self, base: str) -> str:
        """The end link with most movable joints from `base`, then with most joints; the flange of a hand with fingers.

        Of several that are as deep on the last body, the one with a flange's name is taken.

        Where several ends are as deep, and further joints part their ways than each has from there on, they are
        fingers: the tip is then the last link before the hand (`_flange`).

        Raises
        ------
        ArgumentError: several end links are as deep, and are no fingers; the message lists them.
        """
        depths = {}
        for link in self.descendants(base):
            if not self.child_joints[link]:
                path = self.path(base, link)
                depths[link] = (sum(joint.kind != "fixed" for joint in path), len(path))
        deepest = [link for link, depth in depths.items() if depth == max(depths.values())]
        if len(deepest) > 1:
            ways = [[base, *(joint.child for joint in self.path(base, link))] for link in deepest]
            shared = [links[0] for links in zip(*ways, strict=False) if len(set(links)) == 1]
            before = sum(joint.kind != "fixed" for joint in self.path(base, shared[-1]))
            flanges = [link for link in deepest if link.endswith(FLANGES)]
            if before == depths[deepest[0]][0] and len(flanges) == 1:
                return flanges[0]
            if before > depths[deepest[0]][0] - before:
                return self._flange(base, shared[-1])
            tips = ", ".join(f"{link} ({joints} joints)" for link, (joints, _) in sorted(depths.items()))
            raise ArgumentError(f"tip: expected a link, since several are as deep; got none, the ends are {tips}")
        return deepest[0]

    def _flange(self, base: str, hand: str) -> str:
        """The flange between the last movable joint above `hand` and the hand, by its usual names; else the hand."""
        links = [hand]
        for joint in reversed(self.path(base, hand)):
            if joint.kind != "fixed":
                break
            links.insert(0, joint.parent)
        return next((link for link in links if link.endswith(FLANGES)), hand)

    def rigid_body(self, link: str) -> dict[str, FloatArray]:
        """T_link_part (4, 4) of `link` and of every link that fixed joints hold to it, below."""
        parts = {link: np.eye(4)}
        waiting = [link]
        while waiting:
            part = waiting.pop()
            for joint in self.child_joints[part]:
                if joint.kind == "fixed":
                    parts[joint.child] = parts[part] @ joint.T_parent_child
                    waiting.append(joint.child)
        return parts
