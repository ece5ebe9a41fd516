# SPDX-License-Identifier: Apache-2.0
"""The links and joints of a URDF file, as it states them.

Parser: the standard library's ElementTree behind defusedxml, which refuses entity expansion (a description may
come from anywhere). Of URDF only link, inertial, joint and their few attributes matter here. The parsers of
whole URDFs on PyPI were tried and cost more than they save: yourdfpy and urchin bring trimesh and its 300 MB for
meshes, which are not needed here, and the first accepts an axis of two numbers and a mass that is not a number;
urdf-parser-py (2021) writes errors to standard error and continues.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import defusedxml.ElementTree
import numpy as np
from defusedxml import DefusedXmlException

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.inertial import InertialParameters, symmetric_from_six
from panda_dynamics_ros.robot.visual import Visual

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """One joint: child's frame in its parent's at zero position (4, 4), unit axis (3,) in the child's frame."""

    name: str
    kind: str
    parent: str
    child: str
    T_parent_child: FloatArray
    axis: FloatArray
    limit: Mapping[str, str] | None
    dynamics: Mapping[str, str]
    mimics: str | None


@dataclass(frozen=True, eq=False)
class UrdfTree:
    """All links (None: one without an inertial tag), each in its link frame, and all joints."""

    name: str
    links: Mapping[str, InertialParameters | None]
    joints: tuple[UrdfJoint, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)  # m/s^2, along -z of the root link: URDF states none
    visuals: tuple[Visual, ...] = ()


def parse_urdf(source: Path | str) -> UrdfTree:
    """The links and joints of a file, or of the text of one.

    Raises
    ------
    RobotDescriptionError: the file cannot be read, is not URDF, or a link or joint is malformed; the message
        names it.
    """
    try:
        content = source.encode() if isinstance(source, str) else source.read_bytes()
        root = defusedxml.ElementTree.fromstring(content)
    except (ET.ParseError, DefusedXmlException, LookupError, ValueError) as error:
        raise RobotDescriptionError(f"expected XML without entities, got {error}") from error
    except OSError as error:
        raise RobotDescriptionError(f"expected a readable file, got {error.strerror}") from error
    if root.tag != "robot":
        raise RobotDescriptionError(f"expected the XML element robot, got {root.tag}")
    if any(isinstance(element.tag, str) and "xacro}" in element.tag for element in root.iter()):
        raise RobotDescriptionError("expected plain URDF, got xacro; expand it first: xacro FILE.xacro > robot.urdf")
    links: dict[str, InertialParameters | None] = {}
    for element in root.findall("link"):
        name = _attribute(element, "name", "link")
        if name in links:
            raise RobotDescriptionError(f"link {name}: expected one link of this name, got two")
        links[name] = _inertial(element, f"link {name}")
    joints = tuple(_joint(element) for element in root.findall("joint"))
    name = root.get("name", "robot" if isinstance(source, str) else source.stem)
    return UrdfTree(name, links, joints, visuals=_visuals(root, None if isinstance(source, str) else source.parent))


def _visuals(root: ET.Element, folder: Path | None) -> tuple[Visual, ...]:
    """The meshes of all links; what is malformed in them is left out, since nothing is computed with them."""
    colours = {each.get("name"): each.find("color") for each in root.findall("material")}
    found = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            mesh, material = visual.find("geometry/mesh"), visual.find("material")
            if mesh is None or not mesh.get("filename"):
                continue
            colour = None if material is None else material.find("color")
            if colour is None and material is not None:
                colour = colours.get(material.get("name"))
            try:
                scale = _numbers(mesh.get("scale", "1 1 1"), 3, "scale")
                rgba = None if colour is None else _numbers(colour.get("rgba", ""), 4, "rgba")
                T = _origin(visual, "visual")
            except RobotDescriptionError:
                continue
            shown = None if rgba is None else (float(rgba[0]), float(rgba[1]), float(rgba[2]), float(rgba[3]))
            found.append(Visual(link.get("name", ""), T, mesh.get("filename", ""), scale, shown, folder))
    return tuple(found)


def number(attributes: Mapping[str, str], key: str, owner: str, default: str | None = None) -> float:
    """One attribute as a finite number; the error names its `owner`."""
    text = attributes.get(key, default)
    if text is None:
        raise RobotDescriptionError(f"{owner}: expected the attribute {key}, got {', '.join(attributes) or 'none'}")
    return float(_numbers(text, 1, f"{owner}: {key}")[0])


def _attribute(element: ET.Element, key: str, owner: str) -> str:
    value = element.get(key)
    if not value:
        raise RobotDescriptionError(f"{owner}: expected the attribute {key}, got {', '.join(element.keys()) or 'none'}")
    return value


def _inertial(link: ET.Element, owner: str) -> InertialParameters | None:
    """The body of a link in the link's frame; URDF gives CoM and axes of its inertia by the inertial's origin."""
    inertial = link.find("inertial")
    if inertial is None:
        return None
    mass = number(_child(inertial, "mass", owner).attrib, "value", f"{owner}: mass")
    attributes = _child(inertial, "inertia", owner).attrib
    six = [number(attributes, key, f"{owner}: inertia") for key in INERTIA]
    body = InertialParameters(mass, np.zeros(3), symmetric_from_six(six))
    return body.transformed(_origin(inertial, owner))


def _joint(element: ET.Element) -> UrdfJoint:
    name = _attribute(element, "name", "joint")
    owner = f"joint {name}"
    kind = _attribute(element, "type", owner)
    if kind not in JOINT_TYPES:
        raise RobotDescriptionError(f"{owner}: expected a type among {', '.join(JOINT_TYPES)}, got {kind}")
    given = element.find("axis")
    axis = _numbers("1 0 0" if given is None else _attribute(given, "xyz", f"{owner}: axis"), 3, f"{owner}: axis")
    length = float(np.linalg.norm(axis))
    if kind != "fixed" and length < 1e-9:
        raise RobotDescriptionError(f"{owner}: axis: expected a direction, got {axis.tolist()}")
    limit, dynamics, mimic = element.find("limit"), element.find("dynamics"), element.find("mimic")
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=_attribute(_child(element, "parent", owner), "link", f"{owner}: parent"),
        child=_attribute(_child(element, "child", owner), "link", f"{owner}: child"),
        T_parent_child=_origin(element, owner),
        axis=axis / max(length, 1e-9),
        limit=None if limit is None else limit.attrib,
        dynamics={} if dynamics is None else dynamics.attrib,
        mimics=None if mimic is None else mimic.get("joint", "another joint"),
    )


def _child(element: ET.Element, tag: str, owner: str) -> ET.Element:
    child = element.find(tag)
    if child is None:
        raise RobotDescriptionError(f"{owner}: expected the element {tag} in {element.tag}, got none")
    return child


def _origin(element: ET.Element, owner: str) -> FloatArray:
    """The (4, 4) of an optional origin: xyz in m; rpy in rad about the fixed axes x, y, z."""
    origin = element.find("origin")
    attributes: Mapping[str, str] = {} if origin is None else origin.attrib
    T = np.eye(4)
    T[:3, :3] = rotation_from_rpy(_numbers(attributes.get("rpy", "0 0 0"), 3, f"{owner}: origin rpy"))
    T[:3, 3] = _numbers(attributes.get("xyz", "0 0 0"), 3, f"{owner}: origin xyz")
    return T


def rotation_from_rpy(rpy: FloatArray) -> FloatArray:
    """R = Rz(yaw) Ry(pitch) Rx(roll), (3, 3), of angles (3,) in rad about fixed axes, as URDF has them."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip


def _numbers(text: str, count: int, owner: str) -> FloatArray:
    if "${" in text or "$(" in text:
        raise RobotDescriptionError(f"{owner}: expected plain URDF, got the xacro expression {text}; expand it first")
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count:
        expected = "a number" if count == 1 else f"{count} numbers"
        raise RobotDescriptionError(f"{owner}: expected {expected}, got {text!r:.60}")
    try:
        return checks.exactly(values, (count,), owner)
    except ArgumentError as error:
        raise RobotDescriptionError(str(error)) from error
