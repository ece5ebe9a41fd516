# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics weigh`: a payload to a few grams, from runs of one motion with and without it."""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.estimate import NORMAL_95
from panda_dynamics_ros.estimation.paired_runs import PairedRuns, weigh_paired_runs
from panda_dynamics_ros.estimation.payload_file import franka_load
from panda_dynamics_ros.reporting import console
from panda_dynamics_ros.reporting.summary import body_entry, floats, payload_entry, write_summary
from panda_dynamics_ros.robot.inertial import PARAMETER_NAMES, InertialParameters, six_from_symmetric
from panda_dynamics_ros.simulation.motion_search import READY, WRIST_REACH, duration, weighing_motion
from panda_dynamics_ros.simulation.plant import payload_cube, simulated_runs

EXAMPLES = """\
panda-dynamics weigh --plan --start 0 -0.785 0 -2.356 0 1.571 0.785 --table-height 0.1
panda-dynamics weigh --unloaded empty1.mcap empty2.mcap --loaded with1.mcap with2.mcap
"""
ORDER = "ABBA"  # of simulated runs without (A) and with (B) the payload: a drift cancels
START = "posture to start the motion from, rad (default: Franka's)"
CHECK = "another recording with the payload, for the check at rest (default: the same)"
OPTIONS = [
    [
        options.flag("--simulate", "make the runs on the simulated arm, and weigh"),
        options.flag("--plan", "only write the motion, for a joint_trajectory_controller"),
        options.option("--loaded", "weigh recordings with the payload", nargs="+", metavar="RUN"),
    ],
    options.option("--unloaded", "recordings of the same motion without it", nargs="+", metavar="RUN"),
    options.option("--check", CHECK, metavar="RUN"),
    *options.ROBOT,
    *options.RECORDING,
    *options.payload(),
    options.option("--start", START, nargs="+", type=float, metavar="Q", default=READY),
    options.number("--reach", WRIST_REACH, "RAD", "half of the range in which each of the wrist's joints turns"),
    options.number("--table-height", 0.0, "M", "height of the table in base axes; -1 for no table"),
    options.number("--trials", 1000, "N", "motions to try"),
    options.number("--seed", 0, "N", "seed of the search and of the simulated arm"),
    options.number("--payload-mass", 1.0, "KG", "mass of the payload of the simulated arm"),
    options.COM,
    options.output("weigh_output"),
]


def run(args: argparse.Namespace) -> None:
    from panda_dynamics_ros.reporting.plots import plot_differences

    if bool(args.loaded) != bool(args.unloaded):
        got = "none" if args.loaded else "some"
        raise ArgumentError(f"--unloaded: expected recordings beside those of --loaded, and only then, got {got}")
    if args.simulate and args.check:
        raise ArgumentError(f"--check: expected no recording with --simulate, which makes one, got {args.check!r}")
    robot, truth = options.load_arm(args), None
    if args.loaded:
        load = partial(options.load_recording, args, robot)
        loaded, unloaded = [*map(load, args.loaded)], [*map(load, args.unloaded)]
        check = load(args.check) if args.check else None
    else:
        checks.radians(args.start, "--start")
        search = {name: getattr(args, name) for name in ("table_height", "reach", "trials", "seed")}
        motion = weighing_motion(robot, args.start, **search)
        if args.plan:
            plan = options.write_plan(robot, motion, duration(motion), args.output / "trajectory.yaml")
            tables = [("motion for weighing", console.summary_rows(plan))]
            console.print_results(args.json, plan, tables, plan["files"])
            return
        truth = payload_cube(args.payload_mass, args.payload_com)
        # One more loaded run for the check at rest; the payload is estimated without it.
        *runs, check = simulated_runs(robot, motion, truth, ORDER + "B", args.seed)
        loaded, unloaded = ([run for run, each in zip(runs, ORDER, strict=True) if each == kind] for kind in "BA")
    result = weigh_paired_runs(robot, loaded, unloaded, check=check, **options.payload_options(args))
    rest = result.rest
    in_order = sorted([*loaded, *unloaded], key=lambda run: float(run.stamp[0]))
    names = [f"{Path(run.source).name} ({'loaded' if run in loaded else 'unloaded'})" for run in in_order]
    args.output.mkdir(parents=True, exist_ok=True)
    summary = {
        "robot": robot.name,
        "runs": names,
        **payload_entry(result.estimate),
        "motion_s": result.motion_s,
        "noise": floats(result.noise),  # one sigma
        "rest": {
            "pauses": len(rest.torque),
            "largest": floats(rest.largest),
            "noise": floats(rest.noise),
            "within_noise": rest.passed if len(rest.torque) else None,
        },
        "set_load": franka_load(result.estimate),
        "truth": None if truth is None else body_entry(truth),
    }
    tables = [(f"weighed with {robot.name}, {len(names)} runs", _rows(result, truth))]
    files = [plot_differences(result, args.output / "weigh.png"), write_summary(summary, args.output)]
    summary["files"] = [str(file) for file in files]
    console.print_results(args.json, summary, tables, files)


def _rows(result: PairedRuns, truth: InertialParameters | None) -> console.Rows:
    estimate, rest = result.estimate, result.rest
    is_found = estimate.mass - estimate.mass_margin > 0.0
    mass, inertia, at_rest = console.mass_text(estimate), "not known", "not checked: the arm never paused"
    if is_found:  # to a tenth of a gram, also below what counts as carried elsewhere: pairs show less than that
        mass = f"{estimate.mass:.4f} ± {estimate.mass_margin:.4f} kg (95 %)"
    if np.isfinite(estimate.inertia_std).all():
        entries = zip(PARAMETER_NAMES[4:], six_from_symmetric(estimate.inertia), estimate.inertia_std, strict=True)
        margins = [f"{name[1:]} {console.fixed(1e3 * v, 2)} ± {1e3 * NORMAL_95 * s:.2f}" for name, v, s in entries]
        inertia = ", ".join(margins) + " g m² (95 %)"
    if len(rest.torque):
        verdict = "within the arm's noise" if rest.passed else "beyond the arm's noise"
        at_rest = f"with the load declared at most {console.joint_values(rest.largest)} N m, {verdict}"
    rows = [
        ("payload mass", mass),
        ("centre of mass", console.com_text(estimate, is_found)),
        ("inertia", inertia),
        ("noise of a run", f"{console.joint_values(1e3 * result.noise, 0)} mN m (joints 1..n)"),
        ("torque at rest", at_rest),
    ]
    if estimate.problem:
        rows.append(("problem", estimate.problem))
    if truth is not None:
        rows.append(("truth", f"{truth.mass:.4f} kg, centre of mass {console.joint_values(1e3 * truth.com, 1)} mm"))
    if is_found and not estimate.problem:
        load = franka_load(estimate)
        com, tensor = (", ".join(f"{each:.9g}" for each in load[key]) for key in ("center_of_mass", "load_inertia"))
        rows.append(("libfranka", f"robot.setLoad({load['mass']:.6g}, {{{com}}}, {{{tensor}}});"))  # column-major
    return rows
