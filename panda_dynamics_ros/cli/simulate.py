# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics simulate`: records a simulated Panda on an exciting motion."""

import argparse
from dataclasses import replace

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.reporting.console import print_results, progress_bar, summary_rows
from panda_dynamics_ros.robot.description import MEASURED
from panda_dynamics_ros.simulation.motions import read_motion

EXAMPLES = "panda-dynamics simulate motion.csv --take 2 --payload-mass 1 --output carrying"
OPTIONS = [
    options.option("motion", "the CSV of `panda-dynamics excite`", metavar="MOTION"),
    *options.ROBOT,
    options.number("--repeat", 2, "N", "periods of the motion"),
    options.number("--payload-mass", 0.0, "KG", "carry a cube of 10 cm with this mass"),
    options.COM,
    options.number("--seed", 0, "N", "seed of the simulated arm"),
    options.number("--take", 1, "N", "seed of the noise: another run of the same arm"),
    options.output("recording", "DIR", "the rosbag2 folder"),
    options.OVERWRITE,
]
START = 1.0  # s at rest before the motion


def run(args: argparse.Namespace) -> None:
    from panda_dynamics_ros.recordings import JointStateSample, write_joint_states
    from panda_dynamics_ros.simulation import SimulatedPanda, exciting_motion
    from panda_dynamics_ros.simulation.plant import payload_cube

    checks.number(args.repeat, "--repeat", minimum=1, maximum=1000)
    robot = options.load_arm(args)
    if robot.effort != MEASURED:
        raise ArgumentError(f"--effort: expected {MEASURED}, which the simulated sensors record, got {robot.effort}")
    motion = replace(read_motion(args.motion, robot.n), standstill=START)
    searched = exciting_motion(robot, args.seed)
    plant = SimulatedPanda(robot, seed=args.seed, excitation=motion, arm_excitation=searched, noise_seed=args.take)
    if args.payload_mass != 0.0:
        plant.attach(payload_cube(args.payload_mass, args.payload_com))
    count = round((START + args.repeat * motion.period) / plant.timestep)
    with progress_bar(args.json, "simulating") as bar:
        states = (plant.step() for _ in bar.track(range(count)))
        samples = (JointStateSample(each.stamp, robot.joint_names, each.q, each.dq, each.tau) for each in states)
        file = write_joint_states(args.output, samples, topic="/franka/joint_states", overwrite=args.overwrite)
    summary = {"samples": count, "duration_s": count * plant.timestep, "files": [str(file)]}
    print_results(args.json, summary, [("simulated Panda", summary_rows(summary))], [file])
