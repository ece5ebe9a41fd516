# SPDX-License-Identifier: Apache-2.0
"""Primitives as triangles, for pictures and the web page."""

from __future__ import annotations

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
    Primitive,
)

AROUND = 40  # corners of a round cross-section
ALONG_DOME = 9  # rings from a dome's rim to its top
CORNERS_OF_ROD, RINGS_OF_ARC = 8, 28
LONGEST = 0.04  # m, of a triangle along the profile: a picture sorts triangles by their distance
HALF = np.array([-0.5, 0.5])


def tessellate(primitive: Primitive) -> Mesh:
    """The surface of a primitive, in its own axes; of a label, which has none, an empty mesh."""
    polar = np.linspace(0.0, 0.5 * np.pi, ALONG_DOME + 1)
    if isinstance(primitive, Ellipsoid):
        ball = _capsule(np.sin(polar), np.cos(polar), np.zeros(2))
        return Mesh(ball.vertices * primitive.semi_axes, ball.faces)
    if isinstance(primitive, Box):
        cube = _revolve(np.sqrt([0.0, 0.5, 0.5, 0.0]), HALF.repeat(2), corners=4, first=0.25 * np.pi)
        return Mesh(cube.vertices * primitive.edges, cube.faces)
    if isinstance(primitive, Cylinder):
        return _revolve(primitive.radius * np.array([0.0, 1.0, 1.0, 0.0]), primitive.length * HALF.repeat(2))
    if isinstance(primitive, Capsule):
        return _capsule(primitive.radius * np.sin(polar), primitive.radius * np.cos(polar), primitive.length * HALF)
    if isinstance(primitive, Arrow):
        neck = primitive.length - primitive.head_length
        radii = np.array([0.0, primitive.radius, primitive.radius, primitive.head_radius, 0.0])
        return _revolve(radii, np.array([0.0, 0.0, neck, neck, primitive.length]))
    if isinstance(primitive, Arc):
        return _arc(primitive)
    return Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int64))


def _arc(arc: Arc) -> Mesh:
    angles = np.linspace(0.0, arc.angle, RINGS_OF_ARC)
    outward = np.column_stack((np.cos(angles), np.sin(angles), np.zeros(RINGS_OF_ARC)))
    around = np.linspace(0.0, 2.0 * np.pi, CORNERS_OF_ROD, endpoint=False)[:, None, None]
    offsets = arc.radius * (np.cos(around) * outward + np.sin(around) * np.array([0.0, 0.0, 1.0]))
    rings = np.swapaxes(arc.points(RINGS_OF_ARC) + offsets, 0, 1)
    return _closed_rings(rings if arc.angle < 0.0 else rings[::-1])


def _capsule(radii: FloatArray, heights: FloatArray, ends: FloatArray) -> Mesh:
    """Half a ball, given from its top to its rim, at both `ends` (2,) of a cylinder."""
    return _revolve(np.concatenate((radii, radii[::-1])), np.concatenate((ends[0] - heights, ends[1] + heights[::-1])))


def _revolve(radii: FloatArray, heights: FloatArray, corners: int = AROUND, first: float = 0.0) -> Mesh:
    """The surface of a profile turned about z, from its lowest point to its highest; the first corner at this angle."""
    around = first + np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    circle = np.column_stack((np.cos(around), np.sin(around), np.zeros(corners)))
    counts = 1 + (np.hypot(np.diff(radii), np.diff(heights)) / LONGEST).astype(int)
    points = np.concatenate((*(k + np.arange(count) / count for k, count in enumerate(counts)), [len(counts)]))
    radii, heights = (np.interp(points, np.arange(len(radii)), each) for each in (radii, heights))
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
