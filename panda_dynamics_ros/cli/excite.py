# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics excite`: a motion that shows all base parameters, within the arm's limits."""

import argparse

import numpy as np

from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.identification.problems import regressor_condition
from panda_dynamics_ros.reporting.console import print_results, progress_bar, summary_rows
from panda_dynamics_ros.simulation.motion_search import periodic_motion
from panda_dynamics_ros.simulation.motions import write_motion

STEP = 0.01  # s, from row to row of the CSV
EXAMPLES = "panda-dynamics excite --duration 20 --harmonics 8 --table-height 0.1 --output motion.csv"
OPTIONS = [
    *options.ROBOT,
    options.number("--duration", 10.0, "S", "length of one period"),
    options.number("--harmonics", 5, "N", "harmonics of each joint's motion"),
    options.number("--table-height", 0.0, "M", "height of the table in base axes; -1 for no table"),
    options.number("--trials", 6000, "N", "motions to try"),
    options.number("--seed", 0, "N", "seed of the search; another seed gives another motion"),
    options.output("trajectory.csv", "FILE", "the motion"),
]


def run(args: argparse.Namespace) -> None:
    if args.output.suffix != ".csv":
        raise ArgumentError(f"--output: expected a name that ends in .csv, got {str(args.output)!r}")
    if (beside := args.output.with_suffix(".yaml")).exists() and not args.output.exists():  # of no earlier run
        raise ArgumentError(f"--output: expected a name beside which there is no {beside.name}, which is written, too")
    robot = options.load_arm(args)
    with progress_bar(args.json, "condition number {task.fields[best]:.1f}") as bar:
        task = bar.add_task("", total=args.trials, best=float("inf"))
        motion, condition = periodic_motion(
            robot, regressor_condition(robot), args.duration, harmonics=args.harmonics, table_height=args.table_height,
            trials=args.trials, seed=args.seed, progress=lambda done, best: bar.update(task, completed=done, best=best),
        )  # fmt: skip
    plan = options.write_plan(robot, motion, args.duration, args.output)
    times = np.arange(0.0, args.duration + 0.5 * STEP, STEP)
    files = [str(write_motion(times, motion(times), args.output)), *plan["files"]]
    summary = plan | {"condition_number": condition, "files": files}
    print_results(args.json, summary, [("exciting motion", summary_rows(summary))], files)
