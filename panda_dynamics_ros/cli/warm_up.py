# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics warm-up`: compile at installation what the nodes would compile at their first start."""

import argparse
import json
import sys
import time
from importlib.util import find_spec

from panda_dynamics_ros.cli import options
from panda_dynamics_ros.warm_up import NODES, warm_up

EXAMPLES = "panda-dynamics warm-up dynamics"
OPTIONS = [options.option("nodes", f"some of {', '.join(NODES)} (default: all)", nargs="*", metavar="NODE")]


def run(args: argparse.Namespace) -> None:
    start = time.monotonic()
    nodes = args.nodes or [node for node in NODES if node != "simulated_panda" or find_spec("mujoco") is not None]
    warm_up(*nodes, report=lambda line: print(f"{line} ..", file=sys.stderr, flush=True))
    seconds = time.monotonic() - start
    words = f"ready: {', '.join(nodes)} ({seconds:.0f} s)"
    print(json.dumps({"ready": nodes, "seconds": seconds}) if args.json else words)
