# SPDX-License-Identifier: Apache-2.0
"""Serial arms from URDF: links and joints as a tree, and the chain between two of its links as an arm.

XML is read behind defusedxml, which refuses entities. Libraries for URDF would save little: yourdfpy and urchin need
trimesh, let lxml follow entities and take `nan` for a mass; urdf-parser-py prints what is wrong and goes on.
"""

import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import defusedxml.ElementTree
import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.pose import rigid, rotation_from_rpy
from panda_dynamics_ros.robot.description import GRAVITY, RobotDescription
from panda_dynamics_ros.robot.inertial import InertialParameters, require_physical, symmetric_from_six
from panda_dynamics_ros.robot.joints import Friction, JointLimits, ResidualModel
from panda_dynamics_ros.untrusted import read_text

Robot = TypeVar("Robot", bound=RobotDescription)

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
FLANGES = ("link8", "flange", "tool0", "attachment_site")
"""How the names of flange links end: of Franka's arms, of others (REP 199), of the arms of MuJoCo Menagerie."""
LARGEST, MOST_LINKS = 16 << 20, 2000
"""Bytes of a description, which may come from anywhere, and its links: whole humanoids have a hundred."""
ACCELERATION = 10.0  # rad/s^2 or m/s^2, limit of every joint: URDF states none
UNSTATED = {"lower": -2 * np.pi, "upper": 2 * np.pi, "velocity": np.pi, "effort": 100.0}
"""rad, rad/s, N m: of a continuous joint, and for the velocity or effort 0 of exporters that know none."""
RESIDUAL_SHARE, FRICTION_SHARE, RESIDUAL_TIME = 0.01, 0.2, 0.5
"""Standard deviation of the torque residual as a share of the effort limit, or of the dry friction if that is
more, since a simulator's has no presliding; s for which it keeps its value."""


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint: child's frame in its parent's at zero position (4, 4), unit axis (3,) in the child's frame.

    `limit` and `dynamics` are the file's attributes: those off the chain may be wrong.
    """

    name: str
    kind: str
    parent: str
    child: str
    T_parent_child: FloatArray
    axis: FloatArray
    limit: Mapping[str, Any] = field(default_factory=dict)
    dynamics: Mapping[str, Any] = field(default_factory=dict)
    is_mimicking: bool = False


class Tree:
    """Links (None: one without an inertial tag), each in its link frame, joints, gravity in the root link (m/s^2).

    `above` has the joint that carries a link, `below` those that it carries; `root` is the link that none carries.
    Raises RobotDescriptionError: it is not a tree; the message names the joint or the link.
    """

    def __init__(
        self, name: str, links: Mapping[str, InertialParameters | None], joints: Iterable[Joint], gravity: ArrayLike
    ) -> None:
        if not 0 < len(links) <= MOST_LINKS:
            raise RobotDescriptionError(f"expected 1 to {MOST_LINKS} links, got {len(links) or 'none'}")
        self.name, self.links, self.gravity = name, links, np.array(gravity)
        self.above: dict[str, Joint] = {}
        self.below: dict[str, list[Joint]] = {link: [] for link in links}
        for joint in joints:
            for end in (joint.parent, joint.child):
                if end not in links:
                    raise RobotDescriptionError(f"joint {joint.name}: expected an existing link, got {end}")
            if joint.child in self.above:
                other = self.above[joint.child].name
                raise RobotDescriptionError(f"link {joint.child}: expected one parent joint, got {other}, {joint.name}")
            self.above[joint.child] = joint
            self.below[joint.parent].append(joint)
        roots = [link for link in links if link not in self.above]
        if len(roots) != 1:
            raise RobotDescriptionError(f"expected one root link, got {', '.join(roots) or 'none: a loop of joints'}")
        self.root = roots[0]
        if loop := sorted(links.keys() - self.held(self.root, ())):
            raise RobotDescriptionError(f"link {loop[0]}: expected a way from the root {self.root}, got a loop")

    def held(self, link: str, chain: Iterable[Joint]) -> dict[str, FloatArray]:
        """T_link_part (4, 4) of `link` and of every link below it, but for those behind joints of the `chain`."""
        parts, waiting = {link: np.eye(4)}, [link]
        while waiting:
            part = waiting.pop()
            for joint in self.below[part]:
                if joint not in chain:
                    parts[joint.child] = parts[part] @ joint.T_parent_child
                    waiting.append(joint.child)
        return parts

    def path(self, base: str, tip: str) -> list[Joint]:
        """All joints from `base` to `tip`, fixed ones too; an ArgumentError where `tip` is not below `base`."""
        joints: list[Joint] = []
        link = tip
        while link != base:
            if link not in self.above:
                raise ArgumentError(f"tip: expected a link below the base {base}, got {tip}")
            joints.insert(0, self.above[link])
            link = joints[0].parent
        return joints

    def ends(self, base: str | None, tip: str | None) -> tuple[str, str]:
        """The base and the tip of a chain with a movable joint: by default the root and `default_tip`.

        Raises ArgumentError: there is no such link, `tip` is not below `base`, no joint moves, or the tip is ambiguous.
        """
        for argument, link in (("base", base), ("tip", tip)):
            if link is not None and link not in self.links:
                raise ArgumentError(f"{argument}: expected one of the links {', '.join(self.links)}, got {link!r}")
        base = self.root if base is None else base
        tip = self.default_tip(base) if tip is None else tip
        if all(joint.kind == "fixed" for joint in self.path(base, tip)):
            raise ArgumentError(f"tip: expected a movable joint between {base} and {tip}, got none")
        return base, tip

    def default_tip(self, base: str) -> str:
        """The link with a flange's name, else the link, that has most movable joints to `base`, then most joints.

        Several that are as deep are fingers where they share more than half of their way: the tip is then the hand,
        the last link that they share. Otherwise an ArgumentError lists them.
        """
        ways = {link: self.path(base, link) for link in self.held(base, ())}
        ways = {link: way for link, way in ways.items() if link.endswith(FLANGES)} or ways
        depths = {link: (sum(joint.kind != "fixed" for joint in way), len(way)) for link, way in ways.items()}
        most = max(depths.values())
        deepest = [link for link, depth in depths.items() if depth == most]
        if len(deepest) == 1:
            return deepest[0]
        shared = [joints[0] for joints in zip(*(ways[link] for link in deepest), strict=True) if len(set(joints)) == 1]
        if 2 * len(shared) > most[1]:
            return shared[-1].child
        raise ArgumentError(f"tip: expected one link, got several that are as deep: {', '.join(sorted(deepest))}")


def parse_urdf(source: Path | str) -> Tree:
    """The links and joints of a file, or of the text of one; a RobotDescriptionError names what is malformed."""
    try:
        root = defusedxml.ElementTree.fromstring(source if isinstance(source, str) else read_text(source, LARGEST))
    except (ET.ParseError, ValueError) as error:  # also of defusedxml, and of a file that cannot be read
        raise RobotDescriptionError(f"expected XML without entities, got {error}") from error
    if root.tag != "robot":
        raise RobotDescriptionError(f"expected the XML element robot, got {root.tag}")
    if any(isinstance(element.tag, str) and "xacro}" in element.tag for element in root.iter()):
        raise RobotDescriptionError("expected plain URDF, got xacro; expand it first: xacro FILE.xacro > robot.urdf")
    links: dict[str, InertialParameters | None] = {}
    for element in root.findall("link"):
        name = _attribute(element.attrib, "name", "link")
        if name in links:
            raise RobotDescriptionError(f"link {name}: expected one link of this name, got two")
        links[name] = _inertial(element, f"link {name}")
    name = "robot" if isinstance(source, str) else source.stem
    return Tree(root.get("name", name), links, [_joint(element) for element in root.findall("joint")], GRAVITY)


def _inertial(link: ET.Element, owner: str) -> InertialParameters | None:
    """The body of a link in the link's frame; URDF gives CoM and axes of its inertia by the inertial's origin."""
    if (inertial := link.find("inertial")) is None:
        return None
    mass = _number(_attributes(inertial, "mass"), "value", f"{owner}: mass")
    six = [_number(_attributes(inertial, "inertia"), key, f"{owner}: inertia") for key in INERTIA]
    return InertialParameters(mass, np.zeros(3), symmetric_from_six(six)).transformed(_origin(inertial, owner))


def _joint(element: ET.Element) -> Joint:
    name = _attribute(element.attrib, "name", "joint")
    owner = f"joint {name}"
    kind = _attribute(element.attrib, "type", owner)
    if kind not in JOINT_TYPES:
        raise RobotDescriptionError(f"{owner}: expected a type among {', '.join(JOINT_TYPES)}, got {kind}")
    axis = _numbers(_attributes(element, "axis"), "xyz", f"{owner}: axis", 3, "1 0 0")
    length = float(np.linalg.norm(axis))
    if kind != "fixed" and not 1e-9 < length < np.inf:
        raise RobotDescriptionError(f"{owner}: axis: expected a direction, got {axis.tolist()}")
    return Joint(
        name=name,
        kind=kind,
        parent=_attribute(_attributes(element, "parent"), "link", f"{owner}: parent"),
        child=_attribute(_attributes(element, "child"), "link", f"{owner}: child"),
        T_parent_child=_origin(element, owner),
        axis=axis / max(length, 1e-9),
        limit=_attributes(element, "limit"),
        dynamics=_attributes(element, "dynamics"),
        is_mimicking=element.find("mimic") is not None,
    )


def _attributes(element: ET.Element, tag: str) -> Mapping[str, Any]:
    """The attributes of a child; none where there is no such child."""
    child = element.find(tag)
    return {} if child is None else child.attrib


def _attribute(attributes: Mapping[str, Any], key: str, owner: str) -> str:
    if not attributes.get(key):
        raise RobotDescriptionError(f"{owner}: expected the attribute {key}, got {', '.join(attributes) or 'none'}")
    return str(attributes[key])


def _origin(element: ET.Element, owner: str) -> FloatArray:
    """The (4, 4) of an optional origin: xyz in m; rpy in rad about the fixed axes x, y, z."""
    origin = _attributes(element, "origin")
    xyz, rpy = (_numbers(origin, key, f"{owner}: origin", 3, "0 0 0") for key in ("xyz", "rpy"))
    return rigid(rotation_from_rpy(rpy), xyz)


def _number(attributes: Mapping[str, Any], key: str, owner: str, default: str = "") -> float:
    return float(_numbers(attributes, key, owner, 1, default)[0])


def _numbers(attributes: Mapping[str, Any], key: str, owner: str, count: int, default: str) -> FloatArray:
    """The finite numbers (count,) of an attribute; the error names its `owner`."""
    text = str(attributes.get(key, default))
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count:
        expected = "a number" if count == 1 else f"{count} numbers"
        raise RobotDescriptionError(f"{owner}: {key}: expected {expected}, got {text!r:.60}")
    return checks.exactly(values, (count,), f"{owner}: {key}")


def arm_of_chain(tree: Tree, base: str, tip: str, model: type[Robot]) -> Robot:
    """The chain from link `base` to link `tip`, with a movable joint, as an instance of `model`.

    The frame `base` is the base link, the frame `flange` the tip link. Joint frame i has the origin of the file's
    joint i, and its z along the joint's axis: where the axis is z, it is the file's own link frame. All links that hang
    on a joint of the chain, and on no later one, become one body: fixed joints hold them, and further movable joints
    (of fingers, say) are locked at zero, with a warning that names them.
    Gravity points along -z of the root link, wherever `base` is mounted on it.
    Limits, and `dynamics` as friction (damping: viscous, friction: Coulomb), are the file's. Acceleration limits, the
    torque residual, limits of a continuous joint and limits of velocity or effort that are 0 are the constants above.
    A link that cannot exist is replaced by the nearest that can, with a warning: published files have inertias that no
    distribution of mass has, and massless links with inertia.

    Raises RobotDescriptionError: a joint of the chain mimics another one, is floating or planar, or lacks limits, or a
        link of the arm has a negative mass.
    Raises ArgumentError: a number of the file is none, or limits contradict each other.
    """
    joints = [joint for joint in tree.path(base, tip) if joint.kind != "fixed"]
    for joint in joints:
        if joint.is_mimicking or joint.kind in ("floating", "planar"):
            got = "one that mimics another" if joint.is_mimicking else joint.kind
            what = "an independent revolute, continuous or prismatic joint on the chain"
            raise RobotDescriptionError(f"joint {joint.name}: expected {what}, got {got}")
    parts, T_link_frame = tree.held(base, joints), np.eye(4)  # of the body that carries the joint; a rotation
    placements, links, locked = [], [], []
    for joint in joints:
        T_link_next = _frame_along(joint.axis)
        placements.append(T_link_frame.T @ parts[joint.parent] @ joint.T_parent_child @ T_link_next)
        parts, T_link_frame = tree.held(joint.child, joints), T_link_next
        links.append(_joined(tree, parts, T_link_frame))
        locked += [each for part in parts for each in tree.below[part] if each.kind != "fixed" and each not in joints]
    if locked:
        names = ", ".join(joint.name for joint in locked)
        warnings.warn(f"{tree.name}: joints off the chain are locked at zero: {names}", stacklevel=2)
    each_joint = [_limits(joint) for joint in joints]
    limits = {key: np.array([of_joint[key] for of_joint in each_joint]) for key in UNSTATED}
    n, coulomb = len(joints), _dynamics(joints, "friction")
    residual = np.maximum(RESIDUAL_SHARE * limits["effort"], FRICTION_SHARE * coulomb)
    return model(
        name=tree.name,
        joint_names=tuple(joint.name for joint in joints),
        placements=np.array(placements),
        prismatic=tuple(joint.kind == "prismatic" for joint in joints),
        links=tuple(links),
        T_joint_flange=T_link_frame.T @ parts[tip],
        T_flange_ee=np.eye(4),
        friction=Friction.of(n, viscous=_dynamics(joints, "damping"), coulomb=coulomb),
        limits=JointLimits(acceleration=np.full(n, ACCELERATION), **limits),
        residual=ResidualModel(residual, np.full(n, RESIDUAL_TIME)),
        gravity=tree.held(tree.root, ())[base][:3, :3].T @ tree.gravity,
        rotor_inertia=_dynamics(joints, "armature"),
        base_link=base,
        flange_link=tip,
    )


def _frame_along(axis: FloatArray) -> FloatArray:
    """The rotation (4, 4) with z along a unit axis that turns x and y least; 1 where the axis is z already."""
    # About e_z x axis; for an axis below the horizon, after half a turn about x: no division by about zero.
    x, y, z = axis if axis[2] >= 0.0 else -axis
    W = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
    R = np.eye(3) + (W + W @ W / (1.0 + z))
    return rigid(R if axis[2] >= 0.0 else R @ np.diag((1.0, -1.0, -1.0)), np.zeros(3))


def _joined(tree: Tree, parts: dict[str, FloatArray], T_link_frame: FloatArray) -> InertialParameters:
    """One body of the links that move together, in the joint frame."""
    bodies = [
        require_physical(body, f"link {link}", strict=False).transformed(T_link_frame.T @ T_link_part)
        for link, T_link_part in parts.items()
        if (body := tree.links[link]) is not None
    ]
    if not bodies:
        lack = "expected the element inertial on it or on a link that it holds, got none: torques lack its weight"
        warnings.warn(f"link {next(iter(parts))}: {lack}", stacklevel=2)
        return InertialParameters.zero()
    return reduce(add, bodies)


def _limits(joint: Joint) -> dict[str, float]:
    """Limits of a joint by their names in `UNSTATED`; URDF demands velocity and effort of all but continuous ones."""
    owner, given = f"joint {joint.name}: limit", {"lower": 0.0, "upper": 0.0, **joint.limit}
    if joint.kind == "continuous":
        given = {**UNSTATED, **given, "lower": UNSTATED["lower"], "upper": UNSTATED["upper"]}
    limits = {key: _number(given, key, owner) for key in UNSTATED}
    for key in ("velocity", "effort"):
        if limits[key] == 0.0:
            warnings.warn(f"{owner}: {key} 0 is taken for one that is not known: {UNSTATED[key]:g}", stacklevel=2)
            limits[key] = UNSTATED[key]
    return limits


def _dynamics(joints: list[Joint], key: str) -> FloatArray:
    return np.array([_number(joint.dynamics, key, f"joint {joint.name}: dynamics", "0") for joint in joints])
