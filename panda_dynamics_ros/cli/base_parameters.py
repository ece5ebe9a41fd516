# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics base-parameters`: the minimum inertial parameters of an arm, with their closed forms."""

import argparse
import json

from panda_dynamics_ros.cli import options
from panda_dynamics_ros.untrusted import printable

EXAMPLES = "panda-dynamics base-parameters fr3 --json"
OPTIONS = options.ROBOT_ARGUMENT
UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)  # of an inertial vector


def run(args: argparse.Namespace) -> None:
    """Print the base parameters of a robot: values = mapping @ inertial_vector, and Y_base = Y[:, columns]."""
    robot = options.load_arm(args)
    base = robot.base_parameters()
    columns = base.names, base.values.tolist(), base.columns, base.expressions
    entries = [
        {"name": name, "value": value, "unit": UNITS[column % 10], "column": column, "expression": expression}
        for name, value, column, expression in zip(*columns, strict=True)
    ]
    if args.json:
        about = {"robot": robot.name, "count": len(base), "inertial_parameters": 10 * robot.n}
        found = {"without_effect": list(base.without_effect), "parameters": entries, "mapping": base.mapping.tolist()}
        print(json.dumps(about | found))
        return
    print(f"{printable(robot.name)}: {len(base)} base parameters of {10 * robot.n} inertial parameters")
    for entry in entries:
        name, form = entry["expression"].split(" = ")
        row = f"{name:<6} {entry['value']:>12.6g} {entry['unit']:<6}"
        print(row.rstrip() if form == name else f"{row}  = {form}")
    print("without effect on the torques: " + (" ".join(base.without_effect) or "none"))
