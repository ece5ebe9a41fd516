# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics export`: an arm's dynamics as stand-alone C or Python source."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panda_dynamics_ros.cli.options import add_robot, load_arm
from panda_dynamics_ros.errors import ArgumentError

if TYPE_CHECKING:
    from panda_dynamics_ros.codegen import GeneratedCode

DESCRIPTION = """\
Writes source code for an arm's torques, mass matrix and flange pose, with the
arm's parameters as constants, and prints how many operations each function
takes.
"""
EXAMPLES = """\
The source needs the mathematical library only, and no memory but the stack: it can run inside a real-time loop. It is
printed to standard output, or written to the file of --output. The numbers of operations are printed to standard error,
or with --json to standard output.

examples:
  panda-dynamics export --language c --output panda_dynamics.c
  panda-dynamics export fr3 --functions gravity_torques pose > fr3_gravity.c
  panda-dynamics export my_arm.yaml --language python --name arm --output arm_dynamics.py --json
  panda-dynamics export --language python --math jax.numpy --output panda_jax.py
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from panda_dynamics_ros.codegen import FUNCTIONS, LANGUAGES

    add_robot(parser)
    parser.add_argument("--language", choices=LANGUAGES, default="c", help="default: c")
    parser.add_argument(
        "--functions", nargs="+", metavar="NAME", default=list(FUNCTIONS), choices=FUNCTIONS,
        help=f"some of {', '.join(FUNCTIONS)} (default: all)",
    )  # fmt: skip
    parser.add_argument("--name", help="prefix of the functions' names (default: the robot's name)")
    parser.add_argument(
        "--math", default="math", metavar="MODULE",
        help="where Python code takes sin and cos from: numpy, jax.numpy, torch or cupy for arrays of many states",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, metavar="FILE", help="file for the source (default: standard output)")
    parser.add_argument(
        "--json", action="store_true", help="print the counts as JSON; without --output, the source too"
    )


def run(args: argparse.Namespace) -> int:
    """Write the source, print the counts."""
    from panda_dynamics_ros.codegen import generate

    if args.output is not None and args.output.is_dir():
        raise ArgumentError(f"--output: expected a file, got the folder {str(args.output)!r}")
    robot = load_arm(args)
    code = generate(robot, args.language, args.functions, args.name, args.math)
    if args.output is not None:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(code.source, encoding="utf-8")
    if args.json:
        print(json.dumps(_for_a_program(robot.name, args.language, args.output, code)))
        return 0
    if args.output is None:
        sys.stdout.write(code.source)
    else:
        print(f"written: {args.output}", file=sys.stderr)
    print("\n".join(_for_a_person(code)), file=sys.stderr)
    return 0


def _for_a_program(robot: str, language: str, output: Path | None, code: GeneratedCode) -> dict[str, Any]:
    return {
        "robot": robot,
        "language": language,
        "name": code.name,
        "functions": {key: asdict(count) for key, count in code.counts.items()},
        **({"source": code.source} if output is None else {"output": str(output)}),
    }


def _for_a_person(code: GeneratedCode) -> list[str]:
    heading = f"{'function':<17} {'multiplications':>15} {'additions':>9} {'sin, cos':>8}"
    rows = (
        f"{key:<17} {count.multiplications:>15} {count.additions:>9} {count.trigonometric:>8}"
        for key, count in code.counts.items()
    )
    return [heading, *rows]
