# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics replay`: torques, poses and payload of a recorded bag, with no ROS installed."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli.options import (
    add_payload_options,
    add_recording_options,
    add_robot_option,
    add_view_options,
    load_arm,
    opened_view,
    payload_options,
    recording_options,
    show_until_interrupted,
)
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.estimation import (
    PayloadEstimate,
    PayloadSegment,
    SmoothedHistory,
    smooth_payloads,
)
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.recordings.bag_writing import STORAGES
from panda_dynamics_ros.recordings.dataset import EXAMPLE, load_dataset
from panda_dynamics_ros.recordings.franka_load import FrankaLoad, franka_loads, load_entry, load_text, stale_loads
from panda_dynamics_ros.recordings.replay import Replay, replay
from panda_dynamics_ros.reporting.console import LiveTable, payload_rows, print_segments, print_table
from panda_dynamics_ros.reporting.replay_bag import write_replay
from panda_dynamics_ros.reporting.summary import build_summary, check_replaceable, write_summary
from panda_dynamics_ros.robot.joint_dataset import JointDataset

DESCRIPTION = """\
Computes torques, poses, contacts and the payload of a recording: a rosbag2
(.db3, .mcap or its folder), or a table with columns t, q1.., dq1.., tau1..
It writes into DIR
  summary.json  samples, losses, residual torques, payload and its changes
                (with --smooth also segments: each payload from all its samples;
                with --unloaded-run also paired: the payload from differences)
  *.png         the payload over time, the torques, and the arm
  results/      a rosbag2 for PlotJuggler, RViz and `ros2 bag play`, with the
                joint states and all topics of the nodes
"""
CONTRADICTED = 3
"""Exit code of --strict where the recording contradicts the arm, or what was declared."""
EXAMPLES = """\
Numbers after "±" are half the width of a 95 % interval; summary.json has standard deviations.

examples:
  panda-dynamics replay --example
  panda-dynamics replay recording.mcap --output result
  panda-dynamics replay log.csv --robot my_panda.yaml --end-effector hand --smooth
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "bag", nargs="?", metavar="BAG", help="a rosbag2 file or folder, or a table (CSV, npz, HDF5, Parquet)"
    )
    parser.add_argument(
        "--example", action="store_true",
        help="replay the recording that comes with this package: a simulated Panda picks 1 kg up at 6 s, is pushed at "
        "12 s and puts the payload down at 18 s",
    )  # fmt: skip
    add_robot_option(parser)
    add_recording_options(parser)
    add_payload_options(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("replay_output"),
        metavar="DIR",
        help="folder for the results (default: %(default)s)",
    )
    parser.add_argument(
        "--bag-format",
        choices=(*STORAGES, "none"),
        help="storage of DIR/results (default: mcap, where rosbags is installed)",
    )
    add_view_options(parser)
    parser.add_argument("--rate", type=float, default=1.0, help="speed of --view, times real time (default: 1)")
    parser.add_argument(
        "--smooth", action="store_true", help="estimate each payload from all samples while it was carried"
    )
    parser.add_argument(
        "--unloaded", type=float, nargs="+", default=[], metavar="T",
        help="times, s from the start, at which nothing was carried: a tare for the payloads before and after each "
        "(turns --smooth on)",
    )  # fmt: skip
    parser.add_argument(
        "--unloaded-run", action="append", default=[], metavar="BAG",
        help="a recording of the same motion with no payload, for a payload from the differences of both (give it once "
        "for each run; see `panda-dynamics weigh`)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the summary as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Replay, report, write the files; show them at the pace of the recording if asked to."""
    checks.number(args.rate, "--rate", minimum=0.01, maximum=100.0)
    options = payload_options(args)
    args.bag = _recording(args)
    checks.not_an_input(args.output / "results", [args.bag, *args.unloaded_run], "--output, with results in it")
    if args.bag_format != "none":
        check_replaceable(args.output, "results")
    robot = load_arm(args)
    data = load_dataset(args.bag, robot, **recording_options(args))
    with opened_view(args, robot, f"panda-dynamics replay: {_name(args)}") as view:
        result = _replay(args, data, robot, options)
        if view is not None:
            from panda_dynamics_ros.reporting.web_view import play_replay

            show_until_interrupted(view, lambda: play_replay(data, result, view, args.rate))
    return CONTRADICTED if args.strict and result.problem else 0


def _recording(args: argparse.Namespace) -> str:
    if args.example == (args.bag is not None):
        raise ArgumentError(f"BAG: expected a recording or --example, got {'both' if args.example else 'neither'}")
    return str(EXAMPLE) if args.example else str(args.bag)


def _name(args: argparse.Namespace) -> str:
    return "the example" if args.example else Path(args.bag).name


def _replay(args: argparse.Namespace, data: JointDataset, robot: RobotModel, options: dict[str, Any]) -> Replay:
    with LiveTable(f"replay of {_name(args)}", quiet=args.json) as table:

        def show(done: int, count: int, estimate: PayloadEstimate) -> None:
            table.show(_progress(done, count, estimate, data))

        result = replay(data, robot, show, **options)
    segments = _smoothed(args, data, robot, result, options)
    paired: dict[str, Any] = {}
    paired_text: list[tuple[str, str]] = []
    if args.unloaded_run:
        # Their imports take longer than all others.
        from panda_dynamics_ros.estimation.paired_runs import weigh_paired_runs
        from panda_dynamics_ros.reporting.weighing import paired_entry, paired_rows

        empty = [load_dataset(path, robot, **recording_options(args)) for path in args.unloaded_run]
        weighed = weigh_paired_runs(robot, [data], empty, **options)
        paired, paired_text = {"paired": paired_entry(weighed)}, paired_rows(weighed)
    args.output.mkdir(parents=True, exist_ok=True)
    loads = franka_loads(data, robot, result)
    for sentence in stale_loads(loads, float(data.stamp[0])):
        warnings.warn(sentence, stacklevel=2)
    summary = _summary(data, result, segments, loads) | paired
    files = [write_summary(summary, args.output), *_write_files(data, robot, result, segments, args.output)]
    files += _write_bag(data, robot, result, args.output / "results", args.bag_format)
    if args.json:
        print(json.dumps(summary), flush=True)
    else:
        print_table(f"{_name(args)}, with the parameters of {robot.name}", _rows(data, result, loads))
        if paired_text:
            count = len(args.unloaded_run)
            print_table(f"compared with {count} unloaded run{'s' if count > 1 else ''}", paired_text)
        if segments:
            print_segments(segments, float(data.stamp[0]))
        print("written: " + ", ".join(str(path) for path in files), flush=True)
    return result


def _smoothed(
    args: argparse.Namespace, data: JointDataset, robot: RobotModel, result: Replay, options: dict[str, Any]
) -> tuple[PayloadSegment, ...]:
    if not (args.smooth or args.unloaded):
        return ()
    for moment in args.unloaded:
        checks.number(moment, "--unloaded", minimum=0.0, maximum=float(data.duration_s))
    unloaded = np.minimum(data.stamp[0] + np.array(args.unloaded), data.stamp[-1]).tolist()
    return smooth_payloads(robot, data.stamp, data.q, data.dq, data.tau, result.findings.changes, unloaded, **options)


def _progress(done: int, count: int, estimate: PayloadEstimate, data: JointDataset) -> list[tuple[str, str]]:
    share = 100 * done // max(count, 1)
    time = data.stamp[min(done, count - 1)] - data.stamp[0]
    return [("replayed", f"{share:3d} %  {time:6.1f} s"), *payload_rows(estimate)]


def _summary(
    data: JointDataset, result: Replay, segments: tuple[PayloadSegment, ...], loads: tuple[FrankaLoad, ...]
) -> dict[str, Any]:
    return build_summary(
        samples=len(data.stamp),
        dropped=sum(data.rejected.values()),
        duration_s=data.duration_s,
        rate_hz=data.rate_hz,
        torque_residual_rms=result.torque_residual_rms,
        problem=result.problem,
        joint_offsets=result.joint_offsets,
        joint_offsets_std=result.joint_offsets_std,
        payload=result.last,
        events=[(event.stamp, f"detected_{event.kind}") for event in result.events],
        stamp=result.stamp,
        mass=result.mass,
        com=result.com,
        segments=segments,
        franka_load=load_entry(loads),
    )


def _rows(data: JointDataset, result: Replay, loads: tuple[FrankaLoad, ...]) -> list[tuple[str, str]]:
    events = "; ".join(f"{event.kind} at {event.stamp - data.stamp[0]:.2f} s" for event in result.events) or "none"
    return [
        ("samples", f"{len(data.stamp)} over {data.duration_s:.1f} s, {data.rate_hz:.1f} Hz"),
        ("lost", result.findings.losses),
        ("torque residual RMS", "  ".join(f"{rms:.3f}" for rms in result.torque_residual_rms) + "  N m (joints 1..n)"),
        *(row for row in payload_rows(result.last) if row[0] != "problem"),
        *([("load that Franka has", load_text(loads))] if loads else []),
        ("changes", events),
        *([("problem", result.problem)] if result.problem else []),
    ]


def _write_bag(data: JointDataset, robot: RobotModel, result: Replay, folder: Path, storage: str | None) -> list[Path]:
    """Write the results as a rosbag2. Without rosbags, only a warning is given unless a bag was asked for."""
    if storage == "none":
        return []
    try:
        write_replay(folder, data, robot, result, storage or "mcap", overwrite=True)
    except MissingDependencyError as error:
        if storage is not None:
            raise
        warnings.warn(f"{folder} is not written: {error}", stacklevel=2)
        return []
    return [folder]


def _write_files(
    data: JointDataset, robot: RobotModel, result: Replay, segments: tuple[PayloadSegment, ...], output: Path
) -> list[Path]:
    from panda_dynamics_ros.reporting.plots import PayloadHistory, plot_payload, plot_torques
    from panda_dynamics_ros.reporting.scene import ArmScene
    from panda_dynamics_ros.reporting.scene_picture import draw_scene

    time = data.stamp - data.stamp[0]
    history = PayloadHistory(
        time=time,
        mass=result.mass,
        mass_std=result.mass_std,
        com=result.com,
        com_std=result.com_std,
        com_is_known=result.com_is_known,
        events=tuple((event.stamp - data.stamp[0], f"detected {event.kind}") for event in result.events),
        smoothed=SmoothedHistory.at(data.stamp, segments) if segments else None,
    )
    name = Path(data.source).name
    shown = int(np.searchsorted(data.stamp, result.last.stamp).clip(0, len(data.stamp) - 1))
    return [
        plot_payload(
            history, output / "payload.png", f"Payload found in {name} (parameters: {robot.name})", result.problem
        ),
        plot_torques(
            time,
            result.measured_torques,
            result.gravity_torques,
            result.residual,
            output / "torques.png",
            result.problem,
        ),
        draw_scene(ArmScene(robot).at(data.q[shown], result.last), output / "scene.png", banner=result.problem),
    ]
