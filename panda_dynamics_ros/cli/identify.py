# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics identify`: a model of your own arm from recordings of its motion without payload."""

import argparse
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import learn_residual
from panda_dynamics_ros.identification import identify, validate
from panda_dynamics_ros.identification.problems import ImplausibleRecordingWarning
from panda_dynamics_ros.reporting.console import print_results, summary_rows
from panda_dynamics_ros.reporting.summary import floats

FIGURES = ("torque_rms", "prior_torque_rms", "cross_validated_rms", "tilt")
EXAMPLES = "panda-dynamics identify monday.mcap tuesday.mcap --validate wednesday.mcap --report identification"
DATA = "recordings: rosbag2 files or folders, or tables (CSV, npz, HDF5, Parquet)"
OPTIONS = [
    options.option("data", DATA, nargs="+", metavar="DATA"),
    *options.ROBOT,
    *options.RECORDING,
    options.output("my_panda.yaml", "FILE", "the robot file"),
    options.flag("--residual-map", "also learn what the result leaves unexplained, in a file beside FILE"),
    options.option("--validate", "recordings to predict, not to fit", nargs="+", default=[], metavar="DATA"),
    options.option("--report", "folder for pictures of the torques that the models leave", type=Path, metavar="DIR"),
    options.flag("--force", "write the result even if it is implausible"),
]


def run(args: argparse.Namespace) -> None:
    if args.output.suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"--output: expected a name that ends in .yaml, got {str(args.output)!r}")
    if len({Path(path).absolute() for path in args.data}) < len(args.data):
        raise ArgumentError(f"DATA: expected each recording once, got {' '.join(args.data)}")
    if not args.force:  # problems are then the error that ends the command
        warnings.simplefilter("ignore", ImplausibleRecordingWarning)
    prior = options.load_arm(args)
    load = partial(options.load_recording, args, prior)
    others = [*map(load, args.validate)]  # before the work: what cannot be read ends the command
    fit = identify(map(load, args.data), prior)
    if args.residual_map:
        fit = replace(fit, robot=learn_residual([*map(load, args.data)], fit.robot))
    models = {prior.name: prior, "identified": fit.robot}
    validations = [validate(data, models) for data in others]
    args.output.parent.mkdir(parents=True, exist_ok=True)
    files = [fit.save(args.output, force=args.force)]
    if args.residual_map:
        files.append(args.output.with_name(f"{args.output.stem}.residual.npz"))
    if args.report is not None:
        from panda_dynamics_ros.reporting.plots import plot_prediction

        args.report.mkdir(parents=True, exist_ok=True)
        shown = validations or [validate(load(args.data[0]), models)]
        files += [plot_prediction(each, args.report / f"prediction_{i}.png") for i, each in enumerate(shown, start=1)]
    summary = {
        "robot": fit.robot.name,
        "prior": fit.prior.name,
        **{name: getattr(fit, name) for name in ("samples", "outliers", "condition_number")},
        **{name: floats(getattr(fit, name)) for name in FIGURES},
        "prior_scale": vars(fit.prior_scale),
        "not_identified": list(fit.not_identified),
        "problems": list(fit.problems),
        "residual_map_points": 0 if fit.robot.residual_map is None else len(fit.robot.residual_map.points),
        "base_parameters": [
            {"name": name, "value": float(value), "std": float(std)}
            for name, value, std in zip(fit.base_names, fit.base_values, fit.base_std, strict=True)
        ],
        "validation": [
            {"source": each.source, "torque_rms": {name: floats(each.torque_rms(name)) for name in each.predicted}}
            for each in validations
        ],
        "files": [str(path) for path in files],
    }
    tables = [(", ".join(args.data), summary_rows(summary))]
    for each in summary["validation"]:
        title = f"torque RMS in N m on {each['source']}, which was not fitted"
        tables.append((title, summary_rows(each["torque_rms"])))
    print_results(args.json, summary, tables, files)
