# SPDX-License-Identifier: Apache-2.0
"""Pictures of the arm without OpenGL and without a window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.simulation import draw_arm

pytest.importorskip("matplotlib")
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])


def pixels(axes: object) -> np.ndarray:
    figure = axes.figure  # type: ignore[attr-defined]
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(float)


def orange(image: np.ndarray) -> int:
    """How many pixels have the payload's colour, in light or shade."""
    red, green, blue = np.moveaxis(image, -1, 0)
    return int(np.sum((red > 1.5 * green) & (green > 1.5 * blue) & (red > 60)))


def test_a_payload_is_seen_and_grows_with_its_mass(panda: pdr.RobotModel) -> None:
    counts = []
    for mass in (0.0, 0.5, 4.0):
        payload = pdr.InertialParameters(mass, np.array([0.0, 0.0, 0.1]), 0.001 * mass * np.eye(3))
        counts.append(orange(pixels(draw_arm(panda, Q, payload))))
    assert counts[0] == 0
    assert 50 < counts[1] < counts[2]


def test_it_writes_a_picture_and_draws_into_given_axes(panda: pdr.RobotModel, tmp_path: Path) -> None:
    axes = draw_arm(panda, Q)
    assert draw_arm(panda, Q, ax=axes) is axes
    axes.figure.savefig(tmp_path / "arm.png")
    assert (tmp_path / "arm.png").read_bytes().startswith(b"\x89PNG")
    low, high = axes.get_xlim()
    assert low < panda.pose(Q)[0, 3] < high


def test_bad_input(panda: pdr.RobotModel) -> None:
    with pytest.raises(ArgumentError, match=r"q: expected shape \(7,\), got \(6,\)"):
        draw_arm(panda, Q[:6])
    from matplotlib.figure import Figure

    with pytest.raises(ArgumentError, match="ax: expected 3-D Matplotlib axes"):
        draw_arm(panda, Q, ax=Figure().add_subplot())
