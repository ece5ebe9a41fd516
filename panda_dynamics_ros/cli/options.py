# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have: each stands here once, and a command's `OPTIONS` name it."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import EFFORT_KINDS

if TYPE_CHECKING:
    from panda_dynamics_ros.dynamics.model import RobotModel
    from panda_dynamics_ros.reporting.web_view import WebView
    from panda_dynamics_ros.robot import RobotDescription
    from panda_dynamics_ros.robot.joint_dataset import JointDataset

ROBOTS = "panda, panda_ledezma, fr3, or a YAML, URDF or MJCF file (default: panda)"
PLAN_STEP = 0.02  # s, from point to point of a trajectory
Option = tuple[str, dict[str, Any]]
"""A flag, or the name of a positional argument, and the keyword arguments of `add_argument`."""
Options = Sequence[Option | list[Option] | dict[str, list[Option]]]
"""Options; a list within has those of which exactly one must be given, a dictionary those under a title of the help."""


def option(name: str, words: str, **keywords: Any) -> Option:
    """An option, or a positional argument, with this help."""
    return name, {"help": words, **keywords}


def flag(name: str, words: str) -> Option:
    return option(name, words, action="store_true")


def number(name: str, default: float, metavar: str, words: str) -> Option:
    """An option that takes a number of the default's type; the help names the default."""
    return option(name, f"{words} (default: {default:g})", type=type(default), default=default, metavar=metavar)


def three(name: str, default: tuple[float, ...] | None, metavar: tuple[str, ...], words: str) -> Option:
    return option(name, words, type=float, nargs=3, default=default, metavar=metavar)


def output(default: str, metavar: str = "DIR", words: str = "folder for the results") -> Option:
    return option("--output", f"{words} (default: {default})", type=Path, default=Path(default), metavar=metavar)


CHAIN = [
    option("--base", "first link of the chain in a URDF or MJCF file (default: the root)", metavar="LINK"),
    option("--tip", "last link of the chain, the payload's frame (default: flange or last link)", metavar="LINK"),
]
ARM = [
    option("--end-effector", "mounted on the flange: none, hand or a YAML file (default: none; of live: that of Desk)"),
    *CHAIN,
    option("--friction", "none: for a simulator without friction", choices=("published", "none"), default="published"),
    three("--mounting", (0.0, 0.0, 0.0), ("R", "P", "Y"), "roll, pitch, yaw of the base, rad (default: as described)"),
    three("--gravity", None, ("X", "Y", "Z"), "gravity in m/s^2 (default: the arm's)"),
    option("--effort", "what the effort is (default: as in the arm's file, or measured)", choices=EFFORT_KINDS),
    option("--motor-constants", "of each joint, N m/A, for --effort current", type=float, nargs="+", metavar="K"),
    option("--rotor-inertia", "rotors at the joints, kg m^2, for all but measured", type=float, nargs="+", metavar="B"),
]
COLUMNS = option("--columns", 'columns of a table, as "t=time:ms q=pos_# dq=vel_#:deg tau=torque_#"', metavar="MAP")
RECORDING = [
    COLUMNS,
    option("--topic", "topic of the joint states, if a recording has several"),
    option("--arm-prefix", "how the joints' names begin, if there are several arms", default="", metavar="PREFIX"),
]
COM = three("--payload-com", (0.02, -0.015, 0.06), ("X", "Y", "Z"), "CoM, m, flange frame (default: 0.02 -0.015 0.06)")
VIEW = [
    flag("--view", "show the run in a web page (needs viser); Ctrl-C ends it"),
    number("--port", 8080, "PORT", "port of the web page on this machine"),
]
JSON = flag("--json", "print the result for a program: JSON and nothing else")
OVERWRITE = flag("--overwrite", "replace what exists")
SHAPE = 'shape of the payloads, lengths in m: "box LX LY LZ", "cylinder RADIUS HEIGHT" or "sphere RADIUS"'
ROBOT: Options = [option("--robot", ROBOTS), {"description of the arm": ARM}]
ROBOT_ARGUMENT: Options = [option("robot", ROBOTS, nargs="?", metavar="ROBOT"), *ROBOT[1:]]  # not as an option


def add(parser: argparse._ActionsContainer, options: Options) -> None:
    for each in options:
        if isinstance(each, tuple):
            parser.add_argument(each[0], **each[1])
        elif isinstance(each, list):
            add(parser.add_mutually_exclusive_group(required=True), each)
        else:
            for title, members in each.items():
                add(parser.add_argument_group(title), members)


def load_arm(args: argparse.Namespace) -> RobotModel:
    """The robot of those of these options that a command has; the errors are those of `load_robot`."""
    from panda_dynamics_ros.dynamics.model import load_robot

    names = [name[2:].replace("-", "_") for name, _ in ARM]
    given = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
    return load_robot(args.robot or "panda", **given)


def check_replaceable(output: Path, name: str) -> None:
    """Refuse (ArgumentError) an output folder in which `name` is not of an earlier run, with summary.json beside it."""
    if (output / name).exists() and not (output / "summary.json").exists():
        wanted = f"a folder without {name}, or that of an earlier run"
        raise ArgumentError(f"--output: expected {wanted}, got {str(output)!r}, where {name} holds something else")


def recording_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options `RECORDING` as keyword arguments of `load_dataset`."""
    return {name: getattr(args, name) for name in ("columns", "topic", "arm_prefix")}


def load_recording(args: argparse.Namespace, robot: RobotModel, path: str) -> JointDataset:
    """The recording at a path; the errors are those of `load_dataset`."""
    from panda_dynamics_ros.recordings.dataset import load_dataset

    return load_dataset(path, robot, **recording_options(args))


def payload() -> list[Option]:
    """What a user may know of the payloads; the same as parameters of `payload_estimator`."""
    from panda_dynamics_ros.estimation import EstimatorOptions

    return [
        option("--known-mass", "mass of the payload, if it has been weighed", type=float, default=0.0, metavar="KG"),
        number("--max-mass", EstimatorOptions().max_mass, "KG", "the heaviest possible payload"),
        option("--shape", SHAPE, metavar="WORDS"),
    ]


def payload_options(args: argparse.Namespace) -> dict[str, Any]:
    """These options as keyword arguments; the ranges are those of the parameters."""
    from panda_dynamics_ros.estimation import Shape

    return {
        "known_mass": checks.number(args.known_mass, "--known-mass", minimum=0.0, maximum=100.0),
        "max_mass": checks.number(args.max_mass, "--max-mass", minimum=1e-3, maximum=100.0),
        "shape": Shape.of(args.shape),
    }


@contextlib.contextmanager
def opened_view(args: argparse.Namespace, robot: RobotDescription, title: str) -> Iterator[WebView | None]:
    """Open the page if it was asked for, print its address to standard error, and close it at the end."""
    if not args.view:
        yield None
        return
    from panda_dynamics_ros.reporting.web_view import WebView

    with WebView(robot, title, args.port) as view:
        print(f"live view: {view.url}", file=sys.stderr, flush=True)
        yield view


def write_plan(robot: RobotModel, motion: Callable[..., Any], duration: float, path: Path) -> dict[str, Any]:
    """Write a motion as `path` with .yaml, a JointTrajectory, and with .png. Returns its entries of a summary."""
    from panda_dynamics_ros.reporting.plots import plot_motion
    from panda_dynamics_ros.simulation.motions import write_trajectory

    times = np.arange(0.0, duration + 0.5 * PLAN_STEP, PLAN_STEP)
    q, dq, ddq = states = motion(times)
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [
        write_trajectory(robot.joint_names, times, states, path.with_suffix(".yaml")),
        plot_motion(times, states, robot.limits, path.with_suffix(".png")),
    ]
    return {
        "robot": robot.name,
        "duration_s": duration,
        "start": (q[0].round(9) + 0.0).tolist(),  # no -2.8e-17, and no -0
        "lowest": (q.min(axis=0).round(9) + 0.0).tolist(),
        "highest": (q.max(axis=0).round(9) + 0.0).tolist(),
        "velocity_share": (np.abs(dq).max(axis=0) / robot.limits.velocity).tolist(),
        "acceleration_share": (np.abs(ddq).max(axis=0) / robot.limits.acceleration).tolist(),
        "files": [str(file) for file in files],
    }
