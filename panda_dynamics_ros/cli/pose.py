# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics pose`: convert between Franka's pose formats, or print the arm's pose at a joint position."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence

import numpy as np

from panda_dynamics_ros import checks, pose
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError

EXAMPLES = """\
panda-dynamics pose --from measure-pose 306.9 0 486 180 0 -45
ros2 topic echo --once --field data /panda_dynamics/o_t_ee | panda-dynamics pose --from column-major -
"""
READERS: dict[str, tuple[tuple[int, ...], str, Callable[[FloatArray], FloatArray]]] = {  # counts, words, conversion
    "column-major": ((16,), "16 numbers, column by column", pose.from_column_major),
    "matrix": ((16,), "16 numbers, row by row", lambda v: checks.rigid_transform(v.reshape(4, 4), "VALUES")),
    "quaternion": (
        *((4, 7), "4 numbers x y z w, or 7 with a translation before them"),
        lambda v: pose.pose_to_matrix(v[:-4] if v.size == 7 else np.zeros(3), v[-4:]),
    ),
    "measure-pose": ((6,), "6 numbers: x y z in mm, rotation x y z in degrees", pose.measure_pose_to_matrix),
}
WRITERS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {  # heading, conversion
    "matrix": ("{title} as a matrix, m", lambda T: T),
    "column_major": ("column-major, m", pose.to_column_major),
    "translation": ("translation x y z, m", lambda T: T[:3, 3]),
    "quaternion": ("quaternion x y z w", lambda T: pose.matrix_to_quaternion(T[:3, :3])),
    "measure_pose": ("Measure Pose: x y z, mm; rotation x y z, degrees", pose.matrix_to_measure_pose),
}
FROM = "format of VALUES: " + "; ".join(f"{name} ({words})" for name, (_, words, _) in READERS.items())
OPTIONS = [
    options.option("values", "the pose, or - for standard input", nargs="*", metavar="VALUES"),
    *options.ROBOT,
    [
        options.option("--from", FROM, dest="source", choices=READERS),
        options.option("--q", "joint position in rad: print the arm's pose there", nargs="+", metavar="Q"),
    ],
    options.option("--frame", "base, joint1 .. joint7, flange or ee (default: flange)", default="flange"),
]


def run(args: argparse.Namespace) -> None:
    if args.q is not None:
        if args.values:
            raise ArgumentError(f"VALUES: expected none beside --q, got {' '.join(args.values)}")
        q, robot = checks.radians(_numbers(args.q, "--q"), "--q"), options.load_arm(args)
        title, T = f"T_base_{args.frame} of {robot.name}", robot.pose(q, args.frame)
    else:
        values, (counts, words, convert) = _numbers(args.values, "VALUES"), READERS[args.source]
        if values.size not in counts:
            raise ArgumentError(f"VALUES: expected {words}, got {values.size}")
        title, T = "T", convert(values)
    if args.json:
        print(json.dumps({key: convert(T).tolist() for key, (_, convert) in WRITERS.items()}))
        return
    for heading, convert in WRITERS.values():  # numbers as they can be given to the command again
        value = convert(T)
        print(heading.format(title=title))
        form = ">12.9g" if value.ndim == 2 else ".9g"
        for row in np.atleast_2d(value).tolist():
            print("  " + " ".join(format(round(x, 12) + 0.0, form) for x in row))  # + 0.0 turns -0 into 0


def _numbers(words: Sequence[str], name: str) -> FloatArray:
    """The numbers in `words`, or in standard input, without what `ros2 topic echo` prints around an array."""
    text = sys.stdin.read() if list(words) == ["-"] else " ".join(words)
    cells = re.split(r"[\s,;\[\](){}]+", re.sub(r"array\('[df]'", " ", text))
    try:
        return np.array([float(cell) for cell in cells if cell.strip("-")])
    except ValueError as error:
        raise ArgumentError(f"{name}: expected numbers, got {str(error).rpartition(': ')[2][:42]}") from error
