# SPDX-License-Identifier: Apache-2.0
"""The primitives that a scene is made of: solids and labels, each with its pose in one of the arm's frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.checks import FloatArray

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, each in [0, 1]


@dataclass(frozen=True, eq=False)
class Primitive:
    """Base class: name, pose and colour.

    Attributes
    ----------
    name: "layer/item", distinct within a scene; a layer can be hidden as a whole.
    frame: one of the robot's frames.
    T: (4, 4), T_frame_primitive.
    colour: red, green, blue, opacity.
    """

    name: str
    frame: str
    T: FloatArray
    colour: Colour

    @property
    def layer(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, eq=False)
class Ellipsoid(Primitive):
    """Semi-axes (3,), m, along the primitive's axes."""

    semi_axes: FloatArray


@dataclass(frozen=True, eq=False)
class Box(Primitive):
    """Edges (3,), m, along the primitive's axes, about its origin."""

    edges: FloatArray


@dataclass(frozen=True, eq=False)
class Cylinder(Primitive):
    """Radius and length, m; the axis is z, the origin in the middle."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Capsule(Primitive):
    """A cylinder along z with half spheres on its ends; `length`, m, is that of the cylinder."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Arrow(Primitive):
    """From the origin along z; `length` from tail to tip, `radius` of the shaft, m."""

    length: float
    radius: float

    @property
    def head_radius(self) -> float:
        """Radius of the head's base, m."""
        return 2.2 * self.radius

    @property
    def head_length(self) -> float:
        """Length of the head, m; all of a short arrow is head."""
        return min(5.0 * self.radius, self.length)


@dataclass(frozen=True, eq=False)
class Arc(Primitive):
    """A bent rod of thickness `2 radius` on the circle of `bend_radius` about z, from x on by `angle`, rad."""

    bend_radius: float
    angle: float
    radius: float

    def points(self, count: int) -> FloatArray:
        """So many points (count, 3) along the middle of the rod."""
        angles = np.linspace(0.0, self.angle, count)
        return self.bend_radius * np.column_stack((np.cos(angles), np.sin(angles), np.zeros(count)))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices (V, 3), m, and faces (F, 3), indices of three vertices counter-clockwise as seen from outside."""

    vertices: FloatArray
    faces: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Label(Primitive):
    """Text that faces the viewer, centred on the origin; `height` of a capital letter, m."""

    text: str
    height: float


def translation(position: ArrayLike) -> FloatArray:
    """The transform (4, 4) that only moves, by `position` (3,)."""
    T = np.eye(4)
    T[:3, 3] = position
    return T


def along(direction: ArrayLike, position: ArrayLike) -> FloatArray:
    """A transform (4, 4) to `position` (3,) whose z axis points along `direction` (3,), of any length but zero."""
    z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    T = translation(position)
    T[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    return T
