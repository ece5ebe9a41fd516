# SPDX-License-Identifier: Apache-2.0
"""Pictures: what a reader has to know first is on top, and no setting of others changes them."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.image import imread
from waiting import ran

from panda_dynamics_ros.reporting.plots import GREY, RED, plot_columns, plot_payload
from panda_dynamics_ros.reporting.replay import PayloadCurves


def test_a_banner_is_red_and_on_top(tmp_path):
    """In both pictures of a replay, which have little else in red at the top."""
    time, motion = np.linspace(0.0, 1.0, 20), np.zeros((20, 7))
    mass, com = motion[:, 0], motion[:, :3]
    curves = {"estimate": PayloadCurves(mass, mass, com, com, np.zeros(20, dtype=bool))}
    path = tmp_path / "picture.png"
    draw: list[Callable[[str], Path]] = [
        lambda banner: plot_payload(time, curves, path, "title", banner=banner),
        lambda banner: plot_columns(path, time, [("torque", motion, GREY, 0.8, "-")], title=banner, colour=RED),
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
from panda_dynamics_ros.reporting.plots import Figure, styled

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
    ran([sys.executable, "-c", code, picture], cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)})
    return picture.read_bytes()


def test_settings_of_a_folder_or_of_a_program_change_no_picture(tmp_path):
    """Of matplotlibrc files, and as a notebook sets them, which imports matplotlib first."""
    expected = drawn(tmp_path)
    (tmp_path / "matplotlibrc").write_bytes(b"font.size: 4000\naxes.facecolor: \xff\xfe\n")
    assert drawn(tmp_path) == expected
    (tmp_path / "matplotlibrc").unlink()  # matplotlib itself reads it, and such bytes end it
    before = "import matplotlib; matplotlib.rcParams.update({'font.size': 40, 'axes.facecolor': 'red'})"
    assert drawn(tmp_path, before) == expected
