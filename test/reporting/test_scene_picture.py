# SPDX-License-Identifier: Apache-2.0
"""Pictures of scenes: all that stands there is in the picture."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.image import imread

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation import PayloadEstimate, SmoothedHistory
from panda_dynamics_ros.reporting.plots import plot_payload, plot_torques
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.reporting.scene_picture import draw_scene, scene_points


def test_the_payload_is_in_the_picture(panda, tmp_path):
    q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])
    body = pdr.InertialParameters(1.0, np.array([0.0, 0.0, 0.1]), 0.002 * np.eye(3))
    estimate = PayloadEstimate(0.0, body.vector, 1e-5 * np.eye(10), np.ones(10, dtype=bool), "estimating")
    maker, counts = ArmScene(panda), []
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


def test_pictures_of_one_motion_show_the_foot_in_one_place(panda, tmp_path):
    """Around the same points camera and floor stand still; each scene by itself is drawn as large as it fits."""
    maker = ArmScene(panda)
    scenes = [maker.at([0.0, elbow, 0.0, -2.0, 0.0, 1.8, 0.7]) for elbow in (-0.9, 0.6)]
    around = np.concatenate([scene_points(scene) for scene in scenes])
    fixed = [imread(draw_scene(scene, tmp_path / "scene.png", around)) for scene in scenes]
    own = [imread(draw_scene(scene, tmp_path / "scene.png")) for scene in scenes]
    corner = np.s_[-250:-60, -250:]  # floor and its lines, away from arm, shadow and words
    assert (fixed[0][corner] == fixed[1][corner]).all()
    assert (own[0][corner] != own[1][corner]).any()


def test_a_banner_is_red_and_on_top(panda, tmp_path):
    """In all three pictures of a replay, which have little else in red at the top."""
    time, motion = np.linspace(0.0, 1.0, 20), np.zeros((20, 7))
    curves = {
        "estimate": SmoothedHistory(motion[:, 0], motion[:, 0], motion[:, :3], motion[:, :3], np.zeros(20, dtype=bool))
    }
    scene, path = ArmScene(panda).at(np.zeros(7)), tmp_path / "picture.png"
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


ROOT = Path(__file__).resolve().parents[2]
DRAW = """
import sys
{before}
from panda_dynamics_ros.reporting.style import Figure, styled

@styled
def draw():
    figure = Figure(figsize=(2.0, 2.0))
    figure.subplots().set_title("torque")
    figure.savefig(sys.argv[1])

draw()
"""


def drawn(folder: Path, before: str = "") -> bytes:
    """A picture by a process that works in the folder."""
    code, picture = DRAW.format(before=before), folder / "picture.png"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(picture)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return picture.read_bytes()


def test_settings_of_a_folder_or_of_a_program_change_no_picture(tmp_path):
    """Of matplotlibrc files, and as a notebook sets them, which imports matplotlib first."""
    expected = drawn(tmp_path)
    for content in (b"text.usetex: True\nfont.size: 4000\n", b"axes.facecolor: \xff\xfe\n"):
        (tmp_path / "matplotlibrc").write_bytes(content)
        assert drawn(tmp_path) == expected
    before = "import matplotlib; matplotlib.rcParams.update({'font.size': 40, 'axes.facecolor': 'red'})"
    assert drawn(tmp_path, before) == expected
