# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, and what `--view` does."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from panda_dynamics_ros import checks
from panda_dynamics_ros.robot.effort import KINDS

if TYPE_CHECKING:
    from panda_dynamics_ros.model import RobotModel
    from panda_dynamics_ros.reporting.web_view import WebView
    from panda_dynamics_ros.robot import RobotDescription

ROBOTS = "panda, panda_ledezma, fr3, or a YAML, URDF or MJCF file (default: panda)"
DEFAULT_PORT = 8080


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add the argument ROBOT, and the options of its description."""
    parser.add_argument("robot", nargs="?", default="panda", metavar="ROBOT", help=ROBOTS)
    _add_description_options(parser)


def add_robot_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--robot`, and those of its description."""
    parser.add_argument("--robot", default="panda", help=ROBOTS)
    _add_description_options(parser)


def _add_description_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("description of the arm")
    help_text = "what is mounted on the flange, apart from payloads: none, hand, or a YAML file (default: none)"
    group.add_argument("--end-effector", default="none", metavar="NAME", help=help_text)
    group.add_argument(
        "--base", metavar="LINK", help="of a URDF or MJCF file: where the chain begins (default: its root)"
    )
    group.add_argument(
        "--tip",
        metavar="LINK",
        help="of such a file: where it ends; the centre of mass is stated there (default: the flange or the last link)",
    )
    group.add_argument(
        "--friction", choices=("published", "none"), default="published", help="none: of a simulator without friction"
    )
    group.add_argument(
        "--mounting", type=float, nargs=3, default=(0.0, 0.0, 0.0), metavar=("R", "P", "Y"),
        help="roll, pitch and yaw of the base, rad (default: upright)",
    )  # fmt: skip
    group.add_argument("--gravity", type=float, nargs=3, metavar=("X", "Y", "Z"), help="m/s^2 (default: 0 0 -9.81)")
    group.add_argument(
        "--effort", choices=KINDS,
        help="what the effort of the joint states is: torques on the links with gravity (measured), without it, of the "
        "actuators, or motor currents (default: the description's, or measured)",
    )  # fmt: skip
    group.add_argument(
        "--motor-constants", type=float, nargs="+", metavar="K", help="of --effort current: N m/A for each joint"
    )
    group.add_argument(
        "--rotor-inertia", type=float, nargs="+", metavar="B",
        help="kg m^2 at each joint, which efforts other than measured contain (default: the description's)",
    )  # fmt: skip
    group.add_argument(
        "--strict",
        action="store_true",
        help="refuse links of such a file that cannot exist; replay: exit code 3 if a problem is stated",
    )


def load_arm(args: argparse.Namespace) -> RobotModel:
    """The robot of the options above; the errors are those of `load_robot`."""
    from panda_dynamics_ros.model import load_robot

    names = (
        "end_effector", "base", "tip", "friction", "mounting", "gravity", "strict", "effort", "motor_constants",
        "rotor_inertia",
    )  # fmt: skip
    return load_robot(args.robot, **{name: getattr(args, name) for name in names})


def add_columns_option(parser: argparse.ArgumentParser) -> None:
    """Add `--columns`."""
    help_text = (
        'columns of a table (CSV, npz, HDF5, Parquet) with other names, for example "t=time:ms q=pos_# dq=vel_# '
        'tau=torque_#"; # is the number of the joint, units are s, ms, us, ns and rad, deg'
    )
    parser.add_argument("--columns", metavar="MAP", help=help_text)


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """Add what says where in a recording the arm's samples are."""
    add_columns_option(parser)
    help_text = "of a table that numbers its episodes (LeRobot), the one to read (default: all, one after the other)"
    parser.add_argument("--episode", type=int, metavar="N", help=help_text)
    parser.add_argument("--topic", help="of the joint states, where a recording has several")
    help_text = "how the names of the arm's joints begin, where there are several arms: left"
    parser.add_argument("--arm-prefix", default="", metavar="PREFIX", help=help_text)


def recording_options(args: argparse.Namespace) -> dict[str, Any]:
    """These options as keyword arguments of `load_dataset`."""
    return {name: getattr(args, name) for name in ("columns", "episode", "topic", "arm_prefix")}


def add_payload_options(parser: argparse.ArgumentParser) -> None:
    """Add what a user may know of the payloads; the same as parameters of `payload_estimator`."""
    from panda_dynamics_ros.estimation import EstimatorOptions

    most, forms = EstimatorOptions().max_mass, '"box LX LY LZ", "cylinder RADIUS HEIGHT" or "sphere RADIUS"'
    parser.add_argument(
        "--known-mass", type=float, default=0.0, metavar="KG", help="mass of the payload, where it has been weighed"
    )
    parser.add_argument(
        "--max-mass", type=float, default=most, metavar="KG", help=f"the heaviest possible payload (default: {most:g})"
    )
    parser.add_argument("--shape", metavar="WORDS", help=f"shape of the payloads, lengths in m: {forms}")


def payload_options(args: argparse.Namespace) -> dict[str, Any]:
    """These options as keyword arguments; the ranges are those of the parameters."""
    from panda_dynamics_ros.estimation import Shape

    return {
        "known_mass": checks.number(args.known_mass, "--known-mass", minimum=0.0, maximum=100.0),
        "max_mass": checks.number(args.max_mass, "--max-mass", minimum=1e-3, maximum=100.0),
        "shape": Shape.of(args.shape),
    }


def add_payload_com_option(parser: argparse._ActionsContainer) -> None:
    """Add `--payload-com` of a simulated payload."""
    com, help_text = [0.02, -0.015, 0.06], "centre of mass in the flange frame, m (default: 0.02 -0.015 0.06)"
    parser.add_argument("--payload-com", type=float, nargs=3, default=com, metavar=("X", "Y", "Z"), help=help_text)


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add `--view` and `--port`."""
    parser.add_argument("--view", action="store_true", help="show the run in a web page (needs viser); Ctrl-C ends it")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help=f"port of the web page on this machine (default: {DEFAULT_PORT})"
    )


@contextlib.contextmanager
def opened_view(args: argparse.Namespace, robot: RobotDescription, title: str) -> Iterator[WebView | None]:
    """Open the page if it was asked for, print its address to standard error, and close it at the end.

    Raises
    ------
    ArgumentError, MissingDependencyError: see `WebView`.
    """
    if not args.view:
        yield None
        return
    from panda_dynamics_ros.reporting.web_view import WebView

    with WebView(robot, title, args.port) as view:
        print(f"live view: {view.url}", file=sys.stderr, flush=True)
        yield view


def show_until_interrupted(view: WebView, show: Callable[[], None] = lambda: None) -> None:
    """Call `show`, then leave the page open. Ctrl-C ends either."""
    with contextlib.suppress(KeyboardInterrupt):
        print(f"the view stays open at {view.url}; Ctrl-C ends it", file=sys.stderr, flush=True)
        show()
        while True:
            time.sleep(1.0)
