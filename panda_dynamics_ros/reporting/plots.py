# SPDX-License-Identifier: Apache-2.0
"""Pictures of a run as PNG files: payload and torques over time; and the payload over time as CSV."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadSegment, SmoothedHistory
from panda_dynamics_ros.estimation.estimate import NORMAL_95
from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.reporting import style
from panda_dynamics_ros.reporting.style import Axes, Figure
from panda_dynamics_ros.reporting.summary import EVENT_WORDS
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.untrusted import replacing

SHORTEST_SHOWN = 0.05  # share of the run: a centre of mass that is known for a shorter time is not drawn
LABEL_WIDTH = 0.02  # share of the run that the label of an event takes
COLUMNS = ("t", "mass", "mass_std", *(f"com_{axis}" for axis in "xyz"), *(f"com_std_{axis}" for axis in "xyz"))


PayloadCurves = Replay | SmoothedHistory
"""Has mass (N,), kg, com (N, 3), m, their standard deviations, and com_is_known (N,)."""


def write_replay_files(
    data: JointDataset, robot: RobotDescription, result: Replay, output: Path, segments: Sequence[PayloadSegment] = ()
) -> list[Path]:
    """payload.png, torques.png and payload.csv of a replayed recording."""
    time, first = data.stamp - data.stamp[0], float(data.stamp[0])
    events = [(event.stamp - first, f"detected {EVENT_WORDS[event.kind]}") for event in result.events]
    title = f"Payload found in {Path(data.source).name} (parameters: {robot.name})"
    curves: dict[str, PayloadCurves] = {"estimate": result}
    if segments:
        curves["smoothed"] = SmoothedHistory.at(data.stamp, segments)
    torques = result.measured_torques, result.gravity_torques
    return [
        plot_payload(time, curves, output / "payload.png", title, events, banner=result.problem),
        plot_torques(time, *torques, result.residual, output / "torques.png", result.problem),
        write_curves(time[result.published], result, result.published, output / "payload.csv"),
    ]


def write_curves(time: FloatArray, curves: PayloadCurves, rows: NDArray[np.intp], path: Path) -> Path:
    """The rows (K,) of the curves at the times (K,), s, as CSV, which `panda-dynamics compare` reads."""
    com, com_std = (np.where(curves.com_is_known[:, None], each, np.nan) for each in (curves.com, curves.com_std))
    table = np.column_stack((time, np.column_stack((curves.mass, curves.mass_std, com, com_std))[rows]))
    with replacing(path) as file:
        np.savetxt(file, table, delimiter=",", header=",".join(COLUMNS), comments="", fmt="%.6g")
    return path


@style.styled
def plot_payload(
    time: FloatArray,
    curves: Mapping[str, PayloadCurves],
    path: Path,
    title: str,
    events: Sequence[tuple[float, str]] = (),
    truth: tuple[FloatArray, FloatArray] | None = None,
    banner: str = "",
) -> Path:
    """Mass and centre of mass over time (N,), s, with 95 % bands, and the events, (time, label) pairs.

    `curves` has one or two by what the legend calls them; `truth` (N,), kg, and (N, 3), m, nan of nothing; `banner` is
    what a reader has to know first, above the title.
    """
    figure = Figure(figsize=(10.0, 6.5), layout="constrained")
    mass_axes, com_axes = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    top, known = 0.0, False
    for (name, each), colour, line in zip(curves.items(), (style.BLUE, style.ORANGE), ("-", "-."), strict=False):
        plot_band(mass_axes, time, each.mass, each.mass_std, colour, name)
        top = max(top, float(np.nanmax(each.mass)))
        if each.com_is_known.mean() < SHORTEST_SHOWN:
            continue
        known, unknown = True, ~each.com_is_known
        for axis, com_colour in enumerate((style.RED, style.GREEN, style.BLUE)):
            com, std = (np.where(unknown, np.nan, 1e3 * part[:, axis]) for part in (each.com, each.com_std))
            label = f"CoM {'xyz'[axis]}" + (f", {name}" if len(curves) > 1 else "")
            plot_band(com_axes, time, com, std, com_colour, label, linestyle=line)
    if truth is not None:
        mass, com = truth
        mass_axes.plot(time, mass, color=style.RED, linewidth=1.2, linestyle="--", label="truth")
        top = max(top, float(np.nanmax(mass)))
        for axis, colour in enumerate((style.RED, style.GREEN, style.BLUE)):
            com_axes.plot(time, 1e3 * com[:, axis], color=colour, linewidth=1.0, linestyle="--")
    # After a change the band is that of the prior, wider than any payload: the scale follows the estimate.
    mass_axes.set_ylim(-0.25 - 0.1 * top, max(0.5, 1.35 * top))
    mass_axes.set_ylabel("payload mass (kg), 95 % band")
    mass_axes.legend(loc="upper left", fontsize=9, framealpha=0.9)
    com_axes.set_ylabel("CoM in the flange frame (mm)" + ("" if truth is None else "\n(dashed: truth)"))
    com_axes.set_xlabel("time (s)")
    if known:
        com_axes.legend(loc="upper left", fontsize=9, ncols=3, framealpha=0.9)
    else:
        com_axes.set_yticks([])
        com_axes.text(0.5, 0.5, "no payload whose centre of mass is known", transform=com_axes.transAxes, ha="center")
    _mark_events(mass_axes, com_axes, events, float(time[-1] - time[0]))
    mass_axes.set_title(style.plain_text(title), loc="left", fontsize=11, parse_math=False)
    style.add_title(figure, banner, style.RED)
    return style.save(figure, path, dpi=130)


def plot_band(
    axes: Axes,
    time: FloatArray,
    value: FloatArray,
    std: FloatArray,
    colour: str,
    label: str,
    linestyle: str = "-",
) -> None:
    """A curve with its 95 % band."""
    band = NORMAL_95 * std
    axes.fill_between(time, value - band, value + band, color=colour, alpha=0.15, linewidth=0)
    axes.plot(time, value, color=colour, linewidth=1.5, linestyle=linestyle, label=label)
    axes.grid(alpha=0.25)


def _mark_events(mass_axes: Axes, com_axes: Axes, events: Sequence[tuple[float, str]], duration: float) -> None:
    """A line for each event, with its label where there is room for it."""
    free = -np.inf
    for time, label in sorted(events):
        for axes in (mass_axes, com_axes):
            axes.axvline(time, color=style.GREY, linewidth=0.8, linestyle=":")
        if time >= free:
            free = time + LABEL_WIDTH * duration
            mass_axes.text(
                time, 0.02, f" {label}", transform=mass_axes.get_xaxis_transform(), rotation=90, fontsize=8, va="bottom"
            )


def plot_torques(
    time: FloatArray, measured: FloatArray, model: FloatArray, residual: FloatArray, path: Path, banner: str = ""
) -> Path:
    """Measured torque, what gravity explains of it, and what arm and payload leave unexplained, per joint."""
    curves = [
        ("measured", measured, style.GREY, 0.8, "-"),
        ("gravity of the unloaded arm", model, style.BLUE, 1.0, "-"),
        ("unexplained by arm and payload", residual, style.RED, 1.0, "-"),
    ]
    return style.plot_joints(path, time, curves, title=banner, colour=style.RED)
