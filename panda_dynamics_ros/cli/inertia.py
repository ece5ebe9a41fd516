# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics inertia`: the table of document 000, and its mapping to the base frame {S}."""

import argparse
import json
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.reporting.console import fixed
from panda_dynamics_ros.robot.inertial import PARAMETER_NAMES, InertialParameters, six_from_symmetric
from panda_dynamics_ros.untrusted import printable

EXAMPLES = "panda-dynamics inertia fr3 --end-effector hand --q 0 -0.785 0 -2.356 0 1.571 0.785"
OPTIONS = [
    *options.ROBOT_ARGUMENT,
    options.option("--q", "joint position, rad (default: all zero)", nargs="+", type=float, metavar="Q"),
    options.option("--frame", "print only this frame (default: both)", choices=("joint", "base")),
]
TABLES = (  # frame, title, entries and symbols of vector and inertia
    ("joint", "m (kg), m c (kg m), inertia about the joint frame's origin (kg m^2), axes of the joint frame",
     "first_moment", "inertia_about_origin", "mc"),
    ("joint", "c (m), inertia about c (kg m^2), axes of the joint frame", "com", "inertia_about_com", "c"),
    ("base", "c (m), inertia about c (kg m^2), base axes", "com", "inertia_about_com", "c"),
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    robot = options.load_arm(args)
    q = checks.radians(checks.exactly(np.zeros(robot.n) if args.q is None else args.q, (robot.n,), "--q"), "--q")
    content: dict[str, Any] = {"robot": robot.name, "q": q.tolist()}
    if args.frame != "base":
        content["joint"] = [_entry(link) for link in robot.links]
    if args.frame != "joint":
        links = enumerate(robot.links, start=1)
        content["base"] = [_entry(link.transformed(robot.pose(q, f"joint{i}"))) for i, link in links]
    if args.json:
        print(json.dumps(content))
        return
    at = " ".join(f"{angle:g}" for angle in q)
    for frame, title, vector, inertia, symbol in TABLES:
        if frame in content:
            where = f"{robot.name} in base {{S}} at q = {at}" if frame == "base" else robot.name
            headings = ("m", *(symbol + axis for axis in "xyz"), *PARAMETER_NAMES[4:])
            print(f"\n{printable(where)}: {title}")
            print("link" + "".join(f"{heading:>11}" for heading in headings))
            for i, link in enumerate(content[frame], start=1):
                numbers = [link["mass"], *link[vector], *link[inertia]]
                print(f"{i:>4}" + "".join(f"{fixed(each, 6):>11}" for each in numbers))


def _entry(body: InertialParameters) -> dict[str, Any]:
    """For a program; inertias as xx, xy, xz, yy, yz, zz."""
    return {
        "mass": body.mass,
        "first_moment": body.vector[1:4].tolist(),
        "inertia_about_origin": body.vector[4:].tolist(),
        "com": body.com.tolist(),
        "inertia_about_com": six_from_symmetric(body.inertia).tolist(),
    }
