# SPDX-License-Identifier: Apache-2.0
"""Pictures: what a reader has to know first is on top, and no setting of others changes them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation import SmoothedHistory
from panda_dynamics_ros.reporting.identification import plot_sigmas
from panda_dynamics_ros.reporting.plots import plot_payload, plot_torques


def test_a_banner_is_red_and_on_top(tmp_path: Path) -> None:
    """In both pictures of a replay, which have little else in red at the top."""
    time, motion = np.linspace(0.0, 1.0, 20), np.zeros((20, 7))
    curves = {
        "estimate": SmoothedHistory(motion[:, 0], motion[:, 0], motion[:, :3], motion[:, :3], np.zeros(20, dtype=bool))
    }
    path = tmp_path / "picture.png"
    draw: list[Callable[[str], Path]] = [
        lambda banner: plot_payload(time, curves, path, "title", banner=banner),
        lambda banner: plot_torques(time, motion, motion, motion, path, banner),
    ]
    for each in draw:
        red = []
        for banner in ("", "the torques have the opposite sign of the arm's: check the sign convention"):
            image = imread(each(banner))[:40, :, :3]
            red.append(int((image[..., 0] - image[..., 1:].max(axis=-1) > 0.3).sum()))
        assert red[1] > red[0] + 300  # px: a line of text


# ---- style -----------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("content", [b"text.usetex: True\nfont.size: 4000\n", b"axes.facecolor: \xff\xfe\n"])
def test_a_folders_settings_change_no_picture(content: bytes, tmp_path: Path) -> None:
    expected = drawn(tmp_path)
    (tmp_path / "matplotlibrc").write_bytes(content)
    assert drawn(tmp_path) == expected


def test_what_a_program_has_set_before_changes_no_picture(tmp_path: Path) -> None:
    """As a notebook does, which imports matplotlib first."""
    expected = drawn(tmp_path)
    before = "import matplotlib; matplotlib.rcParams.update({'font.size': 40, 'axes.facecolor': 'red'})"
    assert drawn(tmp_path, before) == expected


# ---- identification --------------------------------------------------------------------------------------------------


def overlaps(axis: Axis, canvas: FigureCanvasAgg) -> int:
    """How many neighbouring tick labels share pixels."""
    low, high = axis.get_view_interval()
    labels = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    boxes = [label.get_window_extent(canvas.get_renderer()) for at, label in labels if low <= at <= high]
    return sum(bool(a.overlaps(b)) for a, b in pairwise(boxes))


@pytest.mark.parametrize("scale", [3e-4, 3e-3, 0.03, 1.0])
def test_labels_of_base_parameters_do_not_collide(
    scale: float, panda: pdr.RobotModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))
    base = panda.base_parameters()
    values = base.values + scale * np.sin(np.arange(len(base.names)))
    fit = SimpleNamespace(prior=panda, base_values=values, base_std=np.full(len(values), scale), base_names=base.names)
    plot_sigmas(fit, tmp_path / "base_parameters.png")
    canvas = FigureCanvasAgg(figures[0])
    canvas.draw()
    assert [overlaps(axis, canvas) for axes in figures[0].axes for axis in (axes.xaxis, axes.yaxis)] == [0] * 4
