# SPDX-License-Identifier: Apache-2.0
"""Serial arms from URDF files: arbitrary placements and axes, a chain picked by its base and tip; and back to URDF."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.inertial import InertialParameters, require_physical, six_from_symmetric
from panda_dynamics_ros.robot.limits import JointLimits, ResidualModel
from panda_dynamics_ros.robot.urdf_tree import Tree
from panda_dynamics_ros.robot.urdf_xml import INERTIA, UrdfJoint, UrdfTree, number, parse_urdf
from panda_dynamics_ros.robot.visual import Visual, placed

Robot = TypeVar("Robot", bound=RobotDescription)
Source = TypeVar("Source", Path, Path | str)

# What URDF does not state, or not for a continuous joint; velocity and effort, too, where it has the 0 of exporters
# that know none.
ACCELERATION = 10.0  # rad/s^2 or m/s^2
UNSTATED = {"lower": -np.pi, "upper": np.pi, "velocity": np.pi, "effort": 100.0}  # rad, rad/s, N m: one turn
RESIDUAL_SHARE, RESIDUAL_TIME = 0.01, 0.5  # std of the torque residual as a share of the effort limit; s


def read_urdf(
    path: Path | str, model: type[Robot], base: str | None = None, tip: str | None = None, *, strict: bool = False
) -> Robot:
    """The chain of a URDF from link `base` to link `tip`, as an instance of `model`.

    The frame `base` is the base link, the frame `flange` the tip link. Joint frame i has the origin of the URDF's
    joint i, and its z along the joint's axis: where the axis is z, it is the URDF's own link frame. Links that
    fixed joints hold together become one body, those beside the chain included. Whatever moves on further joints
    off the chain (fingers, say) is left out, and a warning says how much that weighs.
    Gravity points along -z of the root link, wherever `base` is mounted on it.
    Limits, and `dynamics` as friction (damping: viscous, friction: Coulomb), are the URDF's; acceleration limits
    and the torque residual, which it does not state, are the constants above, to be replaced by an
    identification. A continuous joint gets limits of one turn. A velocity or effort limit of 0, as exporters write it
    that know none, is replaced by a constant, with a warning.

    Parameters
    ----------
    path: of a file; or a text, which the topic `robot_description` has.
    base: by default the root link.
    tip: by default the link that is most movable joints away, of those the one that is most joints away; where the
        fingers of a hand are equally far, the flange that carries the hand (a link named ..link8, ..flange, ..tool0).
    strict: whether a link that cannot exist is an error. By default the nearest that can is taken, with a warning that
        names it: published files have inertias that no distribution of mass has, and massless links with inertia.

    Raises
    ------
    ArgumentError: there is no such link, `tip` is not below `base`, or several tips are as deep; the message
        lists the ends.
    RobotDescriptionError: the file cannot be read, is xacro or malformed, has a mimicking, floating or planar
        joint on the chain, or a link of the chain is not physical (with a negative mass, or `strict`); the message
        names the file and the link or joint.
    """
    robot = read_chain(path, parse_urdf, model, base, tip, strict)
    _warn_of_missing_mass(robot)
    return robot


def read_chain(
    source: Source,
    parse: Callable[[Source], UrdfTree],
    model: type[Robot],
    base: str | None,
    tip: str | None,
    strict: bool,
) -> Robot:
    """The chain of the links and joints that `parse` finds in a file or text; see `read_urdf`."""
    name = source if isinstance(source, Path) else "robot_description"
    try:
        tree = Tree(parse(source))
        start = tree.root if base is None else _known(tree, base, "base")
        end = tree.deepest_tip(start) if tip is None else _known(tree, tip, "tip")
        return _robot(tree, start, end, model, strict)
    except RobotDescriptionError as error:
        raise RobotDescriptionError(f"{name}: {error}") from error
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from error


def _known(tree: Tree, link: str, name: str) -> str:
    if link not in tree.urdf.links:
        raise ArgumentError(f"{name}: expected one of the links {', '.join(tree.urdf.links)}, got {link!r}")
    return link


def _robot(tree: Tree, base: str, tip: str, model: type[Robot], strict: bool) -> Robot:
    joints = [joint for joint in tree.path(base, tip) if joint.kind != "fixed"]
    for joint in joints:
        _check_kind(joint)
    if not joints:
        raise ArgumentError(f"tip: expected a movable joint between {base} and {tip}, got none")
    parts, T_link_frame = tree.rigid_body(base), np.eye(4)  # of the body that carries the joint; a rotation
    placements, links, visuals = [], [], _visuals(tree, parts, T_link_frame, "base")
    for number_of_joint, joint in enumerate(joints, start=1):
        T_link_next = _frame_along(joint.axis)
        T_body_child = parts[joint.parent] @ joint.T_parent_child
        placements.append(T_link_frame.T @ T_body_child @ T_link_next)
        parts, T_link_frame = tree.rigid_body(joint.child), T_link_next
        links.append(_joined(tree, parts, T_link_frame, strict))
        visuals += _visuals(tree, parts, T_link_frame, f"joint{number_of_joint}")
    _warn_of_left_out(tree, joints)
    limits = {key: np.array([_limit(joint, key) for joint in joints]) for key in UNSTATED}
    n = len(joints)
    return model(
        name=tree.urdf.name,
        joint_names=tuple(joint.name for joint in joints),
        placements=np.array(placements),
        prismatic=tuple(joint.kind == "prismatic" for joint in joints),
        links=tuple(links),
        T_joint_flange=T_link_frame.T @ parts[tip],
        T_flange_ee=np.eye(4),
        friction=Friction.of(n, viscous=_dynamics(joints, "damping"), coulomb=_dynamics(joints, "friction")),
        limits=JointLimits(acceleration=np.full(n, ACCELERATION), **limits),
        residual=ResidualModel(RESIDUAL_SHARE * limits["effort"], np.full(n, RESIDUAL_TIME)),
        gravity=tree.placement(base)[:3, :3].T @ tree.urdf.gravity,
        rotor_inertia=_dynamics(joints, "armature"),
        base_link=base,
        flange_link=tip,
        visuals=tuple(visuals),
    )


def _check_kind(joint: UrdfJoint) -> None:
    if joint.mimics is not None:
        raise RobotDescriptionError(
            f"joint {joint.name}: expected independent joints, got one that mimics {joint.mimics}"
        )
    if joint.kind in ("floating", "planar"):
        raise RobotDescriptionError(
            f"joint {joint.name}: expected revolute, continuous or prismatic on the chain, got {joint.kind}"
        )


def _frame_along(axis: FloatArray) -> FloatArray:
    """The rotation (4, 4) with z along a unit axis that turns x and y least; 1 where the axis is z already."""
    T = np.eye(4)
    # About e_z x axis; for an axis below the horizon, after half a turn about x: no division by about zero.
    x, y, z = axis if axis[2] >= 0.0 else -axis
    W = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
    T[:3, :3] += W + W @ W / (1.0 + z)
    if axis[2] < 0.0:
        T[:3, :3] = T[:3, :3] @ np.diag((1.0, -1.0, -1.0))
    return T


def _joined(tree: Tree, parts: dict[str, FloatArray], T_link_frame: FloatArray, strict: bool) -> InertialParameters:
    """One body of the links that move together, in the joint frame."""
    bodies, massless = [], []
    for link, T_link_part in parts.items():
        body = tree.urdf.links[link]
        if body is None:
            continue
        if body.mass == 0.0 and not (body.is_physical() or strict):
            massless.append(link)
        else:
            body = require_physical(body, f"link {link}", strict=strict)
        bodies.append(body.transformed(T_link_frame.T @ T_link_part))
    whole = reduce(add, bodies) if bodies else InertialParameters.zero()
    if massless and whole.mass > 0.0:
        warnings.warn(
            f"link {', '.join(massless)}: no body has inertia without mass; it is taken for that of the links fixed to "
            f"it ({whole.mass:g} kg)",
            stacklevel=2,
        )
    # Where no mass is fixed to it, such an inertia is left out.
    return require_physical(whole, f"link {', '.join(massless)}", strict=False) if massless else whole


def _visuals(tree: Tree, parts: dict[str, FloatArray], T_link_frame: FloatArray, frame: str) -> list[Visual]:
    """The meshes of links that move together, in a frame of the arm."""
    return [
        placed(each, frame, T_link_frame.T @ parts[each.frame]) for each in tree.urdf.visuals if each.frame in parts
    ]


def _limit(joint: UrdfJoint, key: str) -> float:
    """One limit of a joint; URDF demands them of every joint but a continuous one."""
    owner = f"joint {joint.name}: limit"
    continuous = joint.kind == "continuous"
    if joint.limit is None and not continuous:
        raise RobotDescriptionError(f"{owner}: expected the element limit, got none")
    given = joint.limit or {}
    if key in ("lower", "upper"):
        if continuous:
            return UNSTATED[key]
        lower, upper = number(given, "lower", owner, "0"), number(given, "upper", owner, "0")
        if not lower < upper:
            raise RobotDescriptionError(f"{owner}: expected lower below upper, got {lower:g} and {upper:g}")
        return lower if key == "lower" else upper
    value = number(given, key, owner, repr(UNSTATED[key]) if continuous else None)
    if value < 0.0:
        raise RobotDescriptionError(f"{owner}: {key}: expected a positive number, got {value:g}")
    if value == 0.0:
        warnings.warn(f"{owner}: {key} 0 is taken for one that is not known: {UNSTATED[key]:g}", stacklevel=2)
    return value or UNSTATED[key]


def _dynamics(joints: list[UrdfJoint], key: str) -> FloatArray:
    return np.array([number(joint.dynamics, key, f"joint {joint.name}: dynamics", "0") for joint in joints])


def _warn_of_missing_mass(robot: RobotDescription) -> None:
    """Name the joints whose link has a length but no mass; the cross of a universal joint has neither."""
    offsets = [*robot.placements[1:, :3, 3], np.ones(3)]
    found = [
        name
        for name, link, offset in zip(robot.joint_names, robot.links, offsets, strict=True)
        if link.mass == 0.0 and np.linalg.norm(offset) > 1e-3
    ]
    if found:
        warnings.warn(
            f"{robot.name}: the links that {', '.join(found)} move have no mass, so torques lack their weight: is the "
            "element inertial missing?",
            stacklevel=3,
        )


def _warn_of_left_out(tree: Tree, joints: list[UrdfJoint]) -> None:
    """Say which masses hang on moving links by joints that are not of the chain."""
    on_chain = {joint.name for joint in joints}
    names, mass = [], 0.0
    for carrier in joints:
        for part in tree.rigid_body(carrier.child):
            for joint in tree.child_joints[part]:
                if joint.kind != "fixed" and joint.name not in on_chain:
                    for link in tree.descendants(joint.child):
                        body = tree.urdf.links[link]
                        if body is not None and body.mass != 0.0:
                            names.append(link)
                            mass += body.mass
    if names:
        warnings.warn(
            f"{tree.urdf.name}: links on movable joints off the chain are left out: {', '.join(names)} ({mass:g} kg)",
            stacklevel=2,
        )


def urdf_inertials(robot: RobotDescription) -> str:
    """The <inertial> elements of all links, in a URDF without joints, to be pasted into a robot's description.

    Links have the names of the joints that move them, with "joint" as "link". Origin and axes are those of the joint
    frame, as for the links of a URDF; the inertia is about the CoM, its products with the signs of the matrix.
    """
    root = ET.Element("robot", name=robot.name)
    for name, link in zip(robot.joint_names, robot.links, strict=True):
        element = ET.SubElement(root, "link", name=name.replace("joint", "link"))
        inertial = ET.SubElement(element, "inertial")
        ET.SubElement(inertial, "origin", xyz=" ".join(repr(float(c)) for c in link.com), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=repr(float(link.mass)))
        moments = (repr(float(value)) for value in six_from_symmetric(link.inertia))
        ET.SubElement(inertial, "inertia", dict(zip(INERTIA, moments, strict=True)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
