# SPDX-License-Identifier: Apache-2.0
"""Scenes: where primitives are, how large, and when they are there."""

from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation.estimate import TOUCHED, PayloadEstimate, com_covariance
from panda_dynamics_ros.reporting.scene import (
    ARROW,
    BOX,
    ELLIPSOID_95,
    JOINT,
    SHARE_COLOURS,
    SURFACE,
    Primitive,
    Scene,
    arm_scene,
    drive_primitives,
    payload_primitives,
    wrench_primitives,
)

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
    scene = arm_scene(robot, Q, estimate_of(1.0), [10.0, 0.0, 0.0, 0.0, 2.0, 0.0])
    assert len(by_name(scene.primitives)) == len(scene.primitives)
    assert {primitive.layer for primitive in scene.primitives} == {"arm", "com", "ee", "gravity", "payload", "contact"}
    assert {primitive.frame for primitive in scene.primitives} <= set(robot.frames)
    for frame, T in scene.frames.items():
        np.testing.assert_array_equal(T, robot.pose(Q, frame))


def test_the_arm_stays_the_same_shapes_and_only_its_frames_move(panda):
    """Who draws may send each of them once."""
    first, second = arm_scene(panda, Q), arm_scene(panda, Q + 0.1)
    for layer in ("arm", "com", "ee"):
        assert all(a is b for a, b in zip(of_layer(first, layer), of_layer(second, layer), strict=True))


def test_a_drive_is_green_at_rest_and_red_near_the_torque_limit_whatever_the_sign(panda):
    drives = drive_primitives(panda, panda.limits.effort * [0.0, 0.35, -0.35, 0.8, -1.0, 7.0, 0.175])
    green, yellow, red = SHARE_COLOURS
    expected = [green, yellow, yellow, red, red, red, 0.5 * (green + yellow)]
    np.testing.assert_allclose([drive.colour[:3] for drive in drives], expected, atol=1e-12)
    # Joints 1 and 3 turn about the links before them, 0.333 and 0.316 m long, and have their drives in the middle.
    heights = [drive.T[2, 3] for drive in drives]
    np.testing.assert_allclose(heights, [-0.1665, 0.0, -0.158, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_payload_and_equivalent_box_are_where_the_payload_is(panda):
    scene = arm_scene(panda, Q, estimate_of(2.0))
    primitives = by_name(tuple(of_layer(scene, "payload")))
    expected = (panda.pose(Q) @ [*COM, 1.0])[:3]
    for name in ("com", "uncertainty", "box"):
        np.testing.assert_allclose(scene.place(primitives[f"payload/{name}"])[:3, 3], expected, atol=1e-12)
    box = primitives["payload/box"]
    assert box.shape == BOX
    # Along each axis of the flange the box is as long as the cuboid, whichever of its own axes that is.
    np.testing.assert_allclose(np.abs(box.T[:3, :3]) @ box.size, EDGES, rtol=1e-9)
    assert np.linalg.det(box.T[:3, :3]) == pytest.approx(1.0)


def test_an_inertia_that_nobody_knows_has_no_box():
    """Until the data tells, it is the prior's, made consistent: of 1 kg that may be a plank of half a metre."""
    assert payload_primitives(estimate_of(0.04, 0.001)) == ()  # nothing is carried
    known, unknown = (by_name(payload_primitives(estimate_of(1.0, identifiable=flag))) for flag in (True, False))
    assert known.keys() - unknown.keys() == {"payload/box"}


def test_a_hand_does_not_hide_what_is_carried():
    in_doubt = estimate_of(1.0, 0.6)
    assert payload_primitives(in_doubt) == ()
    assert "payload/mass" in by_name(payload_primitives(replace(in_doubt, status=TOUCHED)))
    assert payload_primitives(replace(estimate_of(0.04, 0.6), status=TOUCHED)) == ()


def test_the_doubt_about_the_centre_is_that_of_samples(rng):
    """Of 200000 payloads as the covariance has them; 1 % from sampling, 1 % from the second order of the mass."""
    estimate = estimate_of(1.0)
    m, *mc = rng.multivariate_normal(estimate.vector[:4], estimate.covariance[:4, :4], 200_000).T
    sampled = np.cov(np.array(mc) / m)
    covariance = com_covariance(estimate.mass, estimate.com, estimate.covariance)
    np.testing.assert_allclose(covariance, sampled, atol=0.03 * sampled.max())
    ball = by_name(payload_primitives(estimate))["payload/uncertainty"]
    drawn = ball.T[:3, :3] @ np.diag((0.5 * ball.size / ELLIPSOID_95) ** 2) @ ball.T[:3, :3].T
    np.testing.assert_allclose(drawn, sampled, atol=0.03 * sampled.max())


def test_a_force_ends_before_the_flange_and_is_as_long_as_it_is_large(panda):
    scene = arm_scene(panda, Q, wrench=[0.0, -20.0, 0.0, 0.0, 0.0, 3.0])
    force, size, moment = of_layer(scene, "contact")
    origin = panda.pose(Q)[:3, 3]
    assert force.shape == ARROW
    tip = (scene.place(force) @ [0.0, 0.0, force.size[2], 1.0])[:3]
    np.testing.assert_allclose(tip - origin, [0.0, SURFACE, 0.0], atol=1e-12)
    np.testing.assert_allclose(scene.place(force)[:3, 2], [0.0, -1.0, 0.0], atol=1e-12)
    assert force.size[2] == pytest.approx(0.3)
    assert size.text == "20 N"
    behind = scene.place(size)[:3, 3] - origin
    np.testing.assert_allclose(behind, [0.0, SURFACE + force.size[2] + size.size[2], 0.0], atol=1e-12)
    np.testing.assert_allclose(scene.place(moment)[:3, 3], origin, atol=1e-12)
    np.testing.assert_allclose(scene.place(moment)[:3, 2], [0.0, 0.0, 1.0], atol=1e-12)


def test_small_wrenches_are_not_drawn_and_large_ones_end_in_view():
    assert wrench_primitives([1.0, 1.0, 1.0, 0.5, 0.5, 0.5], np.zeros(3)) == ()
    primitives = wrench_primitives([1e4, 0.0, 0.0, 1e4, 0.0, 0.0], np.zeros(3))
    assert [each.size[2] for each in primitives if each.shape == ARROW] == [0.6, 0.6]


def test_sliding_joints_and_massless_links_leave_their_marks_out(panda):
    links = (*panda.links[:-1], pdr.InertialParameters.zero())
    other = replace(panda, prismatic=(False, True, *panda.prismatic[2:]), links=links)
    primitives = by_name(arm_scene(other, 0.1 * Q).primitives)
    assert "com/link7" not in primitives
    assert primitives["gravity/joint2"].colour == JOINT
