# SPDX-License-Identifier: Apache-2.0
"""Pictures as PNG files: a run, torques, an identification, motions; and a run's payload over time as CSV.

They have the package's own style: neither the user's settings nor a file of the working folder change it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.estimate import NORMAL_95
from panda_dynamics_ros.reporting.replay import PayloadCurves, Replay
from panda_dynamics_ros.reporting.summary import EVENT_WORDS
from panda_dynamics_ros.robot import JointLimits, RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.untrusted import import_elsewhere, replacing

if TYPE_CHECKING:  # scipy, which a replay does not need, takes a second to import
    from panda_dynamics_ros.estimation.paired_runs import PairedRuns
    from panda_dynamics_ros.identification import Validation

matplotlib = import_elsewhere("matplotlib")  # before anything of it is imported

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

BLUE, RED, GREY, GREEN, ORANGE = "#1f5fa8", "#c0392b", "#888888", "#2e8b57", "#d9822b"
MOTION = ("position", "velocity", "acceleration")
COLOURS, WIDTHS = (GREY, RED, BLUE, GREEN), (0.5, 0.9, 0.9, 0.9)
STYLES = {"estimate": (BLUE, "-"), "smoothed": (ORANGE, "-."), "truth": (RED, "--")}
SHORTEST_SHOWN = 0.05  # share of the run: a centre of mass that is known for a shorter time is not drawn
LABEL_WIDTH = 0.02  # share of the run that the label of an event takes
COLUMNS = ("t", "mass", "mass_std", *(f"com_{axis}" for axis in "xyz"), *(f"com_std_{axis}" for axis in "xyz"))

Events = Sequence[tuple[float, str]]  # times, s, and labels

styled = matplotlib.rc_context(
    {name: value for name, value in matplotlib.rcParamsDefault.items() if not name.startswith("backend")}
)
"""Decorates a function that makes and saves a figure."""


def plot_replay(
    data: JointDataset, robot: RobotDescription, result: Replay, output: Path, **others: PayloadCurves
) -> list[Path]:
    """payload.png, with these other curves, torques.png and payload.csv of a replayed recording.

    The torques are what was measured, what gravity explains of it, and what arm and payload leave unexplained.
    """
    time, first = data.stamp - data.stamp[0], float(data.stamp[0])
    events = [(event.stamp - first, f"detected {EVENT_WORDS[event.kind]}") for event in result.events]
    title = f"Payload found in {Path(data.source).absolute().name} (parameters: {robot.name})"
    torques = [
        ("measured", result.measured_torques, GREY, 0.8, "-"),
        ("gravity of the unloaded arm", result.gravity_torques, BLUE, 1.0, "-"),
        ("unexplained by arm and payload", result.residual, RED, 1.0, "-"),
    ]
    return [
        plot_payload(time, {"estimate": result, **others}, output / "payload.png", title, events, result.problem),
        plot_columns(output / "torques.png", time, torques, title=result.problem, colour=RED),
        _write_payload(time, result, output / "payload.csv"),
    ]


def _write_payload(time: FloatArray, result: Replay, path: Path) -> Path:
    """The published payloads at the times (N,), s, of the samples, as CSV."""
    com, com_std = (np.where(result.com_is_known[:, None], each, np.nan) for each in (result.com, result.com_std))
    table = np.column_stack((time, result.mass, result.mass_std, com, com_std))[result.published]
    with replacing(path) as file:
        np.savetxt(file, table, delimiter=",", header=",".join(COLUMNS), comments="", fmt="%.9g")
    return path


@styled
def plot_payload(
    time: FloatArray, curves: Mapping[str, PayloadCurves], path: Path, title: str, events: Events = (), banner: str = ""
) -> Path:
    """Mass and centre of mass over time (N,), s, with 95 % bands, and the events.

    `curves` are by their names in `STYLES`; `banner` is what a reader has to know first, above the title.
    """
    figure = Figure(figsize=(10.0, 6.5), layout="constrained")
    mass_axes, com_axes = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    top, known = 0.0, False
    for name, each in curves.items():
        colour, line = STYLES[name]
        _plot_band(mass_axes, time, each.mass, each.mass_std, color=colour, linestyle=line, label=name)
        top = max(top, float(np.nanmax(each.mass)))
        if each.com_is_known.mean() < SHORTEST_SHOWN:
            continue
        known, unknown = True, ~each.com_is_known
        for axis, com_colour in enumerate((RED, GREEN, BLUE)):
            com, std = (np.where(unknown, np.nan, 1e3 * part[:, axis]) for part in (each.com, each.com_std))
            label = f"CoM {'xyz'[axis]}" + (f", {name}" if len(curves) > 1 else "")
            _plot_band(com_axes, time, com, std, color=com_colour, linestyle=line, label=label)
    # After a change the band is that of the prior, wider than any payload: the scale follows the estimate.
    mass_axes.set(ylim=(-0.25 - 0.1 * top, max(0.5, 1.35 * top)), ylabel="payload mass (kg), 95 % band")
    mass_axes.legend(loc="upper left", fontsize=9, framealpha=0.9)
    com_axes.set(xlabel="time (s)", ylabel="CoM in the flange frame (mm)")
    if known:
        com_axes.legend(loc="upper left", fontsize=9, ncols=3, framealpha=0.9)
    else:
        com_axes.set_yticks([])
        com_axes.text(0.5, 0.5, "no payload whose centre of mass is known", transform=com_axes.transAxes, ha="center")
    _mark_events(mass_axes, com_axes, events, float(time[-1] - time[0]))
    mass_axes.set_title(_plain_text(title), loc="left", fontsize=11, parse_math=False)
    return _save(figure, path, 130, banner, RED)


def _plot_band(axes: Axes, time: FloatArray, value: FloatArray, std: FloatArray, *, color: str, **line: Any) -> None:
    band = NORMAL_95 * std
    axes.fill_between(time, value - band, value + band, color=color, alpha=0.15, linewidth=0)
    axes.plot(time, value, color=color, linewidth=1.5, **line)
    axes.grid(alpha=0.25)


def _mark_events(mass_axes: Axes, com_axes: Axes, events: Events, duration: float) -> None:
    """A line for each event, with its label where there is room for it."""
    free = -np.inf
    for time, label in sorted(events, key=lambda each: (each[0], "contact" in each[1])):  # a pick's label first
        for axes in (mass_axes, com_axes):
            axes.axvline(time, color=GREY, linewidth=0.8, linestyle=":")
        if time >= free:
            free = time + LABEL_WIDTH * duration
            place = mass_axes.get_xaxis_transform()
            mass_axes.text(time, 0.02, f" {label}", transform=place, rotation=90, fontsize=8, va="bottom")


def plot_prediction(validation: "Validation", path: Path) -> Path:
    """Measured minus predicted torque of each model, per joint."""
    curves = [
        (name, validation.measured - predicted, colour, width, "-")
        for (name, predicted), colour, width in zip(validation.predicted.items(), COLOURS, WIDTHS, strict=False)
    ]
    # Gravity alone, the first, is wrong by so much more that it may leave the picture.
    largest = 1.15 * np.max([np.abs(values).max(axis=0) for _, values, *_ in curves[1:]], axis=0)
    title = f"Torque that is not predicted: {Path(validation.source).name}"
    return plot_columns(path, validation.time, curves, title=title, largest=largest)


def plot_motion(time: FloatArray, states: tuple[FloatArray, ...], limits: JointLimits, path: Path) -> Path:
    """Positions, velocities and accelerations of all joints, as shares of their limits."""
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    shares = ((states[0] - middle) / half, states[1] / limits.velocity, states[2] / limits.acceleration)
    by_joint = np.stack(shares, axis=-1).swapaxes(0, 1)
    curves = [(f"joint {i + 1}", each, f"C{i}", 1.2, "-") for i, each in enumerate(by_joint)]
    return plot_columns(path, time, curves, labels=[f"{name} / limit" for name in MOTION], largest=np.full(3, 1.05))


def plot_differences(result: "PairedRuns", path: Path) -> Path:
    """Torque of the loaded runs less that of the unloaded ones per joint, and what the payload explains of it."""
    curves = [
        ("loaded less unloaded", result.difference, BLUE, 1.4, "-"),
        ("payload", result.explained, RED, 1.0, "--"),
        ("left", result.difference - result.explained, GREY, 0.9, "-"),
    ]
    return plot_columns(path, result.stamp, curves, time_label="time of the first loaded run (s)")


@styled
def plot_columns(
    path: Path,
    time: FloatArray,
    curves: Sequence[tuple[str, FloatArray, str, float, str]],
    *,
    title: str = "",
    colour: str = "black",
    time_label: str = "time (s)",
    labels: Sequence[str] = (),
    largest: FloatArray | None = None,
) -> Path:
    """Write a picture of values over time, s, with one axes for each of their n columns.

    `curves` have label, values (N, n), colour, width and line style. `title` stands above all, in `colour`. `labels`
    are those of the axes, by default torques of joints, N m; these reach to plus and minus `largest` (n,), if given.
    """
    n = curves[0][1].shape[1]
    figure = Figure(figsize=(10.0, 1.4 * n + 1.0), layout="constrained")
    every = list(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0])
    for column, axes in enumerate(every):
        for label, values, line_colour, width, style in curves:
            axes.plot(time, values[:, column], color=line_colour, linewidth=width, linestyle=style, label=label)
        if largest is not None:
            axes.set_ylim(-largest[column], largest[column])
        axes.set_ylabel(labels[column] if labels else f"joint {column + 1}\n(N m)", fontsize=9)
        axes.grid(alpha=0.25)
    every[-1].set_xlabel(time_label)
    every[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=9, ncols=len(curves), frameon=False)
    return _save(figure, path, 110, title, colour)


def _save(figure: Figure, path: Path, dpi: float, title: str, colour: str) -> Path:
    if title:
        figure.suptitle(_plain_text(fill(title, 110)), color=colour, fontsize=10, parse_math=False)
    with replacing(path) as file:
        figure.savefig(file, dpi=dpi)
    return path


def _plain_text(text: str) -> str:
    """A text that any font can show: names of files may have bytes that are no text."""
    return text.encode(errors="replace").decode()
