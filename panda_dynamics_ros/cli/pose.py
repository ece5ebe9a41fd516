# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics pose`: convert between Franka's pose formats, or print the arm's pose at a joint position."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence

import numpy as np

from panda_dynamics_ros import checks, pose
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli.options import add_robot_option, load_arm
from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError

DESCRIPTION = "Converts a pose between Franka's formats, or prints where a frame of the arm is."
EXAMPLES = """\
formats, lengths in m unless stated otherwise:
  column-major   16 numbers, a column after the other (O_T_EE, F_T_EE, RaceCom messages, state machines)
  matrix         16 numbers, a row after the other
  quaternion     x y z w of any norm, or translation and quaternion: 7 numbers
  measure-pose   x y z in mm, rotation x y z in degrees ("Measure Pose" app)

VALUES are separated by blanks or commas; one file name, or - for standard input, reads them from there.

examples:
  panda-dynamics pose --from measure-pose 306.9 0 486 180 0 -45
  panda-dynamics pose --from quaternion 0 0 0.4 0.924 -0.383 0 0 --to column-major
  ros2 topic echo --once --field data /panda_dynamics/o_t_ee | panda-dynamics pose --from column-major -
  panda-dynamics pose --robot panda --q 0 -0.785 0 -2.356 0 1.571 0.785 --frame ee --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--from", dest="source", choices=READERS, help="format of VALUES")
    parser.add_argument("values", nargs="*", metavar="VALUES", help="the pose, - or a file that has it")
    parser.add_argument("--to", nargs="+", choices=WRITERS, metavar="FORMAT", help="formats to print (default: all)")
    parser.add_argument("--q", nargs="+", metavar="Q", help="joint position in rad: print the arm's pose there")
    add_robot_option(parser)
    parser.add_argument("--frame", default="flange", help="base, joint1 .. joint7, flange or ee (default: flange)")
    parser.add_argument("--json", action="store_true", help="print for a program, in full precision")


def run(args: argparse.Namespace) -> int:
    """Print a pose in the formats asked for."""
    if (args.source is None) == (args.q is None):
        raise ArgumentError("pose: expected either --from FORMAT VALUES or --q Q1 .. Q7, got " + _given(args))
    if args.q is not None:
        if args.values:
            raise ArgumentError(f"VALUES: expected none beside --q, got {' '.join(args.values)}")
        q, robot = _numbers(args.q, "--q"), load_arm(args)
        title, T = f"T_base_{args.frame} of {robot.name}", robot.pose(q, args.frame)
    else:
        title, T = "T", READERS[args.source](_numbers(args.values, "VALUES"))
    entries: dict[str, FloatArray] = {}
    for name in args.to or WRITERS:
        entries.update(WRITERS[name](T))
    if args.json:
        print(json.dumps({key: value.tolist() for key, value in entries.items()}))
    else:
        print("\n".join(_for_a_person(title, entries)))
    return 0


def _given(args: argparse.Namespace) -> str:
    return "both" if args.source is not None else "neither"


def _numbers(words: Sequence[str], name: str) -> FloatArray:
    """The numbers in `words`, or in the file or standard input that the only word names."""
    text = " ".join(words)
    if text == "-":
        text = sys.stdin.read()
    elif len(words) == 1 and not all(map(_is_number, _cells(text))):
        try:
            text = checks.path(text, name).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise DataFileNotFoundError(f"{name}: expected numbers, - or an existing file, got {text!r}") from error
        except UnicodeDecodeError as error:
            raise ArgumentError(f"{name}: expected a file with numbers, got {text!r}") from error
    cells = _cells(text)
    wrong = [cell for cell in cells if not _is_number(cell)]
    if wrong:
        raise ArgumentError(f"{name}: expected numbers, got {wrong[0][:40]!r}")
    return np.array([float(cell) for cell in cells])


def _cells(text: str) -> list[str]:
    """What blanks, commas and brackets separate, without what `ros2 topic echo` prints around an array."""
    text = re.sub(r"array\('[df]'", " ", text)
    return [cell for cell in re.split(r"[\s,;\[\](){}]+", text) if cell.strip("-")]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _counted(values: FloatArray, counts: Sequence[int], what: str) -> FloatArray:
    if values.size not in counts:
        raise ArgumentError(f"VALUES: expected {what}, got {values.size}")
    return values


def _from_column_major(values: FloatArray) -> FloatArray:
    return pose.from_column_major(_counted(values, [16], "16 numbers, column by column"))


def _from_matrix(values: FloatArray) -> FloatArray:
    return checks.rigid_transform(_counted(values, [16], "16 numbers, row by row").reshape(4, 4), "VALUES")


def _from_quaternion(values: FloatArray) -> FloatArray:
    _counted(values, [4, 7], "4 numbers x y z w, or 7 with a translation before them")
    return pose.pose_to_matrix(values[:-4] if values.size == 7 else np.zeros(3), values[-4:])


def _from_measure_pose(values: FloatArray) -> FloatArray:
    return pose.measure_pose_to_matrix(_counted(values, [6], "6 numbers: x y z in mm, rotation x y z in degrees"))


READERS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "column-major": _from_column_major,
    "matrix": _from_matrix,
    "quaternion": _from_quaternion,
    "measure-pose": _from_measure_pose,
}
WRITERS: dict[str, Callable[[FloatArray], dict[str, FloatArray]]] = {
    "matrix": lambda T: {"matrix": T},
    "column-major": lambda T: {"column_major": pose.to_column_major(T)},
    "quaternion": lambda T: {"translation": T[:3, 3], "quaternion": pose.matrix_to_quaternion(T[:3, :3])},
    "measure-pose": lambda T: {"measure_pose": pose.matrix_to_measure_pose(T)},
}
HEADINGS = {
    "matrix": "{title} as a matrix, m",
    "column_major": "column-major, m",
    "translation": "translation x y z, m",
    "quaternion": "quaternion x y z w",
    "measure_pose": "Measure Pose: x y z, mm; rotation x y z, degrees",
}


def _for_a_person(title: str, entries: dict[str, FloatArray]) -> list[str]:
    """Headings and numbers, which can be given to the command again."""
    lines = []
    for key, value in entries.items():
        lines.append(HEADINGS[key].format(title=title))
        if value.ndim == 2:
            lines += ["  " + " ".join(f"{_number(x):>12}" for x in row) for row in value]
        else:
            lines.append("  " + " ".join(map(_number, value)))
    return lines


def _number(value: float) -> str:
    return f"{round(float(value), 12) + 0.0:.9g}"  # + 0.0 turns -0 into 0
