# SPDX-License-Identifier: Apache-2.0
"""The arm, its payload and a contact as coloured shapes in the arm's frames, from the model alone.

`nodes/markers.py` draws a scene as RViz markers, `web_view` in a page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import pose, robot_state
from panda_dynamics_ros.estimation.estimate import LIGHTEST_PAYLOAD, PayloadEstimate, com_covariance
from panda_dynamics_ros.pose import rigid
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import second_moments

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, each in [0, 1]
ELLIPSOID, BOX, CYLINDER, ARROW, LABEL = "ellipsoid", "box", "cylinder", "arrow", "label"

LINK: Colour = (0.86, 0.88, 0.92, 0.45)
JOINT: Colour = (0.22, 0.25, 0.30, 1.0)
COM: Colour = (0.10, 0.55, 0.60, 1.0)
AXES: tuple[Colour, ...] = ((0.85, 0.2, 0.2, 1.0), (0.2, 0.65, 0.25, 1.0), (0.2, 0.4, 0.9, 1.0))
CENTRE: Colour = (0.85, 0.20, 0.10, 1.0)
UNCERTAINTY: Colour = (0.95, 0.55, 0.10, 0.30)
BODY: Colour = (0.20, 0.45, 0.85, 0.40)
FORCE: Colour = (0.75, 0.10, 0.55, 1.0)
MOMENT: Colour = (0.45, 0.25, 0.75, 1.0)
TEXT: Colour = (0.93, 0.33, 0.08, 1.0)  # WCAG's contrast is 3.3 to white robots, and 3.8 to the layout's dark ground
SHARES = (0.0, 0.35, 0.8)  # of a torque's limit; the colours are those of its joint, linear in between
SHARE_COLOURS = np.array([[0.25, 0.70, 0.35], [0.95, 0.70, 0.15], [0.85, 0.15, 0.10]])

BASE_RADIUS, FLANGE_RADIUS, THICKEST, THINNEST = 0.075, 0.046, 0.058, 0.04  # m
SHORTEST = 0.02  # m: frames nearer to each other have no link drawn between them
IN_LINE = 0.99  # cosine: a Panda's forearm, at 0.98, leads past joint 5's axis by 8 cm
COM_DENSITY = 11_700.0  # kg/m^3: a ball of it as heavy as the heaviest link fits into the link
SMALLEST, LARGEST = 0.005, 0.5  # m, of a payload's shapes
ELLIPSOID_95 = 2.795  # sqrt of the 95 % quantile of chi squared with 3 degrees of freedom
MOMENTS = [4, 7, 9]  # Ixx, Iyy, Izz in the inertial vector
LABEL_HEIGHT = 0.045  # m
PER_NEWTON, PER_NEWTON_METRE, LONGEST = 0.015, 0.04, 0.6  # m
SURFACE = 0.05  # m from the flange's origin, where a force's arrow ends: it would be hidden in the wrist
SMALLEST_FORCE, SMALLEST_MOMENT = 3.0, 1.0  # N, N m: about what an arm at rest makes of its model's errors


@dataclass(frozen=True, eq=False)
class Primitive:
    """A coloured shape, or a text that faces the viewer.

    name: "layer/item", distinct within a scene; a layer can be hidden as a whole.
    frame: one of the robot's frames.
    T: (4, 4), T_frame_primitive; the origin is the shape's middle, an arrow's tail.
    colour: red, green, blue, opacity.
    shape: one of ELLIPSOID, BOX, CYLINDER, ARROW, LABEL; cylinders and arrows are along z.
    size: (3,), m, along the axes; of an arrow two diameters of its shaft and the length; of a text its height.
    """

    name: str
    frame: str
    T: FloatArray
    colour: Colour
    shape: str
    size: FloatArray
    text: str = ""

    @property
    def layer(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]

    @property
    def head(self) -> tuple[float, float]:
        """Diameter and length of an arrow's head, m; all of a short arrow is head."""
        shaft, _, length = self.size.tolist()
        return 2.2 * shaft, min(2.5 * shaft, length)


@dataclass(frozen=True, eq=False)
class Scene:
    """`frames`: T_base_frame (4, 4) by name; `primitives`: each in one of these frames, with distinct names."""

    frames: Mapping[str, FloatArray]
    primitives: tuple[Primitive, ...]

    def place(self, primitive: Primitive) -> FloatArray:
        """T_base_primitive, (4, 4)."""
        return self.frames[primitive.frame] @ primitive.T


def arm_scene(
    robot: RobotDescription, q: ArrayLike, estimate: PayloadEstimate | None = None, wrench: ArrayLike | None = None
) -> Scene:
    """The arm with gravity torques at joint positions q (n,), rad; payload and contact where given.

    `wrench` (6,), N and N m, force first, acts on the flange at its origin, in base axes. ArgumentError: `q` or
    `wrench` is not finite or of another shape.
    """
    frames = {frame: pose(robot, q, frame) for frame in robot.frames}
    drives = drive_primitives(robot, robot_state(robot, q, np.zeros(robot.n)).gravity_torques)
    carried = payload_primitives(estimate) if estimate is not None else ()
    touching = wrench_primitives(wrench, frames["flange"][:3, 3]) if wrench is not None else ()
    return Scene(frames, (*arm_primitives(robot), *drives, *carried, *touching))


@lru_cache(maxsize=8)
def arm_primitives(robot: RobotDescription) -> tuple[Primitive, ...]:
    """Links, centres of mass and end effector, each in its own frame: the same at every joint position.

    Layers: `arm`; `com`, balls that have the links' masses at `COM_DENSITY`; `ee`, its axes (red, green, blue).
    """
    ends = [*(T[:3, 3] for T in robot.placements), robot.T_joint_flange[:3, 3]]
    primitives = [
        _round("arm/plinth", "base", translation([0.0, 0.0, 0.01]), JOINT, BASE_RADIUS, 0.02),
        _round("arm/plate", "flange", translation([0.0, 0.0, -0.006]), JOINT, FLANGE_RADIUS, 0.012),
    ]
    # A tube from each frame to the next; the first one stands on the base.
    for frame, end, radius in zip(robot.frames, ends, link_radii(robot), strict=False):
        distance = float(np.linalg.norm(end))
        start = end * (radius / distance) if frame == "base" and distance > radius else np.zeros(3)
        if (length := float(np.linalg.norm(end - start))) > SHORTEST:
            primitives.append(_round(f"arm/{frame}", frame, along(end, 0.5 * (start + end)), LINK, radius, length))
    for i, link in enumerate(robot.links, start=1):
        if link.mass > 0.0:
            size = np.full(3, (6.0 * link.mass / (np.pi * COM_DENSITY)) ** (1.0 / 3.0))
            primitives.append(Primitive(f"com/link{i}", f"joint{i}", translation(link.com), COM, ELLIPSOID, size))
    for name, axis, colour in zip("xyz", np.eye(3), AXES, strict=True):
        primitives.append(_arrow(f"ee/{name}", "ee", along(axis, np.zeros(3)), colour, 0.08, 0.008))
    return tuple(primitives)


def drive_primitives(robot: RobotDescription, torques: ArrayLike) -> tuple[Primitive, ...]:
    """A ring about each joint's axis, from green over yellow to red as its torque (n,), N m, nears the limit.

    It is at the joint frame's origin; halfway back along the link before it where that runs along the joint's axis, as
    the drives of a Panda's joints 1 and 3 sit. It is dark where a joint is prismatic. Layer `gravity`. ArgumentError:
    `torques` is not a finite (n,) array.
    """
    shares = np.abs(checks.exactly(torques, (robot.n,), "torques")) / robot.limits.effort
    primitives = []
    for i, (placement, radius) in enumerate(zip(robot.placements, link_radii(robot), strict=False)):
        back = -placement[:3, :3].T @ placement[:3, 3]  # the frame before, seen from this one
        length = float(np.linalg.norm(back))
        in_line = length > SHORTEST and abs(back[2]) > IN_LINE * length and not robot.prismatic[i]
        T = translation([0.0, 0.0, 0.5 * back[2] if in_line else 0.0])
        red, green, blue = (float(np.interp(shares[i], SHARES, channel)) for channel in SHARE_COLOURS.T)
        colour = JOINT if robot.prismatic[i] else (red, green, blue, 1.0)
        primitives.append(_round(f"gravity/joint{i + 1}", f"joint{i + 1}", T, colour, 1.15 * radius, 0.9 * radius))
    return tuple(primitives)


def link_radii(robot: RobotDescription) -> FloatArray:
    """Radii (n + 1,), m, of the links that base and joints carry: thinner towards the flange."""
    return np.linspace(THICKEST, THINNEST, robot.n + 1)


def payload_primitives(estimate: PayloadEstimate) -> tuple[Primitive, ...]:
    """CoM, its 95 % ellipsoid, the equivalent box and the mass in words, in the flange frame; layer `payload`.

    Nothing is drawn where nothing is carried (`PayloadEstimate.is_carried`) and no hand is in doubt with it, and no box
    before the moments of inertia are identifiable.
    """
    if not estimate.is_carried and not (estimate.is_undecided and estimate.mass > LIGHTEST_PAYLOAD):
        return ()
    com = estimate.com
    variances, axes = np.linalg.eigh(com_covariance(estimate.mass, com, estimate.covariance))
    doubt = 2.0 * np.clip(ELLIPSOID_95 * np.sqrt(np.maximum(variances, 0.0)), SMALLEST, LARGEST)
    length = float(np.linalg.norm(com))
    words = f"{estimate.mass:.2f} ± {estimate.mass_margin:.2f} kg"
    primitives = [
        Primitive("payload/com", "flange", translation(com), CENTRE, ELLIPSOID, np.full(3, 0.022)),
        Primitive("payload/uncertainty", "flange", _principal(axes, com), UNCERTAINTY, ELLIPSOID, doubt),
        _label("payload/mass", "flange", com + np.array([0.0, 0.0, 0.12]), words),
    ]
    if estimate.identifiable[MOMENTS].all():
        second, axes = second_moments(estimate.inertia)  # of a homogeneous box with these edges
        edges = np.clip(np.sqrt(12.0 * np.maximum(second, 0.0) / estimate.mass), SMALLEST, LARGEST)
        primitives.append(Primitive("payload/box", "flange", _principal(axes, com), BODY, BOX, edges))
    if length > SMALLEST:
        primitives.append(_round("payload/lever", "flange", along(com, 0.5 * com), CENTRE, 0.004, length))
    return tuple(primitives)


def _principal(axes: FloatArray, position: FloatArray) -> FloatArray:
    """A frame (4, 4) at `position` (3,) with these axes (3, 3), or their opposites if they are left-handed."""
    return rigid(axes * np.sign(np.linalg.det(axes)), position)


def wrench_primitives(wrench: ArrayLike, point: FloatArray) -> tuple[Primitive, ...]:
    """The force as an arrow that ends before the point, the moment as one that begins there; layer `contact`, in base.

    `wrench` (6,), N and N m, force first, in base axes, is what the surroundings do to the arm at `point` (3,), m. 15
    mm stand for a newton, 4 cm for a newton metre, up to 0.6 m; less than 3 N or 1 N m is not drawn. ArgumentError:
    `wrench` is not a finite (6,) array.
    """
    force, moment = np.split(checks.exactly(wrench, (6,), "wrench"), 2)
    primitives: list[Primitive] = []
    if (size := float(np.linalg.norm(force))) > SMALLEST_FORCE:
        length = min(PER_NEWTON * size, LONGEST)
        tail = point - force * ((length + SURFACE) / size)
        primitives.append(_arrow("contact/force", "base", along(force, tail), FORCE, length, 0.016))
        behind = tail - LABEL_HEIGHT / size * force  # or the arrow would pierce it
        primitives.append(_label("contact/size", "base", behind, f"{size:.0f} N"))
    if (size := float(np.linalg.norm(moment))) > SMALLEST_MOMENT:
        length = min(PER_NEWTON_METRE * size, LONGEST)
        primitives.append(_arrow("contact/moment", "base", along(moment, point), MOMENT, length, 0.012))
    return tuple(primitives)


def _round(name: str, frame: str, T: FloatArray, colour: Colour, radius: float, length: float) -> Primitive:
    return Primitive(name, frame, T, colour, CYLINDER, np.array([2.0 * radius, 2.0 * radius, length]))


def _arrow(name: str, frame: str, T: FloatArray, colour: Colour, length: float, thickness: float) -> Primitive:
    return Primitive(name, frame, T, colour, ARROW, np.array([thickness, thickness, length]))


def _label(name: str, frame: str, position: FloatArray, text: str) -> Primitive:
    return Primitive(name, frame, translation(position), TEXT, LABEL, np.full(3, LABEL_HEIGHT), text)


def translation(position: ArrayLike) -> FloatArray:
    """The transform (4, 4) that only moves, by `position` (3,)."""
    return rigid(np.eye(3), np.asarray(position, dtype=float))


def along(direction: ArrayLike, position: ArrayLike) -> FloatArray:
    """A transform (4, 4) to `position` (3,) whose z axis points along `direction` (3,), of any length but zero."""
    z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return rigid(np.column_stack((x, np.cross(z, x), z)), np.asarray(position, dtype=float))
