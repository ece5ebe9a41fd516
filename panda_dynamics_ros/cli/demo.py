# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics demo`: a simulated Panda picks a payload up, and real ROS 2 nodes find it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from panda_dynamics_ros.cli.options import add_payload_com_option, add_view_options, opened_view, show_until_interrupted
from panda_dynamics_ros.demo.report import ROBOT
from panda_dynamics_ros.demo.session import Scenario, run_demo
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.model import load_robot
from panda_dynamics_ros.reporting.console import print_results
from panda_dynamics_ros.reporting.summary import check_replaceable

DESCRIPTION = """\
Starts a simulated Panda, the dynamics node and the payload estimator as ROS 2
processes, watches their topics, and writes plots, the recording and
summary.json.
"""
EXAMPLES = "example: panda-dynamics demo --payload-mass 0.5 --payload-com 0.03 0 0.08 --output demo_output"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--payload-mass", type=float, default=1.0, metavar="KG", help="default: 1 kg")
    add_payload_com_option(parser)
    parser.add_argument("--duration", type=float, default=22.0, metavar="S", help="seconds of robot time (default: 22)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated arm's imperfections")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo_output"),
        metavar="DIR",
        help="folder for the results (default: %(default)s)",
    )
    add_view_options(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Run the demo, report, write the files."""
    if not 0.0 < args.payload_mass <= 10.0:
        raise ArgumentError(f"--payload-mass: expected kg in (0, 10], got {args.payload_mass:g}")
    if args.duration < 10.0:
        raise ArgumentError(f"--duration: expected at least 10 s (settle, pick, find, put down), got {args.duration:g}")
    # The processes of this run talk to each other only; read when ROS is imported, so set before that.
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    try:
        import mujoco  # noqa: F401

        from panda_dynamics_ros.nodes.demo_monitor import monitoring
    except ImportError as error:
        raise MissingDependencyError(
            f"demo needs ROS 2 and MuJoCo ({error}); `make demo` installs both, `replay` works without"
        ) from error
    check_replaceable(args.output, "recording")
    args.output.mkdir(parents=True, exist_ok=True)
    scenario = Scenario(args.payload_mass, tuple(args.payload_com), args.duration, args.seed)
    with opened_view(args, load_robot(ROBOT), f"panda-dynamics demo: {args.payload_mass:g} kg") as view:
        outcome = run_demo(scenario, args.output, monitoring, args.json, view)
        print_results(args.json, outcome.summary, [("What the nodes found", outcome.rows)], outcome.files)
        if view is not None:
            show_until_interrupted(view)
    return 0
