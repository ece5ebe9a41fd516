# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics convert`: a log of another program as a rosbag2."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli.options import add_columns_option, add_robot_option, load_arm
from panda_dynamics_ros.errors import ArgumentError

DESCRIPTION = """\
Writes the joint states of a log as a rosbag2, which PlotJuggler, RViz and
`ros2 bag play` read. Rows that are no samples are left out and counted.
"""
EXAMPLES = """\
Logs are rosbag2 recordings and tables: CSV, npz, HDF5, Parquet. Known without --columns are the columns t, q1..,
dq1.., tau1.., and those of libfranka's logToCSV, panda-python's get_log, frankapy and DROID. HDF5 and Parquet need the
extra `datasets`.

examples:
  panda-dynamics convert log.csv recording
  panda-dynamics convert trajectory.h5 recording
  panda-dynamics convert episode_0.parquet recording --columns "t=timestamp q=observation.state[0:7]
      dq=observation.velocity[0:7] tau=observation.effort[0:7]"
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("log", metavar="LOG", help="what to read")
    parser.add_argument("output", type=Path, metavar="DIR", help="the rosbag2 folder to write")
    add_columns_option(parser)
    add_robot_option(parser)
    parser.add_argument("--topic", default="/joint_states", help="of the messages (default: /joint_states)")
    parser.add_argument("--overwrite", action="store_true", help="replace a recording that is already there")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Read the log, write the recording."""
    from panda_dynamics_ros.recordings import JointStateSample, write_joint_states
    from panda_dynamics_ros.recordings.dataset import load_dataset
    from panda_dynamics_ros.reporting.console import print_results

    if args.output.exists() and not args.overwrite:
        raise ArgumentError(f"DIR: expected a folder that does not exist, or --overwrite, got {str(args.output)!r}")
    checks.not_an_input(args.output, [args.log], "DIR")
    robot = load_arm(args)
    data = load_dataset(args.log, robot, columns=args.columns)
    # A table has no names of joints; the joints of a bag have theirs.
    names = robot.joint_names if data.names[0] == "joint1" else data.names

    def samples() -> Iterator[JointStateSample]:
        for stamp, stamp_ns, q, dq, tau in zip(data.stamp, data.stamp_ns, data.q, data.dq, data.tau, strict=True):
            yield JointStateSample(float(stamp), names, q, dq, tau, int(stamp_ns))

    file = write_joint_states(args.output, samples(), topic=args.topic, overwrite=args.overwrite)
    dropped = ", ".join(f"{count} {reason}" for reason, count in data.rejected.items()) or "nothing"
    summary = {"samples": len(data.stamp), "dropped": data.rejected, "rate_hz": data.rate_hz, "files": [str(file)]}
    rows = [("samples", f"{len(data.stamp)} over {data.duration_s:.1f} s, {data.rate_hz:.1f} Hz"), ("dropped", dropped)]
    print_results(args.json, summary, [(f"{Path(args.log).name} as a recording", rows)], [file])
    return 0
