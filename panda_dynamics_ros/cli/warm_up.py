# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics warm-up`: compile at installation what the nodes would compile at their first start."""

import argparse
import sys
import time
from importlib.util import find_spec

from panda_dynamics_ros.warm_up import NODES, warm_up

EXAMPLES = "panda-dynamics warm-up dynamics"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", nargs="*", metavar="NODE", help=f"some of {', '.join(NODES)} (default: all)")


def run(args: argparse.Namespace) -> None:
    """Compile; returns the exit code."""
    start = time.monotonic()
    nodes = args.nodes or [node for node in NODES if node != "simulated_panda" or find_spec("mujoco") is not None]
    warm_up(*nodes, report=lambda line: print(f"{line} ..", file=sys.stderr, flush=True))
    print(f"ready: {', '.join(nodes)} ({time.monotonic() - start:.0f} s)")
