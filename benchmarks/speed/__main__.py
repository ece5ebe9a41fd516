# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.speed`: four tables of ratios, or the same as JSON."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pinocchio
from rich.console import Console
from rich.table import Table

from benchmarks.common import table
from benchmarks.speed import functions, sample
from benchmarks.speed.timing import Comparison
from panda_dynamics_ros import load_robot


def times(title: str, found: Sequence[Comparison], *, faster: bool = False) -> Table:
    """Times in microseconds; the ratio as "times as fast" for many states, as a share of the time otherwise."""
    columns = ("", "here, us", "Pinocchio, us", "times as fast" if faster else "ratio of times")
    ratios = [1.0 / row.ratio if faster else row.ratio for row in found]
    rows = [
        (row.name, f"{1e6 * row.ours:.3f}", f"{1e6 * row.theirs:.3f}", f"{ratio:.2f}")
        for row, ratio in zip(found, ratios, strict=True)
    ]
    return table(title, columns, rows)


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--states", type=int, default=100_000, help="rows of the batches (100000)")
    parser.add_argument("--turns", type=int, default=15, help="pairs of timings (15); a third for batches")
    arguments = parser.parse_args()
    robot, turns = load_robot("panda"), arguments.turns
    few = max(3, turns // 3)
    progress = Console(stderr=True)
    with progress.status("many states"):
        batch = list(functions.of_many(robot, arguments.states, few))
    with progress.status("one state"):
        loop, calls = [functions.control_loop(robot, turns)], list(functions.of_one(robot, turns))
    with progress.status("one sample of the estimator"):
        full = [sample.full_sample(robot, few)]
    if arguments.json:
        groups = {"states": batch, "control_loop": loop, "single_calls": calls, "full_sample": full}
        result: dict[str, Any] = {name: [row.as_dict() for row in rows] for name, rows in groups.items()}
        machine = {"python": platform.python_version(), "machine": platform.machine(), "numpy": np.__version__}
        machine |= {"numba": numba.__version__, "pinocchio": pinocchio.__version__}
        print(json.dumps({"rows": arguments.states, **result, "versions": machine}, indent=2))
        return
    out = Console()
    out.print(times(f"{arguments.states} states, time per state, Pinocchio in a Python loop", batch, faster=True))
    out.print(times("All that a control loop needs of one state, in one call", loop))
    out.print(times("One state, single calls with checked arguments", calls))
    out.print(times("One full sample of estimator and dynamics; Pinocchio and a NumPy RLS", full))


if __name__ == "__main__":
    main()
