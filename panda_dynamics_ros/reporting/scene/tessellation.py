# SPDX-License-Identifier: Apache-2.0
"""Primitives as triangles, for pictures and the web page."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene.primitives import (
    Arc,
    Arrow,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Mesh,
    MeshPart,
    Primitive,
)

AROUND = 40  # corners of a round cross-section
ALONG_DOME = 9  # rings from a dome's rim to its top
CORNERS_OF_ROD, RINGS_OF_ARC = 8, 28


@singledispatch
def tessellate(primitive: Primitive) -> Mesh:
    """The surface of a primitive, in its own axes; of a label, which has none, an empty mesh."""
    return Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int64))


@tessellate.register
def _mesh(primitive: MeshPart) -> Mesh:
    return primitive.mesh


@tessellate.register
def _ellipsoid(primitive: Ellipsoid) -> Mesh:
    polar = np.linspace(0.0, np.pi, 2 * ALONG_DOME + 1)
    ball = _revolve(np.sin(polar), -np.cos(polar))
    return Mesh(ball.vertices * primitive.semi_axes, ball.faces)


@tessellate.register
def _box(primitive: Box) -> Mesh:
    x, y, z = np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5], indexing="ij")
    corners = np.column_stack((x.ravel(), y.ravel(), z.ravel())) * primitive.edges
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return Mesh(corners, np.array(faces))


@tessellate.register
def _cylinder(primitive: Cylinder) -> Mesh:
    half = 0.5 * primitive.length
    heights = np.linspace(-half, half, max(2, int(primitive.length / 0.1)))
    radii = np.full(len(heights), primitive.radius)
    return _revolve(np.concatenate(([0.0], radii, [0.0])), np.concatenate(([-half], heights, [half])))


@tessellate.register
def _capsule(primitive: Capsule) -> Mesh:
    polar = np.linspace(0.0, 0.5 * np.pi, ALONG_DOME + 1)
    half, sin, cos = 0.5 * primitive.length, primitive.radius * np.sin(polar), primitive.radius * np.cos(polar)
    wall = np.linspace(-half, half, max(2, int(primitive.length / 0.1)))[1:-1]
    radii = np.concatenate((sin, np.full(len(wall), primitive.radius), sin[::-1]))
    return _revolve(radii, np.concatenate((-half - cos, wall, half + cos[::-1])))


@tessellate.register
def _arrow(primitive: Arrow) -> Mesh:
    neck = primitive.length - primitive.head_length
    radii = np.array([0.0, primitive.radius, primitive.radius, primitive.head_radius, 0.0])
    return _revolve(radii, np.array([0.0, 0.0, neck, neck, primitive.length]))


@tessellate.register
def _arc(primitive: Arc) -> Mesh:
    angles = np.linspace(0.0, primitive.angle, RINGS_OF_ARC)
    outward = np.column_stack((np.cos(angles), np.sin(angles), np.zeros(RINGS_OF_ARC)))
    up = np.array([0.0, 0.0, 1.0])
    around = np.linspace(0.0, 2.0 * np.pi, CORNERS_OF_ROD, endpoint=False)
    offsets = primitive.radius * (np.cos(around)[:, None, None] * outward + np.sin(around)[:, None, None] * up)
    rings = np.swapaxes(primitive.points(RINGS_OF_ARC) + offsets, 0, 1)
    return _closed_rings(rings if primitive.angle < 0.0 else rings[::-1])


def _revolve(radii: FloatArray, heights: FloatArray) -> Mesh:
    """The surface of a profile turned about z, from its lowest point to its highest."""
    around = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    circle = np.column_stack((np.cos(around), np.sin(around), np.zeros(AROUND)))
    rings = radii[:, None, None] * circle + heights[:, None, None] * np.array([0.0, 0.0, 1.0])
    return _closed_rings(rings)


def _closed_rings(rings: FloatArray) -> Mesh:
    """A skin over closed rings (R, C, 3) of C corners each, which run counter-clockwise as seen from the last ring."""
    count, corners = rings.shape[:2]
    index = np.arange(count * corners).reshape(count, corners)
    following = np.roll(index, -1, axis=1)
    a, b, c, d = index[:-1], following[:-1], following[1:], index[1:]
    faces = np.concatenate((np.stack((a, b, c), -1).reshape(-1, 3), np.stack((a, c, d), -1).reshape(-1, 3)))
    return Mesh(rings.reshape(-1, 3), faces)
