# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics export`: an arm's dynamics as stand-alone C or Python source."""

import argparse
import json
import sys
from pathlib import Path

from panda_dynamics_ros.cli import options
from panda_dynamics_ros.codegen import FRICTION, FUNCTIONS, LANGUAGES, generate
from panda_dynamics_ros.untrusted import replacing

EXAMPLES = """\
panda-dynamics export --language c --output panda_dynamics.c
panda-dynamics export my_arm.yaml --language python --math jax.numpy --output arm_jax.py
"""
NAMES = [*FUNCTIONS, FRICTION]
WORDS = f"some of {', '.join(NAMES)} (default: all)"
MATH = "where Python code takes sin and cos from: numpy, jax.numpy, torch or cupy for arrays of many states"
OPTIONS = [
    *options.ROBOT_ARGUMENT,
    options.option("--language", "language of the source (default: c)", choices=LANGUAGES, default="c"),
    options.option("--functions", WORDS, nargs="+", metavar="NAME", default=NAMES, choices=NAMES),
    options.option("--name", "prefix of the functions' names (default: the robot's name)"),
    options.option("--math", MATH, default="math", metavar="MODULE"),
    options.option("--output", "file for the source (default: standard output)", type=Path, metavar="FILE"),
]


def run(args: argparse.Namespace) -> None:
    """Write the source, which begins with the counts; as JSON print the counts, and without --output the source too."""
    robot = options.load_arm(args)
    code = generate(robot, args.language, args.functions, args.name, args.math)
    if args.output is not None:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        with replacing(args.output) as file:
            file.write_text(code.source, encoding="utf-8")
    if args.json:
        counts = {key: count._asdict() for key, count in code.counts.items()}
        about = {"robot": robot.name, "language": args.language, "name": code.name, "functions": counts}
        print(json.dumps(about | ({"output": str(args.output)} if args.output else {"source": code.source})))
        return
    if args.output is None:
        sys.stdout.write(code.source)
    else:
        print(f"written: {args.output}", file=sys.stderr)
