# SPDX-License-Identifier: Apache-2.0
"""What RViz knows a shape's marker by, and when it is to go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from panda_dynamics_ros.reporting.scene.markers import MarkerIds, draw, split
from panda_dynamics_ros.reporting.scene.primitives import Arc, Capsule, Cylinder, Ellipsoid, Primitive


def ball(name: str) -> Primitive:
    return Ellipsoid(name, "base", np.eye(4), (1.0, 0.0, 0.0, 1.0), np.ones(3))


def test_what_is_not_shown_any_more_is_told_once() -> None:
    ids = MarkerIds()
    a, b, c = (ids.key(ball(f"arm/{name}")) for name in "abc")
    assert [ids.key(ball(f"arm/{name}")) for name in "cba"] == [c, b, a]
    assert ids.gone({a, b, c}) == []
    assert ids.gone({b}) == [a, c]
    assert ids.gone({b}) == []
    assert ids.gone({a, b}) == []
    assert ids.gone(set()) == [a, b]


def test_a_translucent_link_has_no_balls_at_its_ends() -> None:
    """RViz would show them through its wall, brighter than the wall."""
    solid = Capsule("arm/a", "base", np.eye(4), (1.0, 1.0, 1.0, 1.0), 0.1, 0.5)
    assert [type(part) for part in split(solid)] == [Cylinder, Ellipsoid, Ellipsoid]
    assert [type(part) for part in split(replace(solid, colour=(1.0, 1.0, 1.0, 0.5)))] == [Cylinder]


def test_a_bent_rod_is_a_row_of_balls_without_gaps() -> None:
    """RViz's lines are flat: from the side, a torque would be invisible."""
    for angle in (-4.0, 0.05, 1.0):
        beads = draw(Arc("gravity/a", "base", np.eye(4), (1.0, 0.0, 0.0, 1.0), 0.1, angle, 0.008))
        assert beads.scale == (0.016, 0.016, 0.016)
        np.testing.assert_allclose(np.linalg.norm(beads.points, axis=1), 0.1, atol=1e-12)
        gaps = np.linalg.norm(np.diff(beads.points, axis=0), axis=1)
        assert gaps.max() <= 0.008
        np.testing.assert_allclose(beads.points[-1], [0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.0], atol=1e-12)
