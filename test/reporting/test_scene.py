# SPDX-License-Identifier: Apache-2.0
"""Scenes: where primitives are, how large, when they are there; their meshes and RViz markers."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.estimation.estimate import com_covariance
from panda_dynamics_ros.reporting.scene import ArmScene, Scene
from panda_dynamics_ros.reporting.scene.forces import FULL_ANGLE, SURFACE, torque_primitives, wrench_primitives
from panda_dynamics_ros.reporting.scene.markers import MarkerIds, draw
from panda_dynamics_ros.reporting.scene.payload import ELLIPSOID_95, payload_primitives
from panda_dynamics_ros.reporting.scene.primitives import Arc, Arrow, Box, Cylinder, Ellipsoid, Label, Primitive

Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])
COM, EDGES = np.array([0.02, -0.015, 0.06]), np.array([0.08, 0.12, 0.2])


def cuboid(mass: float) -> pdr.InertialParameters:
    """A homogeneous one with edges `EDGES`, upright in the flange frame."""
    x, y, z = EDGES**2
    return pdr.InertialParameters(mass, COM, mass / 12.0 * np.diag([y + z, x + z, x + y]))


def estimate_of(mass: float, mass_std: float = 0.02, identifiable: bool = True) -> PayloadEstimate:
    """With deviations that are correlated as an estimator's are."""
    std = np.array([mass_std, 0.004, 0.006, 0.008, *[0.001] * 6])
    correlation = 0.3 + 0.7 * np.eye(10)
    flags = np.full(10, identifiable)
    return PayloadEstimate(1.0, cuboid(mass).vector, std[:, None] * correlation * std, flags, "estimating")


def of_layer(scene: Scene, layer: str) -> list[Primitive]:
    return [primitive for primitive in scene.primitives if primitive.layer == layer]


def by_name(primitives: tuple[Primitive, ...]) -> dict[str, Primitive]:
    return {primitive.name: primitive for primitive in primitives}


def test_names_are_distinct_and_frames_known(robot):
    scene = ArmScene(robot).at(Q, estimate_of(1.0), [10.0, 0.0, 0.0, 0.0, 2.0, 0.0])
    assert len(by_name(scene.primitives)) == len(scene.primitives)
    assert {primitive.layer for primitive in scene.primitives} == {"arm", "com", "ee", "gravity", "payload", "contact"}
    assert {primitive.frame for primitive in scene.primitives} <= set(robot.frames)
    for frame, T in scene.frames.items():
        np.testing.assert_array_equal(T, robot.pose(Q, frame))


def test_the_arm_stays_the_same_shapes_and_only_its_frames_move(panda):
    """Who draws may send each of them once."""
    maker = ArmScene(panda)
    first, second = maker.at(Q), maker.at(Q + 0.1)
    for layer in ("arm", "com", "ee"):
        pairs = zip(of_layer(first, layer), of_layer(second, layer), strict=True)
        assert all(a is b for a, b in pairs)


def test_bent_arrows_go_with_torque_and_sign(panda):
    limits = panda.limits.effort
    primitives = by_name(torque_primitives(panda, limits * [0.5, -0.5, 1.0, 7.0, 0.001, -0.25, 0.0]))
    angles = {name: primitive.angle for name, primitive in primitives.items() if isinstance(primitive, Arc)}
    expected = {1: 0.5, 2: -0.5, 3: 1.0, 4: 1.0, 6: -0.25}  # cut off at the limit, left out below a fiftieth
    assert angles == pytest.approx({f"gravity/joint{i}": FULL_ANGLE * share for i, share in expected.items()})
    # The head goes on where the rod ends, forward in the sense of the torque.
    for i, share in expected.items():
        arc, head = primitives[f"gravity/joint{i}"], primitives[f"gravity/tip{i}"]
        assert isinstance(arc, Arc)
        points = arc.points(1000) @ arc.T[:3, :3].T + arc.T[:3, 3]
        np.testing.assert_allclose(head.T[:3, 3], points[-1], atol=1e-12)
        assert head.T[:3, 2] @ (points[-1] - points[-2]) > 0.0, share


def test_payload_and_equivalent_box_are_where_the_payload_is(panda):
    estimate = estimate_of(1.0)
    scene = ArmScene(panda).at(Q, estimate)
    primitives = by_name(tuple(of_layer(scene, "payload")))
    expected = (panda.pose(Q) @ [*COM, 1.0])[:3]
    for name in ("com", "uncertainty", "box"):
        np.testing.assert_allclose(scene.place(primitives[f"payload/{name}"])[:3, 3], expected, atol=1e-12)
    box = primitives["payload/box"]
    assert isinstance(box, Box)
    # Along each axis of the flange the box is as long as the cuboid, whichever of its own axes that is.
    np.testing.assert_allclose(np.abs(box.T[:3, :3]) @ box.edges, EDGES, rtol=1e-9)
    assert np.linalg.det(box.T[:3, :3]) == pytest.approx(1.0)


def test_an_inertia_that_nobody_knows_has_no_box():
    """Until the data tells, it is the prior's, made consistent: of 1 kg that may be a plank of half a metre."""
    assert payload_primitives(estimate_of(0.04, 0.001)) == ()  # nothing is carried
    known, unknown = (by_name(payload_primitives(estimate_of(1.0, identifiable=flag))) for flag in (True, False))
    assert known.keys() - unknown.keys() == {"payload/box"}


def test_the_doubt_about_the_centre_is_that_of_samples(rng):
    """Of 200000 payloads as the covariance has them; 1 % from sampling, 1 % from the second order of the mass."""
    estimate = estimate_of(1.0)
    m, *mc = rng.multivariate_normal(estimate.vector[:4], estimate.covariance[:4, :4], 200_000).T
    sampled = np.cov(np.array(mc) / m)
    covariance = com_covariance(estimate.mass, estimate.com, estimate.covariance)
    np.testing.assert_allclose(covariance, sampled, atol=0.03 * sampled.max())
    ball = by_name(payload_primitives(estimate))["payload/uncertainty"]
    assert isinstance(ball, Ellipsoid)
    drawn = ball.T[:3, :3] @ np.diag((ball.semi_axes / ELLIPSOID_95) ** 2) @ ball.T[:3, :3].T
    np.testing.assert_allclose(drawn, sampled, atol=0.03 * sampled.max())


def test_a_force_ends_before_the_flange_and_is_as_long_as_it_is_large(panda):
    scene = ArmScene(panda).at(Q, wrench=[0.0, -20.0, 0.0, 0.0, 0.0, 3.0])
    force, size, moment = of_layer(scene, "contact")
    origin = panda.pose(Q)[:3, 3]
    assert isinstance(force, Arrow)
    tip = (scene.place(force) @ [0.0, 0.0, force.length, 1.0])[:3]
    np.testing.assert_allclose(tip - origin, [0.0, SURFACE, 0.0], atol=1e-12)
    np.testing.assert_allclose(scene.place(force)[:3, 2], [0.0, -1.0, 0.0], atol=1e-12)
    assert force.length == pytest.approx(0.3)
    assert isinstance(size, Label)
    assert size.text == "20 N"
    behind = scene.place(size)[:3, 3] - origin
    np.testing.assert_allclose(behind, [0.0, SURFACE + force.length + size.height, 0.0], atol=1e-12)
    np.testing.assert_allclose(scene.place(moment)[:3, 3], origin, atol=1e-12)
    np.testing.assert_allclose(scene.place(moment)[:3, 2], [0.0, 0.0, 1.0], atol=1e-12)


def test_small_wrenches_are_not_drawn_and_large_ones_end_in_view():
    assert wrench_primitives([1.0, 1.0, 1.0, 0.5, 0.5, 0.5], np.zeros(3)) == ()
    arrows = [
        each for each in wrench_primitives([1e4, 0.0, 0.0, 1e4, 0.0, 0.0], np.zeros(3)) if isinstance(each, Arrow)
    ]
    assert [arrow.length for arrow in arrows] == [0.6, 0.6]


def test_sliding_joints_and_massless_links_leave_their_marks_out(panda):
    links = (*panda.links[:-1], pdr.InertialParameters.zero())
    other = replace(panda, prismatic=(False, True, *panda.prismatic[2:]), links=links)
    names = by_name(ArmScene(other).at(0.1 * Q).primitives).keys()
    assert "com/link7" not in names
    assert not names & {"gravity/joint2", "gravity/tip2"}


PLACE = ("layer/name", "base", np.eye(4), (1.0, 1.0, 1.0, 1.0))
SOLIDS: list[tuple[Primitive, float]] = [
    (Ellipsoid(*PLACE, np.array([0.1, 0.2, 0.3])), 4.0 / 3.0 * np.pi * 0.1 * 0.2 * 0.3),
    (Box(*PLACE, np.array([0.1, 0.2, 0.3])), 0.1 * 0.2 * 0.3),
    (Cylinder(*PLACE, 0.1, 0.5), np.pi * 0.1**2 * 0.5),
    # Shaft and cone, the latter of 2.2 times the shaft's radius and five of them long.
    (Arrow(*PLACE, 0.3, 0.02), np.pi * 0.02**2 * 0.2 + np.pi * 0.044**2 * 0.1 / 3.0),
    (Arrow(*PLACE, 0.05, 0.02), np.pi * 0.044**2 * 0.05 / 3.0),
    *((Arc(*PLACE, 0.3, angle, 0.02), np.pi * 0.02**2 * 0.3 * abs(angle)) for angle in (-4.0, 0.1, 4.0)),
]


@pytest.mark.parametrize(("primitive", "volume"), SOLIDS, ids=lambda value: type(value).__name__)
def test_a_mesh_encloses_the_solid(primitive, volume):
    """By the divergence theorem, which an inward face would spoil; each edge has two faces, but at a rod's open ends.

    Corners cut 1.5 % off a ball at most, and 10 % off a rod, which has eight of them.
    """
    vertices, faces = primitive.mesh()
    corners = vertices[faces]
    if isinstance(primitive, Arc):  # a flat end adds nothing as seen from a point in its plane, the origin
        a, b, c = np.moveaxis(corners, 1, 0)
        assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 == pytest.approx(0.9 * volume, rel=0.02)
        return
    a, b, c = np.moveaxis(corners, 1, 0)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=0.015)
    edges: Counter[tuple[tuple[float, ...], tuple[float, ...]]] = Counter()
    for face in np.round(corners, 9) + 0.0:
        p, q, r = (tuple(corner) for corner in face)
        if len({p, q, r}) == 3:
            edges.update([(p, q), (q, r), (r, p)])
    assert all(edges[b, a] == count == 1 for (a, b), count in edges.items())


def test_what_is_not_shown_any_more_is_told_once():
    ids = MarkerIds()
    balls = {name: Ellipsoid(f"arm/{name}", *PLACE[1:], np.ones(3)) for name in "abc"}
    a, b, c = (ids.key(balls[name]) for name in "abc")
    assert [ids.key(balls[name]) for name in "cba"] == [c, b, a]
    assert ids.gone({a, b, c}) == []
    assert ids.gone({b}) == [a, c]
    assert ids.gone({b}) == []
    assert ids.gone({a, b}) == []
    assert ids.gone(set()) == [a, b]


def test_a_bent_rod_is_a_row_of_balls_without_gaps():
    """RViz's lines are flat: from the side, a torque would be invisible."""
    for angle in (-4.0, 0.05, 1.0):
        beads = draw(Arc(*PLACE, 0.1, angle, 0.008))
        assert beads.scale == (0.016, 0.016, 0.016)
        np.testing.assert_allclose(np.linalg.norm(beads.points, axis=1), 0.1, atol=1e-12)
        gaps = np.linalg.norm(np.diff(beads.points, axis=0), axis=1)
        assert gaps.max() <= 0.008
        np.testing.assert_allclose(beads.points[-1], [0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.0], atol=1e-12)
