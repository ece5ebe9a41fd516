# SPDX-License-Identifier: Apache-2.0
"""The primitives that a scene is made of: solids and labels, each with its pose in one of the arm's frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.checks import FloatArray

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, each in [0, 1]
AROUND = 40  # corners of a round cross-section
RINGS_OF_BALL, CORNERS_OF_ROD, RINGS_OF_ARC = 19, 8, 28
LONGEST = 0.04  # m, of a triangle along the profile: a picture sorts triangles by their distance


class Mesh(NamedTuple):
    """Vertices (V, 3), m, and faces (F, 3), indices of three vertices counter-clockwise as seen from outside."""

    vertices: FloatArray
    faces: NDArray[np.int64]


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

    def mesh(self) -> Mesh:
        """The surface, in the primitive's own axes; empty where there is none."""
        return Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Ellipsoid(Primitive):
    """Semi-axes (3,), m, along the primitive's axes."""

    semi_axes: FloatArray

    def mesh(self) -> Mesh:
        """See `Primitive.mesh`."""
        polar = np.linspace(0.0, np.pi, RINGS_OF_BALL)
        ball = _revolve(np.sin(polar), -np.cos(polar), longest=np.inf)
        return Mesh(ball.vertices * self.semi_axes, ball.faces)


@dataclass(frozen=True, eq=False)
class Box(Primitive):
    """Edges (3,), m, along the primitive's axes, about its origin."""

    edges: FloatArray

    def mesh(self) -> Mesh:
        """See `Primitive.mesh`."""
        cube = _revolve(np.sqrt([0.0, 0.5, 0.5, 0.0]), np.array([-0.5, -0.5, 0.5, 0.5]), 4, 0.25 * np.pi)
        return Mesh(cube.vertices * self.edges, cube.faces)


@dataclass(frozen=True, eq=False)
class Cylinder(Primitive):
    """Radius and length, m; the axis is z, the origin in the middle."""

    radius: float
    length: float

    def mesh(self) -> Mesh:
        """See `Primitive.mesh`."""
        return _revolve(self.radius * np.array([0, 1, 1, 0]), 0.5 * self.length * np.array([-1, -1, 1, 1]))


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

    def mesh(self) -> Mesh:
        """See `Primitive.mesh`."""
        neck = self.length - self.head_length
        radii = np.array([0.0, self.radius, self.radius, self.head_radius, 0.0])
        return _revolve(radii, np.array([0.0, 0.0, neck, neck, self.length]))


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

    def mesh(self) -> Mesh:
        """See `Primitive.mesh`."""
        middle = self.points(RINGS_OF_ARC)
        around = np.linspace(0.0, 2.0 * np.pi, CORNERS_OF_ROD, endpoint=False)[:, None, None]
        offsets = np.cos(around) * middle / self.bend_radius + np.sin(around) * np.array([0.0, 0.0, 1.0])
        rings = np.swapaxes(middle + self.radius * offsets, 0, 1)
        return _skin(rings if self.angle < 0.0 else rings[::-1])


@dataclass(frozen=True, eq=False)
class Label(Primitive):
    """Text that faces the viewer, centred on the origin; `height` of a capital letter, m."""

    text: str
    height: float


def placed(R: ArrayLike, position: ArrayLike) -> FloatArray:
    """The transform (4, 4) with the rotation R (3, 3) to `position` (3,)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, position
    return T


def translation(position: ArrayLike) -> FloatArray:
    """The transform (4, 4) that only moves, by `position` (3,)."""
    return placed(np.eye(3), position)


def along(direction: ArrayLike, position: ArrayLike) -> FloatArray:
    """A transform (4, 4) to `position` (3,) whose z axis points along `direction` (3,), of any length but zero."""
    z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return placed(np.column_stack((x, np.cross(z, x), z)), position)


def _revolve(
    radii: FloatArray, heights: FloatArray, corners: int = AROUND, first: float = 0.0, longest: float = LONGEST
) -> Mesh:
    """The surface of a profile turned about z, from its lowest point to its highest; the first corner at this angle."""
    around = first + np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    circle = np.column_stack((np.cos(around), np.sin(around), np.zeros(corners)))
    counts = 1 + (np.hypot(np.diff(radii), np.diff(heights)) / longest).astype(int)
    points = np.concatenate((*(k + np.arange(count) / count for k, count in enumerate(counts)), [len(counts)]))
    radii, heights = (np.interp(points, np.arange(len(radii)), each) for each in (radii, heights))
    return _skin(radii[:, None, None] * circle + heights[:, None, None] * np.array([0.0, 0.0, 1.0]))


def _skin(rings: FloatArray) -> Mesh:
    """A skin over closed rings (R, C, 3) of C corners each, which run counter-clockwise as seen from the last ring."""
    count, corners = rings.shape[:2]
    index = np.arange(count * corners).reshape(count, corners)
    following = np.roll(index, -1, axis=1)
    a, b, c, d = index[:-1], following[:-1], following[1:], index[1:]
    faces = np.concatenate((np.stack((a, b, c), -1).reshape(-1, 3), np.stack((a, c, d), -1).reshape(-1, 3)))
    return Mesh(rings.reshape(-1, 3), faces)
