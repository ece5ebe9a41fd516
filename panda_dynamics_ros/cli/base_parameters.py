# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics base-parameters`: the minimum inertial parameters of an arm, with their closed forms."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from panda_dynamics_ros.cli.options import add_robot, load_arm

if TYPE_CHECKING:
    from panda_dynamics_ros.dynamics import BaseParameters
    from panda_dynamics_ros.model import RobotModel

DESCRIPTION = """\
Prints the combinations of inertial parameters that an arm's torques depend on:
their names, values and closed forms, by the direct method of Gautier and
Khalil.
"""
EXAMPLES = """\
m is a mass, mX mY mZ a first moment, XX .. ZZ the inertia about the joint frame's origin, along its axes; the number
is the link. R marks a parameter to which others have been added. Lengths in the closed forms are in m.

examples:
  panda-dynamics base-parameters
  panda-dynamics base-parameters fr3 --json
  panda-dynamics base-parameters my_arm.yaml --tolerance 1e-3
"""
UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)  # of an inertial vector


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_robot(parser)
    parser.add_argument(
        "--tolerance", type=float, default=1e-9, metavar="T",
        help="angles (rad) and lengths (share of the longest link) below T count as zero (default: 1e-9); use a larger "
        "one for a calibrated arm, whose right angles are not exact",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print for a program, in full precision")


def run(args: argparse.Namespace) -> int:
    """Print the base parameters of a robot."""

    robot = load_arm(args)
    base = robot.base_parameters(tolerance=args.tolerance)
    if args.json:
        print(json.dumps(for_a_program(robot, base)))
    else:
        _print_table(robot, base)
    return 0


def for_a_program(robot: RobotModel, base: BaseParameters) -> dict[str, Any]:
    """The JSON object: values = mapping @ inertial_vector, and Y_base = Y[:, columns]."""
    entries = zip(base.names, base.values.tolist(), base.columns, base.expressions, strict=True)
    return {
        "robot": robot.name,
        "count": len(base),
        "inertial_parameters": 10 * robot.n,
        "without_effect": list(base.without_effect),
        "parameters": [
            {"name": name, "value": value, "unit": UNITS[column % 10], "column": column, "expression": expression}
            for name, value, column, expression in entries
        ],
        "mapping": base.mapping.tolist(),
    }


def _print_table(robot: RobotModel, base: BaseParameters) -> None:
    from rich.console import Console
    from rich.table import Table

    title = f"{robot.name}: {len(base)} base parameters of {10 * robot.n} inertial parameters"
    table = Table(title=title, title_justify="left")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("closed form", overflow="fold")
    link = base.columns[0] // 10
    for name, value, column, expression in zip(base.names, base.values, base.columns, base.expressions, strict=True):
        if column // 10 != link:
            table.add_section()
            link = column // 10
        form = expression.split(" = ")[1]
        table.add_row(name, f"{value:.6g}", UNITS[column % 10], "" if form == name else form)
    console = Console(width=None if sys.stdout.isatty() else 118, highlight=False)
    console.print(table)
    console.print("without effect on the torques: " + (" ".join(base.without_effect) or "none"))
