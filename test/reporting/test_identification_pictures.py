# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification can be read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import panda_dynamics_ros as pdr
from panda_dynamics_ros.reporting.identification import plot_sigmas


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
