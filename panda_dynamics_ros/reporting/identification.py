# SPDX-License-Identifier: Apache-2.0
"""Pictures and the one-page report of an identification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification import Identification, Validation
from panda_dynamics_ros.identification.problems import FIRST_SECOND_MOMENT
from panda_dynamics_ros.identification.procedure import GRAVITY_ONLY
from panda_dynamics_ros.reporting.console import Table
from panda_dynamics_ros.reporting.page import write_page
from panda_dynamics_ros.reporting.style import (
    BLUE,
    GREEN,
    GREY,
    RED,
    Figure,
    add_legend,
    axes_of_joints,
    plain_text,
    styled,
)
from panda_dynamics_ros.robot.limits import JointLimits

MOTION = ("position", "velocity", "acceleration")
COLOURS = (GREY, RED, BLUE, GREEN)


@styled
def plot_prediction(validation: Validation, path: Path) -> Path:
    """Measured minus predicted torque of each model, per joint."""
    n = validation.measured.shape[1]
    errors = {name: validation.measured - predicted for name, predicted in validation.predicted.items()}
    figure = Figure(figsize=(10.0, 1.5 * n + 1.0), layout="constrained")
    every = axes_of_joints(figure, n)
    for joint, axes in enumerate(every):
        for (name, error), colour in zip(errors.items(), COLOURS, strict=False):
            width = 0.5 if name == GRAVITY_ONLY else 0.9
            axes.plot(validation.time, error[:, joint], color=colour, linewidth=width, label=name)
        # Gravity alone is wrong by so much more that it may leave the picture.
        largest = max(np.abs(errors[name][:, joint]).max() for name in errors if name != GRAVITY_ONLY)
        axes.set_ylim(-1.15 * largest, 1.15 * largest)
    add_legend(every[0], 4)
    name = plain_text(Path(validation.source).name)
    figure.suptitle(f"Torque that is not predicted: {name}", fontsize=11, parse_math=False)
    figure.savefig(path, dpi=110)
    return path


@styled
def plot_sigmas(fit: Identification, path: Path) -> Path:
    """Base parameters: how far from the prior, with 95 % intervals; first and second moments apart."""
    base = fit.prior.base_parameters()
    change, wide = fit.base_values - base.values, 1.96 * fit.base_std
    second = np.array([column % 10 >= FIRST_SECOND_MOMENT for column in base.columns])
    figure = Figure(figsize=(10.0, 0.17 * int(max(second.sum(), (~second).sum())) + 1.6), layout="constrained")
    for axes, chosen, unit in zip(figure.subplots(1, 2), (~second, second), ("kg m", "kg m²"), strict=True):
        rows = np.arange(int(chosen.sum()))[::-1]
        axes.errorbar(change[chosen], rows, xerr=wide[chosen], fmt="o", color=BLUE, markersize=4, linewidth=1.2)
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        axes.set_yticks(rows, np.array(fit.base_names)[chosen], fontsize=8)
        axes.set_ylim(-0.7, len(rows) - 0.3)
        axes.set_xlabel(unit)
        axes.locator_params(axis="x", nbins=5)  # labels of small steps, such as -0.0075, are wide
        axes.grid(alpha=0.25)
    title = f"Base parameters, identified minus {fit.prior.name}, with 95 % intervals"
    figure.suptitle(plain_text(title), fontsize=11, parse_math=False)
    figure.savefig(path, dpi=110)
    return path


@styled
def plot_motion(time: FloatArray, states: tuple[FloatArray, ...], limits: JointLimits, path: Path) -> Path:
    """Positions, velocities and accelerations of all joints, as shares of their limits."""
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    shares = ((states[0] - middle) / half, states[1] / limits.velocity, states[2] / limits.acceleration)
    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    for axes, share, name in zip(figure.subplots(3, 1, sharex=True), shares, MOTION, strict=True):
        for joint, column in enumerate(share.T, start=1):
            axes.plot(time, column, linewidth=1.2, label=f"{joint}")
        axes.set_ylim(-1.05, 1.05)
        axes.set_ylabel(f"{name} / limit")
        axes.grid(alpha=0.25)
    figure.axes[0].legend(
        title="joint", fontsize=8, ncols=len(middle), loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False
    )
    figure.axes[-1].set_xlabel("time (s)")
    figure.savefig(path, dpi=110)
    return path


def write_report(
    fit: Identification, validations: Sequence[Validation], tables: Sequence[Table], folder: Path
) -> list[Path]:
    """These tables as a page with pictures inside, to show to others, and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [plot_prediction(each, folder / f"prediction_{i}.png") for i, each in enumerate(validations, start=1)]
    pictures.append(plot_sigmas(fit, folder / "base_parameters.png"))
    return [write_page(folder / "report.html", tables, pictures), *pictures]
