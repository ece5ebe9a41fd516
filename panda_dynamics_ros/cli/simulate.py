# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics simulate`: records a simulated Panda on an exciting motion."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli.options import add_payload_com_option, add_robot_option, load_arm
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.recordings.bags import JointStateSample
from panda_dynamics_ros.reporting.console import print_results
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.effort import MEASURED
from panda_dynamics_ros.simulation.fourier_motion import read_motion

DESCRIPTION = """\
Simulates a Panda that runs a motion of `panda-dynamics excite`, faster than
real time, and records its sensors at 1 kHz as a rosbag2 (mcap).
"""
EXAMPLES = """\
The simulated arm is that of `panda-dynamics demo` with the same seed. It differs from the model as a real arm does, in
its inertias, friction and offsets, and its torques have noise and a coloured disturbance; --take N changes the noise.

examples:
  panda-dynamics excite --output motion.csv
  panda-dynamics simulate motion.csv --repeat 3 --output recording
  panda-dynamics simulate motion.csv --take 2 --payload-mass 1 --output carrying
"""
START = 1.0  # s at rest before the motion
BOX = 0.1  # m, side of the cube that a payload of given mass is


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("motion", metavar="MOTION", help="the CSV of `panda-dynamics excite`")
    parser.add_argument("--repeat", type=int, default=2, metavar="N", help="periods of the motion (default: 2)")
    parser.add_argument(
        "--payload-mass",
        type=float,
        default=0.0,
        metavar="KG",
        help="carry a cube of 10 cm with this mass (default: none)",
    )
    add_payload_com_option(parser)
    add_robot_option(parser)
    parser.add_argument(
        "--seed", type=int, default=0, help="number of the simulated arm (default: 0, that of the demo)"
    )
    parser.add_argument("--take", type=int, default=1, metavar="N", help="number of the noise (default: 1)")
    parser.add_argument(
        "--output", type=Path, default=Path("recording"), metavar="DIR", help="the rosbag2 folder (default: recording)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a recording that is already there")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Simulate, write the recording."""
    from panda_dynamics_ros.recordings.bag_writing import write_joint_states
    from panda_dynamics_ros.simulation import SimulatedPanda, exciting_motion

    checks.number(args.repeat, "--repeat", minimum=1, maximum=1000)
    checks.number(args.take, "--take", minimum=0)
    if not 0.0 <= args.payload_mass <= 10.0:
        raise ArgumentError(f"--payload-mass: expected kg in [0, 10], got {args.payload_mass:g}")
    if args.output.exists() and not args.overwrite:  # before a minute of simulation, not after it
        raise ArgumentError(
            f"--output: expected a folder that does not exist, or --overwrite, got {str(args.output)!r}"
        )
    robot = load_arm(args)
    if robot.effort != MEASURED:
        raise ArgumentError(f"--effort: expected {MEASURED}, which the simulated sensors record, got {robot.effort}")
    motion = read_motion(args.motion, robot.n)
    plant = SimulatedPanda(
        robot,
        seed=args.seed,
        excitation=replace(motion, standstill=START),
        arm_excitation=exciting_motion(robot, args.seed),
        noise_seed=args.take,
    )
    if args.payload_mass > 0.0:
        inertia = args.payload_mass * BOX**2 / 6.0 * np.eye(3)
        plant.attach(InertialParameters(args.payload_mass, np.array(args.payload_com), inertia))
    count = round((START + args.repeat * motion.period) / plant.timestep)
    watched = not args.json and sys.stderr.isatty()
    steps = track(range(count), "simulating", console=Console(stderr=True), disable=not watched)
    samples = (plant.step() for _ in steps)
    file = write_joint_states(
        args.output,
        (JointStateSample(each.stamp, robot.joint_names, each.q, each.dq, each.tau) for each in samples),
        topic="/franka/joint_states",
        overwrite=args.overwrite,
    )
    summary = {"samples": count, "duration_s": count * plant.timestep, "files": [str(file)]}
    rows = [
        ("motion", f"{args.repeat} times {motion.period:g} s of {args.motion}"),
        ("samples", f"{count} at {1.0 / plant.timestep:g} Hz"),
        ("payload", f"{args.payload_mass:g} kg"),
    ]
    print_results(args.json, summary, [("simulated Panda", rows)], [file])
    return 0
