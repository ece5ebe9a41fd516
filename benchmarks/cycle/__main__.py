# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.cycle`: the estimator and simple methods on the same recordings, a table each arm."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

import numpy as np
from rich.table import Table

from benchmarks.cycle.recordings import AT_REST, PATIENCE, ROBOTS
from benchmarks.cycle.trial import ESTIMATOR, TIMES, Job, Watched, Weighed, run
from benchmarks.payload.report import console

QUICK, FULL, FIRST = 2, 8, 100  # arms; the first one's seed
QUICK_EMPTY, EMPTY = 100.0, 300.0  # s
Z95 = 1.96


def median(weighed: Sequence[Weighed], method: str, after: float) -> float:
    """Of the mass error's size, kg."""
    return float(np.median([abs(w.errors[method]) for w in weighed if w.after == after]))


def show(robot: str, weighed: Sequence[Weighed], watched: Sequence[Watched]) -> None:
    """Two tables of one kind of arm."""
    out, picks = console(), [w for w in weighed if w.kind in ("pick", "handed over")]
    one = [w for w in picks if w.mass == 1.0]
    title = f"{robot}: mass error after 1 and 2 s, median, g ({len(one) // 2} of 1 kg, {len(picks) // 2} in all)"
    shown = Table(title=title, title_justify="left")
    for heading in ("method", "1 kg", "0.1 to 3 kg"):
        shown.add_column(heading)
    for method in picks[0].errors:
        cells = (" / ".join(f"{1e3 * median(part, method, t):.0f}" for t in TIMES) for part in (one, picks))
        shown.add_row(method, *cells, style="bold" if method == ESTIMATOR else None)
    out.print(shown)
    shown = Table(title=f"{robot}: the estimator after each happening", title_justify="left")
    for heading in ("happening", "mass error g, 1 / 2 s", "95 % holds mass", "flagged CoM", "worst, sigmas"):
        shown.add_column(heading)
    for kind in dict.fromkeys(w.kind for w in weighed):
        part = [w for w in weighed if w.kind == kind]
        shown.add_row(kind, " / ".join(f"{1e3 * median(part, ESTIMATOR, t):.0f}" for t in TIMES), *_held(part))
    shown.add_row("all", "", *_held(weighed), style="bold")
    out.print(shown)
    minutes = sum(w.duration for w in watched) / 60.0
    wrong = [event for w in watched for event in w.false_events]
    kinds = ", ".join(f"{sum(k == kind for _, k in wrong)} {kind}" for kind in sorted({kind for _, kind in wrong}))
    missed, changes = sum(w.unnoticed for w in watched), sum(w.changes for w in watched)
    out.print(
        f"{robot}: {10.0 * len(wrong) / minutes:.1f} false events in ten minutes ({kinds or 'none'} in {minutes:.0f}); "
        f"{missed} of {changes} picks and releases not noticed within {PATIENCE:g} s; "
        f"worst at any second {max(w.worst for w in watched):.1f} sigmas"
    )


def _held(weighed: Sequence[Weighed]) -> tuple[str, str, str]:
    masses = np.array([w.mass_sigmas for w in weighed])
    coms = np.array([s for w in weighed for s in w.com_sigmas])
    com = f"{np.mean(coms <= Z95):.2f} of {len(coms)}" if len(coms) else "none flagged"
    return f"{np.mean(masses <= Z95):.2f} of {len(masses)}", com, f"{masses.max():.1f}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cycle", description="Payloads picked up at rest")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} arms of each kind instead of {FULL}, less empty")
    parser.add_argument("--arms", type=int, help="of each kind")
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first arm")
    parser.add_argument("--robots", nargs="+", default=ROBOTS, choices=ROBOTS)
    parser.add_argument(
        "--at-rest", type=float, default=AT_REST, help="share of the residual that time changes, 0 to 1"
    )
    parser.add_argument("--no-simple", action="store_true", help="the estimator only")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args()
    arms = args.arms or (QUICK if args.quick else FULL)
    jobs = [
        Job(robot, seed, QUICK_EMPTY if args.quick else EMPTY, args.at_rest, not args.no_simple)
        for robot in args.robots
        for seed in range(args.first, args.first + arms)
    ]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(args.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(run, jobs))
    weighed = [w for found, _ in results for w in found]
    watched = [w for _, seen in results for w in seen]
    if args.json:
        print(json.dumps({"weighed": [asdict(w) for w in weighed], "watched": [asdict(w) for w in watched]}))
        return
    for robot in args.robots:
        show(robot, [w for w in weighed if w.robot == robot], [w for w in watched if w.robot == robot])


if __name__ == "__main__":
    main()
