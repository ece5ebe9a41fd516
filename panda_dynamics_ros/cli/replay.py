# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics replay`: torques, poses and payload of a recorded bag, with no ROS installed."""

import argparse
import contextlib
import sys
import time
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.cli.replay_bag import write_replay
from panda_dynamics_ros.dynamics.model import RobotModel
from panda_dynamics_ros.estimation import PayloadSegment, smooth_payloads
from panda_dynamics_ros.estimation.estimate import NORMAL_95
from panda_dynamics_ros.recordings.dataset import EXAMPLE
from panda_dynamics_ros.reporting import console
from panda_dynamics_ros.reporting import summary as summaries
from panda_dynamics_ros.reporting.replay import PayloadCurves, Replay, replay
from panda_dynamics_ros.robot.joint_dataset import JointDataset

EXAMPLES = """\
panda-dynamics replay recording.mcap --output result
panda-dynamics replay log.csv --robot my_panda.yaml --end-effector hand --smooth
"""
CONTRADICTED = 3  # exit code of --strict where the recording contradicts the arm, or what was declared
OPTIONS = [
    [
        options.option("bag", "rosbag2 file or folder, or a table (CSV, npz, HDF5, Parquet)", nargs="?", metavar="BAG"),
        options.flag("--example", "replay the recording of a simulated Panda that comes with this package"),
    ],
    *options.ROBOT,
    *options.payload(),
    *options.RECORDING,
    options.output("replay_output"),
    options.option("--bag-format", "of DIR/results (default: mcap, if rosbags is installed)", choices=("mcap", "none")),
    *options.VIEW,
    options.number("--rate", 1.0, "R", "speed of --view, times real time"),
    options.flag("--smooth", "estimate each payload from all samples while it was carried"),
    options.flag("--strict", "exit with code 3 if a problem is stated"),
]


def run(args: argparse.Namespace) -> int:
    checks.number(args.rate, "--rate", minimum=0.01, maximum=100.0)
    known = options.payload_options(args)
    path = str(EXAMPLE) if args.example else args.bag
    name = "the example" if args.example else Path(path).absolute().name
    checks.not_an_input(args.output / "results", [path], "--output, with results in it")
    args.bag_format = args.bag_format or ("mcap" if find_spec("rosbags") else "none")
    for written in ("payload.csv", *(["results"] if args.bag_format != "none" else [])):
        options.check_replaceable(args.output, written)
    robot = options.load_arm(args)
    data = options.load_recording(args, robot, path)
    if args.bag_format != "none":  # before the work
        checks.number(float(data.stamp[0]), "first stamp, s (any with --bag-format none)", minimum=0.0)
    with options.opened_view(args, robot, f"panda-dynamics replay: {name}") as view:
        with console.progress_bar(args.json, "replaying") as bar:
            task = bar.add_task("", total=len(data.stamp))
            result = replay(data, robot, lambda done, *_: bar.update(task, completed=done), **known)
        segments = smooth_payloads(robot, data.stamp, data.q, data.dq, data.tau, **known) if args.smooth else ()
        _report(args, f"{name}, with the parameters of {robot.name}", robot, data, result, segments)
        if view is not None:
            from panda_dynamics_ros.reporting.web_view import play_replay

            with contextlib.suppress(KeyboardInterrupt):
                print(f"the view stays open at {view.url}; Ctrl-C ends it", file=sys.stderr, flush=True)
                play_replay(data, result, view, args.rate)
                while True:
                    time.sleep(1.0)
    return CONTRADICTED if args.strict and result.problem else 0


def _report(
    args: argparse.Namespace, title: str, robot: RobotModel, data: JointDataset, result: Replay,
    segments: Sequence[PayloadSegment],
) -> None:  # fmt: skip
    from panda_dynamics_ros.reporting.plots import plot_replay

    begin, loads = float(data.stamp[0]), summaries.franka_loads(data, robot, result)
    for sentence in summaries.stale_loads(loads, begin):
        warnings.warn(sentence, stacklevel=2)
    args.output.mkdir(parents=True, exist_ok=True)
    summary = summaries.summary_of(data, result, segments, loads)
    smoothed = {"smoothed": PayloadCurves.of_segments(data.stamp, segments)} if segments else {}
    files = [summaries.write_summary(summary, args.output), *plot_replay(data, robot, result, args.output, **smoothed)]
    if args.bag_format != "none":
        files.append(args.output / "results")
        write_replay(files[-1], data, result, robot, overwrite=True)
    believed = [f"{console.fixed(load['mass'], 3)} ± {NORMAL_95 * load['mass_std']:.3f} kg" for load in loads]
    words = [f"{summaries.EVENT_WORDS[event.kind]} at {event.stamp - begin:.2f} s" for event in result.events]
    rows = [
        ("samples", f"{len(data.stamp)} over {data.duration_s:.1f} s, {data.rate_hz:.1f} Hz"),
        ("lost", result.losses),
        ("torque residual RMS", f"{console.joint_values(result.residual_rms)} N m (joints 1..n)"),
        *(row for row in console.payload_rows(result.last) if row[0] != "problem"),
        *([("load that Franka has", f"{'; '.join(believed)} (95 %)")] if believed else []),
        ("events", "; ".join(words) or "none"),
        *([("problem", result.problem)] if result.problem else []),
    ]
    tables = [console.segments_table(segments, begin)] if segments else []
    console.print_results(args.json, summary, [*tables, (title, rows)], files)
