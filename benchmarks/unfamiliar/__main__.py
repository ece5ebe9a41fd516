# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.unfamiliar`: one table, a row for each kind of arm, without and with a coloured residual."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

from rich.table import Table

from benchmarks.payload.report import console
from benchmarks.unfamiliar.arms import KINDS, TABLE
from benchmarks.unfamiliar.trial import TIMES, Score, Trial, run_seed, score

QUICK, FULL = 3, 12  # seeds
LIMITS = {False: (0.020, 0.005), True: (0.040, 0.012)}
"""kg and m: medians at 5 s, without and with the coloured residual."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.unfamiliar", description="The payload estimator on arms that its model is not"
    )
    made.add_argument("--quick", action="store_true", help=f"{QUICK} seeds instead of {FULL}")
    made.add_argument("--seeds", type=int, help="how many")
    made.add_argument("--first", type=int, default=0, help="the first of them")
    made.add_argument("--kinds", help="only those whose name contains this")
    made.add_argument("--plain", action="store_true", help="only without the coloured residual")
    made.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return made


def meets(s: Score, coloured: bool) -> list[bool]:
    """Medians at 5 s, coverage of mass and of CoM, false events, changes noticed."""
    mass, com = LIMITS[coloured]
    five = TIMES.index(5.0)
    return [
        s.mass[five] <= mass, s.com[five] <= com, s.mass_held >= 0.9, s.com_held >= 0.9,
        s.false_per_ten_minutes <= 1.0, s.unnoticed == 0,
    ]  # fmt: skip


def main() -> None:
    """Run the benchmark."""
    args = parser().parse_args()
    seeds = args.seeds or (QUICK if args.quick else FULL)
    kinds = [kind for kind in KINDS if not args.kinds or args.kinds in kind]
    both = (False,) if args.plain else (False, True)
    jobs = [
        [Trial(kind, seed, coloured) for kind in kinds for coloured in both]
        for seed in range(args.first, args.first + seeds)
    ]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(args.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        outcomes = [outcome for found in pool.map(run_seed, jobs) for outcome in found]
    scores = {
        (kind, coloured): score([o for o in outcomes if (o.kind, o.coloured) == (kind, coloured)])
        for coloured in both
        for kind in kinds
    }
    if args.json:
        print(json.dumps([{"kind": k, "coloured": c, **asdict(s)} for (k, c), s in scores.items()], indent=1))
        return
    out = console()
    for coloured in both:
        title = "with the real arm's coloured residual" if coloured else "without any other residual"
        shown = Table(title=f"1 kg picked up on unfamiliar arms, {title}; {seeds} seeds", title_justify="left")
        for heading in ("arm or signal", "mass g, 2/5/8 s", "CoM mm, 2/5/8 s", "95 % holds mass", "CoM"):
            shown.add_column(heading)
        for heading in ("false / 10 min", "unnoticed", "met"):
            shown.add_column(heading)
        for kind in kinds:
            s = scores[kind, coloured]
            shown.add_row(
                kind,
                " ".join(f"{1e3 * x:.0f}" for x in s.mass),
                " ".join(f"{1e3 * x:.1f}" for x in s.com),
                f"{s.mass_held:.2f}",
                f"{s.com_held:.2f}",
                f"{s.false_per_ten_minutes:.1f}",
                f"{s.unnoticed}",
                f"{sum(meets(s, coloured))} of 6",
                end_section=kind == TABLE[-1],
            )
        out.print(shown)


if __name__ == "__main__":
    main()
