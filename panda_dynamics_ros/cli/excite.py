# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics excite`: a motion that shows all base parameters, within the arm's limits."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli.options import add_robot_option, load_arm
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.identification.plausibility import regressor_condition
from panda_dynamics_ros.identification.rows import prepare
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.reporting.console import print_results
from panda_dynamics_ros.simulation.fourier_motion import write_motion
from panda_dynamics_ros.simulation.joint_trajectory import write_trajectory
from panda_dynamics_ros.simulation.motion_search import FoundMotion, periodic_motion

CSV_STEP, YAML_STEP = 0.01, 0.02  # s
DESCRIPTION = """\
Searches for a periodic motion that identifies the arm well: its base regressor
has a small condition number. The motion stays within the limits of position,
velocity and acceleration, and clear of table and base. Look at it in
simulation before you run it.
"""
EXAMPLES = """\
Beside the CSV (t, q1.., dq1.., ddq1..) the command writes a trajectory_msgs/JointTrajectory as YAML and a picture, with
the same name. The motion begins and ends at rest: move the arm to its first point, then repeat it as often as you like.

examples:
  panda-dynamics excite
  panda-dynamics excite --duration 20 --harmonics 8 --table-height 0.1 --output motion.csv
  panda-dynamics excite --duration 7.6 --compare recording.csv
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_robot_option(parser)
    parser.add_argument("--duration", type=float, default=10.0, metavar="S", help="length of one period (default: 10)")
    parser.add_argument(
        "--harmonics", type=int, default=5, metavar="N", help="harmonics of each joint's motion (default: 5)"
    )
    parser.add_argument(
        "--table-height",
        type=float,
        default=0.0,
        metavar="M",
        help="height of the table in base axes; -1 for no table (default: 0)",
    )
    parser.add_argument("--trials", type=int, default=6000, metavar="N", help="motions to try (default: 6000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the search; another seed gives another motion (default: 0)"
    )
    parser.add_argument("--compare", metavar="DATA", help="a recording whose condition number is printed, too")
    parser.add_argument(
        "--output", type=Path, default=Path("trajectory.csv"), metavar="FILE", help="default: trajectory.csv"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Search, write the files, say how good the motion is."""
    from panda_dynamics_ros.reporting.identification import plot_motion

    if args.output.suffix != ".csv":
        raise ArgumentError(f"--output: expected a name that ends in .csv, got {str(args.output)!r}")
    checks.number(args.table_height, "--table-height", minimum=-1.0, maximum=1.0)
    robot = load_arm(args)
    recorded = None
    if args.compare is not None:
        rows = prepare(load_dataset(args.compare, robot))
        recorded = regressor_condition(robot)(rows.q, rows.dq, rows.ddq)
    found = _search(robot, args)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    times = np.arange(0.0, args.duration + 0.5 * CSV_STEP, CSV_STEP)
    states = found.motion(times)
    path, coarse = args.output.with_suffix(".yaml"), np.arange(0.0, args.duration + 0.5 * YAML_STEP, YAML_STEP)
    files = [write_motion(times, states, args.output)]
    files.append(write_trajectory(robot.joint_names, coarse, found.motion(coarse), path))
    files.append(plot_motion(times, states, robot.limits, args.output.with_suffix(".png")))
    summary = _summary(robot, found, states, recorded, files)
    print_results(args.json, summary, [(f"exciting motion for {robot.name}", _rows(summary, found))], files)
    return 0


def _search(robot: RobotModel, args: argparse.Namespace) -> FoundMotion:
    """The search, with a bar on standard error where a person watches."""
    bar = Progress(
        TextColumn("condition number {task.fields[best]:.1f}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=args.json or not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=args.trials, best=float("inf"))
        return periodic_motion(
            robot,
            regressor_condition(robot),
            args.duration,
            harmonics=args.harmonics,
            table_height=args.table_height,
            trials=args.trials,
            seed=args.seed,
            progress=lambda done, best: bar.update(task, completed=done, best=best),
        )


def _summary(
    robot: RobotModel, found: FoundMotion, states: tuple[FloatArray, ...], recorded: float | None, files: list[Path]
) -> dict[str, Any]:
    _, dq, ddq = (np.abs(state).max(axis=0) for state in states)
    return {
        "robot": robot.name,
        "period_s": found.motion.period,
        "condition_number": found.score,
        "recorded_condition_number": recorded,
        "first_point": found.motion(np.zeros(1))[0][0].tolist(),
        "velocity_share": (dq / robot.limits.velocity).tolist(),
        "acceleration_share": (ddq / robot.limits.acceleration).tolist(),
        "files": [str(path) for path in files],
    }


def _rows(summary: dict[str, Any], found: FoundMotion) -> list[tuple[str, str]]:
    def shares(key: str) -> str:
        return "  ".join(f"{100 * share:.0f} %" for share in summary[key])

    recorded = summary["recorded_condition_number"]
    return [
        ("condition number", f"{found.score:.1f}, the best of {found.trials} motions"),
        *([] if recorded is None else [("of the recording", f"{recorded:.1f}")]),
        ("first point", "  ".join(f"{q:.3f}" for q in summary["first_point"]) + " rad"),
        ("velocity", shares("velocity_share") + " of the limits"),
        ("acceleration", shares("acceleration_share") + " of the limits"),
    ]
