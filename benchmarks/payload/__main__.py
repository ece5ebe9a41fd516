# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.payload`: trials, tables, pictures, verdicts."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import paired_runs
from benchmarks.payload import accuracy, incidents, learnt, offline, real_log, recordings, report
from benchmarks.payload.arms import ARMS, published, simulated
from benchmarks.payload.jobs import Job, run_jobs
from benchmarks.payload.learnt_report import print_learnt
from benchmarks.payload.plots import plot_errors
from benchmarks.payload.verdicts import verdicts
from benchmarks.payload.zero_phase import unexplained
from panda_dynamics_ros.estimation import PayloadEstimator

QUICK = {"seeds": 2, "incident_seeds": 2, "minutes": 1.0, "repeats": 1}
FULL = {"seeds": 12, "incident_seeds": 6, "minutes": 10.0, "repeats": 3}  # an hour of each: 6 seeds, 10 min


def update_time(samples: int = 5000) -> float:
    """Median CPU time of one `PayloadEstimator.update` in motion, microseconds."""
    estimator, data = PayloadEstimator(published()), recordings.steady(0, 1.0, 12.0)
    spent = []
    for k in range(len(data.stamp) - samples, len(data.stamp)):
        before = time.process_time_ns()
        estimator.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k])
        spent.append(time.process_time_ns() - before)
    return float(np.median(spent)) / 1e3


def print_residuals(out: Console, seeds: int) -> None:
    """What the models leave unexplained on the simulated arms' test motion, beside the real arm's level."""
    out.print("Residual torque RMS, N m, unloaded, on the motion of the tests")
    for seed in range(seeds):
        data = recordings.carrying(seed, 0.0)
        for arm in ARMS:
            rms = np.sqrt(np.mean(unexplained(simulated(arm, seed), data) ** 2, axis=0))
            out.print(f"  seed {seed}, {arm:<9}  " + " ".join(f"{x:.3f}" for x in rms))
    out.print("  published, real log  " + " ".join(f"{x:.3f}" for x in published().residual.std))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.payload", description="Accuracy of the payload estimator")
    made.add_argument("--quick", action="store_true", help="few seeds, some minutes instead of hours")
    made.add_argument("--seeds", type=int, help="simulated arms")
    made.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    made.add_argument(
        "--only",
        choices=("accuracy", "incidents", "offline", "map", "paired"),
        help="a part of it; offline: replay --smooth; map: with a residual map; paired: `benchmarks.paired_runs`",
    )
    made.add_argument("--no-real", action="store_true", help="leave the real logs out")
    made.add_argument("--output", type=Path, default=Path("benchmark_output"), help="folder for pictures and JSON")
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return made


def main() -> None:
    """Run the benchmark."""
    args = parser().parse_args()
    settings: dict[str, Any] = dict(QUICK if args.quick else FULL)
    if args.seeds:
        settings["seeds"] = settings["incident_seeds"] = args.seeds
    real = real_log.available() and not args.no_real
    settings["real_log"] = real
    if args.only == "offline":
        outcomes, _ = run_jobs(list(offline.trials(settings["seeds"], real)), args.processes)
        offline.print_offline(report.console(), outcomes)
        return
    learnt_outcomes, learnt_found = (
        run_jobs(learnt.trials(real), args.processes) if args.only in (None, "map") else ([], [])
    )
    if args.only == "map":
        print_learnt(report.console(), learnt_outcomes, learnt_found)
        return
    paired = paired_runs.scored(settings["seeds"], real) if args.only in (None, "paired") else None
    if paired is not None and args.only == "paired":
        paired.print()
        return
    jobs: list[Job] = []
    if args.only != "accuracy":
        jobs += incidents.trials(settings["incident_seeds"], settings["minutes"], real)
    if args.only != "incidents":
        jobs += accuracy.trials(settings["seeds"], real)
    outcomes, found = run_jobs(jobs, args.processes)
    microseconds = update_time()
    judged = verdicts(outcomes, found, microseconds)
    text = report.as_json(outcomes, found, judged, {**settings, "update_us": microseconds})
    pictures = plot_errors(outcomes, args.output)
    (args.output / "payload_benchmark.json").write_text(text + "\n", encoding="utf-8")
    if args.json:
        print(text)
        return
    out = report.console()
    if not real:
        out.print(f"The public 1 kHz log is not at {real_log.LOG_1KHZ}: simulated arms only.")
    print_residuals(out, settings["seeds"])
    report.print_accuracy(out, outcomes)
    report.print_coverage(out, outcomes)
    report.print_detection(out, found)
    report.print_verdicts(out, judged)
    if learnt_outcomes:
        print_learnt(out, learnt_outcomes, learnt_found)
    if paired is not None:
        paired.print()
    out.print(f"{len(pictures)} pictures and payload_benchmark.json are in {args.output}/")


if __name__ == "__main__":
    main()
