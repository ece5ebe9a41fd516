# SPDX-License-Identifier: Apache-2.0
"""Shapes as triangles: closed, facing outward, of the right size."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from panda_dynamics_ros.reporting.scene.primitives import (
    Arc,
    Arrow,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Label,
    Mesh,
    Primitive,
)
from panda_dynamics_ros.reporting.scene.tessellation import tessellate

PLACE = ("layer/name", "base", np.eye(4), (1.0, 1.0, 1.0, 1.0))
SOLIDS: list[tuple[Primitive, float]] = [
    (Ellipsoid(*PLACE, np.array([0.1, 0.2, 0.3])), 4.0 / 3.0 * np.pi * 0.1 * 0.2 * 0.3),
    (Box(*PLACE, np.array([0.1, 0.2, 0.3])), 0.1 * 0.2 * 0.3),
    (Cylinder(*PLACE, 0.1, 0.5), np.pi * 0.1**2 * 0.5),
    (Capsule(*PLACE, 0.1, 0.5), np.pi * 0.1**2 * 0.5 + 4.0 / 3.0 * np.pi * 0.1**3),
    # Shaft and cone, the latter of 2.2 times the shaft's radius and five of them long.
    (Arrow(*PLACE, 0.3, 0.02), np.pi * 0.02**2 * 0.2 + np.pi * 0.044**2 * 0.1 / 3.0),
    (Arrow(*PLACE, 0.05, 0.02), np.pi * 0.044**2 * 0.05 / 3.0),
]


def corners(mesh: Mesh) -> np.ndarray:
    return np.asarray(mesh.vertices[mesh.faces])


@pytest.mark.parametrize(("primitive", "volume"), SOLIDS, ids=lambda value: type(value).__name__)
def test_the_volume_within_is_the_solids(primitive: Primitive, volume: float) -> None:
    """By the divergence theorem, which an inward face would spoil. Corners cut 1 % off a ball at most."""
    a, b, c = np.moveaxis(corners(tessellate(primitive)), 1, 0)
    enclosed = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert enclosed == pytest.approx(volume, rel=0.015)


@pytest.mark.parametrize(("primitive", "volume"), SOLIDS, ids=lambda value: type(value).__name__)
def test_every_edge_has_two_faces(primitive: Primitive, volume: float) -> None:
    """Once the vertices that coincide are one, and faces without area are left out."""
    points = np.round(corners(tessellate(primitive)), 9) + 0.0
    edges: Counter[tuple[tuple[float, ...], tuple[float, ...]]] = Counter()
    for face in points:
        a, b, c = (tuple(corner) for corner in face)
        if len({a, b, c}) == 3:
            edges.update([(a, b), (b, c), (c, a)])
    assert all(edges[b, a] == count == 1 for (a, b), count in edges.items())


@pytest.mark.parametrize("angle", [-4.0, -0.1, 0.1, 4.0])
def test_a_bent_rod_keeps_its_thickness_and_faces_outward(angle: float) -> None:
    mesh = tessellate(Arc(*PLACE, 0.3, angle, 0.02))
    flat = mesh.vertices * [1.0, 1.0, 0.0]
    middle = 0.3 * flat / np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(mesh.vertices - middle, axis=1), 0.02, rtol=1e-9)
    a, b, c = np.moveaxis(corners(mesh), 1, 0)
    outward = (mesh.vertices - middle)[mesh.faces].mean(axis=1)
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), outward) > 0.0).all()
    turned = np.arctan2(flat[:, 1], flat[:, 0]) % (2.0 * np.pi * np.sign(angle))
    assert np.abs(turned).max() == pytest.approx(abs(angle), rel=1e-9)


def test_a_label_has_no_surface() -> None:
    assert len(tessellate(Label(*PLACE, "text", 0.1)).faces) == 0
