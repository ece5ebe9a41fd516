# SPDX-License-Identifier: Apache-2.0
"""Pictures of scenes: what is nearer hides what is farther, and all that stands there is in the picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation import PayloadEstimate, SmoothedHistory
from panda_dynamics_ros.reporting.plots import plot_payload, plot_torques
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.reporting.scene.primitives import Box, Ellipsoid
from panda_dynamics_ros.reporting.scene.tessellation import tessellate
from panda_dynamics_ros.reporting.scene_picture import Camera, draw_scene, draw_triangles, scene_points

RED, GREEN, GLASS = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.5)
# Looks along y from 2 m away: x to the right, z up, 2 m high.
CAMERA = Camera(np.array([0.0, -2.0, 0.0]), np.zeros(3), 2.0 * np.arctan(0.5))


def cube(y: float, edge: float) -> np.ndarray:
    """Triangles of a cube in the middle of the picture."""
    mesh = tessellate(Box("a/cube", "base", np.eye(4), RED, np.full(3, edge)))
    return np.asarray((mesh.vertices + np.array([0.0, y, 0.0]))[mesh.faces])


def picture(*things: tuple[np.ndarray, tuple[float, ...]]) -> np.ndarray:
    """160 by 100 pixels."""
    figure = Figure(figsize=(1.6, 1.0), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.0, 1.0))
    axes.set_axis_off()
    draw_triangles(axes, CAMERA, [(triangles, np.tile(colour, (len(triangles), 1))) for triangles, colour in things])
    canvas.draw()
    return np.asarray(canvas.buffer_rgba(), dtype=int)[..., :3]


def test_a_face_is_as_large_as_it_looks_from_there() -> None:
    """A front 1 m wide, 1.5 m away: 100 px / (2 * 1.5 m * tan(half the view angle)) = 66.7 pixels wide."""
    red = (picture((cube(0.0, 1.0), RED)) == [255, 0, 0]).all(axis=-1)
    width, height = (int(red.any(axis=axis).sum()) for axis in (0, 1))
    assert width == pytest.approx(200.0 / 3.0, abs=2.0)  # the edges' line is half a pixel wide
    assert height == pytest.approx(200.0 / 3.0, abs=2.0)
    assert red[50, 80]
    assert not red[50, 10]


def test_up_and_right_are_where_they_belong() -> None:
    assert CAMERA.project(np.array([0.5, 0.0, 0.25])) == pytest.approx((0.5, 0.25, 2.0))


@pytest.mark.parametrize("near_first", [True, False])
def test_the_nearer_hides_the_farther_in_whatever_order(near_first: bool) -> None:
    near, far = (cube(-0.5, 0.4), GREEN), (cube(0.6, 1.5), RED)
    image = picture(near, far) if near_first else picture(far, near)
    assert image[50, 80] == pytest.approx([0, 255, 0], abs=5)  # an edge is anti-aliased
    assert image[50, 50] == pytest.approx([255, 0, 0], abs=5)  # beside the near one
    assert image[5, 5].tolist() == [255, 255, 255]


@pytest.mark.parametrize("place", [-0.5, 0.6])
def test_glass_tints_what_is_behind_it_and_only_that(place: float) -> None:
    image = picture((cube(0.0, 0.4), RED), (cube(place, 0.4), GLASS))
    assert image[50, 80] == pytest.approx([128, 0, 128] if place < 0.0 else [255, 0, 0], abs=20)  # two triangles meet


def test_a_ball_seen_from_within_is_not_there() -> None:
    """Faces seen from their back are left out."""
    ball = tessellate(Ellipsoid("a/ball", "base", np.eye(4), RED, np.full(3, 5.0)))
    assert (picture((ball.vertices[ball.faces], RED)) == 255).all()


def test_the_payload_is_in_the_picture(panda: pdr.RobotModel, tmp_path: Path) -> None:
    q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])
    body = pdr.InertialParameters(1.0, np.array([0.0, 0.0, 0.1]), 0.002 * np.eye(3))
    estimate = PayloadEstimate(0.0, body.vector, 1e-5 * np.eye(10), np.ones(10, dtype=bool), "estimating")
    maker, counts = ArmScene(panda, meshes=False), []
    for scene in (maker.at(q), maker.at(q, estimate), maker.at(q, estimate, [0.0, 30.0, 0.0, 0.0, 0.0, 0.0])):
        image = imread(draw_scene(scene, tmp_path / "scene.png"))[..., :3]
        assert image.shape == (900, 1200, 3)
        red, green, blue = np.moveaxis(image, -1, 0)
        teal = (green > 1.5 * red) & (blue > 1.5 * red)
        assert teal.sum() > 2000  # the links' centres of mass
        edge = np.concatenate((teal[:, :3], teal[:, -3:]), axis=1)
        assert not edge.any()
        counts.append((int((blue > 1.3 * red).sum()), int((red > 2.0 * green).sum())))
    (blue_arm, red_arm), (blue_payload, red_payload), (_, red_force) = counts
    assert blue_payload - blue_arm > 3000  # the box
    assert red_payload > red_arm
    assert red_force > red_payload + 300


def test_pictures_of_one_motion_show_the_foot_in_one_place(panda: pdr.RobotModel, tmp_path: Path) -> None:
    """Around the same points camera and floor stand still; each scene by itself is drawn as large as it fits."""
    maker = ArmScene(panda, meshes=False)
    scenes = [maker.at([0.0, elbow, 0.0, -2.0, 0.0, 1.8, 0.7]) for elbow in (-0.9, 0.6)]
    around = np.concatenate([scene_points(scene) for scene in scenes])
    fixed = [imread(draw_scene(scene, tmp_path / "scene.png", around)) for scene in scenes]
    own = [imread(draw_scene(scene, tmp_path / "scene.png")) for scene in scenes]
    corner = np.s_[-250:-60, -250:]  # floor and its lines, away from arm, shadow and words
    assert (fixed[0][corner] == fixed[1][corner]).all()
    assert (own[0][corner] != own[1][corner]).any()


def test_a_banner_is_red_and_on_top(panda: pdr.RobotModel, tmp_path: Path) -> None:
    """In all three pictures of a replay, which have little else in red at the top."""
    time, motion = np.linspace(0.0, 1.0, 20), np.zeros((20, 7))
    curves = {
        "estimate": SmoothedHistory(motion[:, 0], motion[:, 0], motion[:, :3], motion[:, :3], np.zeros(20, dtype=bool))
    }
    scene, path = ArmScene(panda, meshes=False).at(np.zeros(7)), tmp_path / "picture.png"
    draw: list[Callable[[str], Path]] = [
        lambda banner: plot_payload(time, curves, path, "title", banner=banner),
        lambda banner: plot_torques(time, motion, motion, motion, path, banner),
        lambda banner: draw_scene(scene, path, banner=banner),
    ]
    for each in draw:
        red = []
        for banner in ("", "the torques have the opposite sign of the arm's: check the sign convention"):
            image = imread(each(banner))[:40, :, :3]
            red.append(int((image[..., 0] - image[..., 1:].max(axis=-1) > 0.3).sum()))
        assert red[1] > red[0] + 300  # px: a line of text
