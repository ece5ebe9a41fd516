# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification and of motions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification import Identification, Validation
from panda_dynamics_ros.identification.problems import FIRST_SECOND_MOMENT
from panda_dynamics_ros.identification.procedure import GRAVITY_ONLY
from panda_dynamics_ros.reporting.console import joint_values
from panda_dynamics_ros.reporting.style import BLUE, GREEN, GREY, RED, Figure, add_title, plot_joints, save, styled
from panda_dynamics_ros.robot.limits import JointLimits

MOTION = ("position", "velocity", "acceleration")
COLOURS = (GREY, RED, BLUE, GREEN)


def plot_prediction(validation: Validation, path: Path) -> Path:
    """Measured minus predicted torque of each model, per joint."""
    curves = [
        (name, validation.measured - predicted, colour, 0.5 if name == GRAVITY_ONLY else 0.9, "-")
        for (name, predicted), colour in zip(validation.predicted.items(), COLOURS, strict=False)
    ]
    # Gravity alone is wrong by so much more that it may leave the picture.
    scaled_by = [name for name, *_ in curves if name != GRAVITY_ONLY]
    title = f"Torque that is not predicted: {Path(validation.source).name}"
    return plot_joints(path, validation.time, curves, title=title, scaled_by=scaled_by)


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
    add_title(figure, title)
    return save(figure, path, dpi=110)


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
    return save(figure, path, dpi=110)


def motion_entry(
    states: tuple[FloatArray, ...], limits: JointLimits
) -> tuple[dict[str, list[float]], list[tuple[str, str]]]:
    """What a motion uses of the limits of velocity and acceleration: a summary's entries, and rows for a person."""
    shares = {
        "velocity": np.abs(states[1]).max(axis=0) / limits.velocity,
        "acceleration": np.abs(states[2]).max(axis=0) / limits.acceleration,
    }
    rows = [(name, f"{joint_values(100 * share, 0)} % of the limits") for name, share in shares.items()]
    return {f"{name}_share": share.tolist() for name, share in shares.items()}, rows


def write_report(fit: Identification, validations: Sequence[Validation], folder: Path) -> list[Path]:
    """The torques that are not predicted, and the base parameters, as pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [plot_prediction(each, folder / f"prediction_{i}.png") for i, each in enumerate(validations, start=1)]
    return [*pictures, plot_sigmas(fit, folder / "base_parameters.png")]
