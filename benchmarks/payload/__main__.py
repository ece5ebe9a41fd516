# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.payload`: trials and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks import paired_runs
from benchmarks.common import console, parser, print_json, run_jobs
from benchmarks.payload import incidents, real_log
from benchmarks.payload.arms import ARMS
from benchmarks.payload.samples import SCORED
from benchmarks.payload.scores import Score, pivot
from benchmarks.payload.scores import incidents as incidents_table
from benchmarks.payload.trial import Accuracy, SecondRun, Whole, trials

QUICK, FULL = (2, 1.0), (12, 10.0)  # simulated arms; minutes of steady motion of each, which add up to hours
PARTS = ("accuracy", "incidents", "offline", "map", "paired")


def main() -> None:
    """Run the benchmark."""
    options = parser("payload", "Accuracy of the payload estimator")
    options.add_argument("--seeds", type=int, help="simulated arms")
    options.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, metavar="PART", help=", ".join(PARTS))
    options.add_argument("--no-real", action="store_true", help="leave the real logs out")
    args = options.parse_args()
    seeds, minutes = QUICK if args.quick else FULL
    seeds, real = args.seeds or seeds, real_log.LOG_1KHZ.is_file() and not args.no_real
    found = {}
    if not (real or args.json):
        console().print(f"Without the public 1 kHz log ({real_log.LOG_1KHZ}): simulated arms only.")
    for part, jobs in (
        ("accuracy", trials(Accuracy, seeds, real)),
        ("incidents", incidents.trials((seeds + 1) // 2, minutes, real)),
        ("offline", trials(Whole, seeds, real)),
        ("map", [SecondRun(arm, mass) for arm in ARMS for mass in (0.1, 1.0)] if real else []),
    ):
        if part in args.only and jobs:
            found[part] = run_jobs(incidents.run, jobs, args.processes)
            if not args.json:
                show(part, found[part])
    if args.json:
        print_json({part: [asdict(each) for each in results] for part, results in found.items()})
    elif "paired" in args.only:
        paired_runs.scored(seeds, real).print()


def show(part: str, results: Sequence[Any]) -> None:
    """Print the tables of a part, as soon as it has ended."""

    def both(s: Score) -> str:
        return f"{s.errors}; {s.held}"

    out = console()
    if part == "accuracy":
        scored = [o for o in results if o.time in SCORED]
        for arm in ARMS:
            mine = [o for o in scored if o.arm == arm]
            title = f"{arm} model: mass RMSE g / CoM mm / inertia 1e-3 kg m^2, s after the payload came on"
            out.print(pivot(title, mine, ("source", "start", "mass", "method"), "time", lambda s: s.errors))
        title = "95 % intervals that held the truth, mass / CoM, %"
        out.print(pivot(title, scored, ("source", "arm", "method"), "time", lambda s: s.held))
    elif part == "incidents":
        out.print(incidents_table(results))
    elif part == "offline":
        title = "a whole recording (time 0: 1 to 6.4 s of the log): g / mm / 1e-3 kg m^2; intervals that held, %"
        out.print(pivot(title, results, ("source", "arm", "time", "method"), "mass", both))
    else:
        title = "with and without a residual map: g / mm / 1e-3 kg m^2; intervals that held, %"
        out.print(pivot(title, results, ("source", "arm", "start", "mass", "time"), "method", both))


if __name__ == "__main__":
    main()
