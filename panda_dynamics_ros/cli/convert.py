# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics convert`: a log of another program as a rosbag2."""

import argparse
import warnings
from pathlib import Path

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options

EXAMPLES = """\
panda-dynamics convert log.csv recording
panda-dynamics convert log.csv recording --columns "t=time:ms q=pos_# dq=vel_# tau=torque_#"
"""
OPTIONS = [
    options.option("log", "the log to read", metavar="LOG"),
    options.option("output", "the rosbag2 folder to write", type=Path, metavar="DIR"),
    options.ROBOT[0],
    *options.CHAIN,
    options.COLUMNS,
    options.option("--topic", "topic of the messages (default: /joint_states)", default="/joint_states"),
    options.OVERWRITE,
]


def run(args: argparse.Namespace) -> None:
    from panda_dynamics_ros.recordings import JointStateSample, load_dataset, write_joint_states
    from panda_dynamics_ros.reporting.console import print_results, summary_rows

    checks.not_an_input(args.output, [args.log], "DIR")
    robot = options.load_arm(args)
    data = load_dataset(args.log, robot, columns=args.columns)
    if data.tau_ext is not None:
        warnings.warn(f"{args.log}: joint states have no external torques: they are left out", stacklevel=2)
    # A table has no names of joints, and no stamps to the nanosecond; a bag has both.
    names = robot.joint_names if data.recorded_ns is None else data.names
    columns = zip(data.stamp.tolist(), data.q, data.dq, data.tau, data.stamp_ns.tolist(), strict=True)
    samples = (JointStateSample(stamp, names, *rows) for stamp, *rows in columns)
    file = write_joint_states(args.output, samples, topic=args.topic, overwrite=args.overwrite)
    rate = data.rate_hz if len(data.stamp) > 1 else None
    summary = {"samples": len(data.stamp), "dropped": data.rejected, "rate_hz": rate, "files": [str(file)]}
    print_results(args.json, summary, [(f"{Path(args.log).name} as a recording", summary_rows(summary))], [file])
