# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics identify`: a model of your own arm from recordings of its motion without payload."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli.options import add_recording_options, add_robot_option, load_arm, recording_options
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import learn_residual
from panda_dynamics_ros.identification import Identification, Validation, identify, identify_gravity, validate
from panda_dynamics_ros.identification.plausibility import ImplausibleRecordingWarning, PreparedRecording
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.reporting.console import Table, print_results
from panda_dynamics_ros.reporting.summary import floats
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.urdf_file import urdf_inertials

WELL_KNOWN = 0.1  # relative standard deviation of a base parameter
DESCRIPTION = """\
Fits inertial parameters, friction and the tilt of the base to recordings of
the unloaded arm (rosbag2, or a table with t, q1.., dq1.., tau1..), and writes
a robot file that every --robot option takes.
"""
EXAMPLES = """\
examples:
  panda-dynamics identify excitation.csv
  panda-dynamics identify poses.csv --gravity-only
  panda-dynamics identify excitation.csv cycle.csv --residual-map
  panda-dynamics identify monday.mcap tuesday.mcap --validate wednesday.mcap --report identification
  panda-dynamics replay recording.mcap --robot my_panda.yaml
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="recordings: rosbag2 files or folders, or tables (CSV, npz, HDF5, Parquet)",
    )
    add_robot_option(parser)
    add_recording_options(parser)
    parser.add_argument(
        "--output", type=Path, default=Path("my_panda.yaml"), metavar="FILE", help="default: my_panda.yaml"
    )
    parser.add_argument(
        "--gravity-only",
        action="store_true",
        help="identify masses and centres of mass only, from poses in which the arm rests",
    )
    parser.add_argument(
        "--residual-map",
        action="store_true",
        help="also learn what the result leaves unexplained in these motions, into a file beside OUTPUT",
    )
    parser.add_argument(
        "--validate", nargs="+", default=[], metavar="DATA", help="recordings to predict with the result, not to fit"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS",
        help="tcp://HOST:8786 of Dask, whose workers read and filter DATA; the paths must be the same on all machines",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="DIR", help="folder for report.html and its pictures")
    parser.add_argument("--urdf", type=Path, metavar="FILE", help="file for the links with their inertia, as URDF")
    parser.add_argument("--force", action="store_true", help="write a result that is implausible, too")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Identify, validate, report, write the files."""
    if args.output.suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"--output: expected a name that ends in .yaml, got {str(args.output)!r}")
    if not args.force:  # problems are then the error that ends the command
        warnings.simplefilter("ignore", ImplausibleRecordingWarning)
    prior, where = load_arm(args), recording_options(args)

    def recordings() -> Iterator[JointDataset]:
        return (load_dataset(path, prior, **where) for path in args.data)

    others = [load_dataset(path, prior, **where) for path in args.validate]
    fit = (
        identify_gravity(list(recordings()), prior)
        if args.gravity_only
        else identify(_prepared(args, prior) if args.scheduler else recordings(), prior)
    )
    if args.residual_map:
        fit = replace(fit, robot=learn_residual(list(recordings()), fit.robot))
    models = {prior.name: prior, "identified": fit.robot}
    validations = [("Validation", validate(data, models)) for data in others]
    args.output.parent.mkdir(parents=True, exist_ok=True)
    files = [fit.save(args.output, force=args.force)]
    if args.residual_map:
        files.append(args.output.with_name(f"{args.output.stem}.residual.npz"))
    if args.urdf is not None:
        args.urdf.parent.mkdir(parents=True, exist_ok=True)
        args.urdf.write_text(urdf_inertials(fit.robot), encoding="utf-8")
        files.append(args.urdf)
    if args.report is not None:
        shown = validations or ([] if args.gravity_only else [("Fit", validate(next(recordings()), models))])
        files += _write_report(fit, shown, args.report)
    tables: list[Table] = [(f"{', '.join(args.data)}, starting from {prior.name}", _rows(fit))]
    for _, validation in validations:
        rows = [(name, _per_joint(validation.torque_rms(name))) for name in validation.predicted]
        tables.append((f"torque RMS in N m on {validation.source}, which was not fitted", rows))
    print_results(args.json, summarise(fit, [validation for _, validation in validations], files), tables, files)
    return 0


def _prepared(args: argparse.Namespace, prior: RobotModel) -> Iterator[PreparedRecording]:
    from panda_dynamics_ros.annotation.engines import results_of_cluster

    paths = [str(Path(path).absolute()) for path in args.data]
    return results_of_cluster(prepared_recording, paths, prior, recording_options(args), scheduler=args.scheduler)


def prepared_recording(path: str, prior: RobotModel, where: dict[str, Any]) -> PreparedRecording:
    """What `identify` needs of a recording, read with the options `where`; called on the workers."""
    return PreparedRecording(prior, load_dataset(path, prior, **where))


def summarise(fit: Identification, validations: list[Validation], files: list[Path]) -> dict[str, Any]:
    """The result for a program."""
    return {
        "robot": fit.robot.name,
        "prior": fit.prior.name,
        "samples": fit.samples,
        "outliers": fit.outliers,
        "condition_number": fit.condition_number,
        "torque_rms": floats(fit.torque_rms),
        "prior_torque_rms": floats(fit.prior_torque_rms),
        "cross_validated_rms": None if np.isnan(fit.cross_validated_rms).any() else floats(fit.cross_validated_rms),
        "tilt": floats(fit.tilt),
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


def _per_joint(rms: FloatArray) -> str:
    return "  ".join(f"{value:.3f}" for value in rms) + f"   together {np.linalg.norm(rms):.3f}"


def _rows(fit: Identification) -> list[tuple[str, str]]:
    known = int((fit.relative_sigma < WELL_KNOWN).sum())
    return [
        ("rows", f"{fit.samples}; {fit.outliers} outliers replaced"),
        ("condition number", f"{fit.condition_number:.1f}"),
        ("torque RMS, fitted", _per_joint(fit.torque_rms) + " N m"),
        ("held-out blocks", _per_joint(fit.cross_validated_rms) + " N m"),
        (f"{fit.prior.name}", _per_joint(fit.prior_torque_rms) + " N m"),
        ("tilt of the base", f"{1e3 * fit.tilt[0]:.1f}, {1e3 * fit.tilt[1]:.1f} mrad"),
        *_map_row(fit),
        ("not identified", ", ".join(fit.not_identified) or "none"),
        (
            "base parameters",
            f"{len(fit.base_names)}, {known} with a standard deviation below {WELL_KNOWN:.0%}; see --report, --json",
        ),
    ]


def _map_row(fit: Identification) -> list[tuple[str, str]]:
    """A row on the residual map, where one was learnt."""
    known = fit.robot.residual_map
    return (
        [] if known is None else [("residual map", f"{len(known.points)} points, noise {_per_joint(known.noise)} N m")]
    )


def _write_report(fit: Identification, validations: list[tuple[str, Validation]], folder: Path) -> list[Path]:
    from panda_dynamics_ros.reporting.identification import plot_prediction, plot_sigmas, write_report

    folder.mkdir(parents=True, exist_ok=True)
    pictures = [
        plot_prediction(validation, folder / f"prediction_{i}.png")
        for i, (_, validation) in enumerate(validations, start=1)
    ]
    pictures.append(plot_sigmas(fit, folder / "base_parameters.png"))
    return [write_report(fit, validations, pictures, folder / "report.html"), *pictures]
