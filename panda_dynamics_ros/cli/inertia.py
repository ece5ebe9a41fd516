# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics inertia`: the table of document 000, and its mapping to the base frame {S}."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli.options import add_robot, load_arm

if TYPE_CHECKING:
    from panda_dynamics_ros.model import RobotModel

DESCRIPTION = """\
Prints mass, centre of mass and inertia of every link in its joint frame, and
mapped to the base frame at a joint position.
"""
EXAMPLES = """\
Link i is fixed to joint frame i (modified DH). In the first table m c and the inertia are about that frame's origin,
as in the inertial vector; in the others the inertia is about the centre of mass c.

examples:
  panda-dynamics inertia
  panda-dynamics inertia panda_ledezma --frame base
  panda-dynamics inertia fr3 --end-effector hand --q 0 -0.785 0 -2.356 0 1.571 0.785 --json
"""
AXES, PAIRS = ("x", "y", "z"), ("xx", "xy", "xz", "yy", "yz", "zz")
UPPER = np.triu_indices(3)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_robot(parser)
    parser.add_argument("--q", nargs="+", type=float, metavar="Q", help="joint position in rad (default: all zero)")
    parser.add_argument("--frame", choices=("joint", "base"), help="print one of the two only")
    parser.add_argument("--json", action="store_true", help="print for a program, in full precision")


def run(args: argparse.Namespace) -> int:
    """Print the inertial parameters of a robot."""

    robot = load_arm(args)
    q = checks.exactly(np.zeros(robot.n) if args.q is None else args.q, (robot.n,), "--q")
    frames = (args.frame,) if args.frame else ("joint", "base")
    content = for_a_program(robot, q, frames)
    if args.json:
        print(json.dumps(content))
    else:
        _print_tables(content)
    return 0


def for_a_program(robot: RobotModel, q: FloatArray, frames: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object: for each frame a list of links; inertia as xx, xy, xz, yy, yz, zz."""
    from panda_dynamics_ros.dynamics.kinematics import links_in_base

    content: dict[str, Any] = {"robot": robot.name, "q": q.tolist()}
    if "joint" in frames:
        content["joint"] = [
            {
                "mass": link.mass,
                "first_moment": link.vector[1:4].tolist(),
                "inertia_about_origin": link.vector[4:].tolist(),
                "com": link.com.tolist(),
                "inertia_about_com": link.inertia[UPPER].tolist(),
            }
            for link in robot.links
        ]
    if "base" in frames:
        mass, com, inertia = links_in_base(robot, q)
        content["base"] = [
            {"mass": float(m), "com": c.tolist(), "inertia_about_com": I_c[UPPER].tolist()}
            for m, c, I_c in zip(mass, com, inertia, strict=True)
        ]
    return content


def _print_tables(content: dict[str, Any]) -> None:
    name = content["robot"]
    if "joint" in content:
        _print_table(
            f"{name}: m (kg), m c (kg m), inertia about the joint frame's origin (kg m^2), axes of the joint frame",
            content["joint"], "first_moment", "inertia_about_origin", ("mc", "I"),
        )  # fmt: skip
        _print_table(
            f"{name}: c (m), inertia about c (kg m^2), axes of the joint frame",
            content["joint"], "com", "inertia_about_com", ("c", "I"),
        )  # fmt: skip
    if "base" in content:
        at = " ".join(f"{angle:g}" for angle in content["q"])
        _print_table(
            f"{name} in base {{S}} at q = {at}: c (m), inertia about c (kg m^2), base axes",
            content["base"], "com", "inertia_about_com", ("c", "I"),
        )  # fmt: skip


def _print_table(title: str, links: list[dict[str, Any]], vector: str, six: str, symbols: tuple[str, str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_style="bold")
    headings = ["link", "m", *(symbols[0] + axis for axis in AXES), *(symbols[1] + pair for pair in PAIRS)]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for i, link in enumerate(links, start=1):
        numbers = [link["mass"], *link[vector], *link[six]]
        table.add_row(str(i), *(f"{number:.6f}" for number in numbers))
    # As wide as it needs even on a narrow terminal, where lines wrap: a number that is cut off is a wrong one.
    Console(width=118, highlight=False).print(table)
