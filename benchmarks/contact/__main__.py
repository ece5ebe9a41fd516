# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.contact`: pushes, hours without any, forces; tables and verdicts."""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np
from rich.console import Console

from benchmarks.contact import recordings, report
from benchmarks.contact.jobs import run_jobs
from benchmarks.contact.trials import Found, Watched, trials
from benchmarks.payload import real_log
from benchmarks.payload.arms import published
from panda_dynamics_ros.estimation import ContactDetector, WrenchEstimator

QUICK = {"seeds": 2, "pushes": 40, "minutes": 4.0}
FULL = {"seeds": 12, "pushes": 300, "minutes": 61.0}


def update_time(samples: int = 5000) -> float:
    """Median CPU time of what a sample costs, detector and wrench, microseconds."""
    robot, (data, _) = published(), recordings.pushed(0, 0.0, 2)
    detector, estimator, spent = ContactDetector(robot), WrenchEstimator(robot), []
    external = np.zeros(robot.n)
    for k in range(samples):
        before = time.process_time_ns()
        detector.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k])
        estimator.estimate(data.q[k], external)
        spent.append(time.process_time_ns() - before)
    return float(np.median(spent)) / 1e3


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.contact", description="Detection of contacts")
    made.add_argument("--quick", action="store_true", help="two arms and minutes instead of twelve and an hour")
    made.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    made.add_argument("--no-real", action="store_true", help="leave the real logs out")
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return made


def main() -> None:
    """Run the benchmark."""
    args = parser().parse_args()
    settings = QUICK if args.quick else FULL
    real = real_log.available() and not args.no_real
    seeds = int(settings["seeds"])
    results = run_jobs(trials(seeds, int(settings["pushes"]), settings["minutes"], real), args.processes)
    pushes = [each for each in results if isinstance(each, Found)]
    found, firm = [each for each in pushes if not each.firm], [each for each in pushes if each.firm]
    watched = [each for each in results if isinstance(each, Watched)]
    microseconds = update_time()
    forces, judged = report.smallest_forces(seeds), report.verdicts(found, watched)
    if args.json:
        content = {
            "pushes": [each._asdict() for each in pushes],
            "watched": [each._asdict() for each in watched],
            "forces": forces,
            "update_us": microseconds,
            "verdicts": judged,
        }
        print(json.dumps(content, indent=1))
        return
    out = Console(width=110)
    report.print_pushes(out, found, firm)
    report.print_alarms(out, watched)
    report.print_forces(out, forces)
    out.print(f"Detector and wrench take {microseconds:.1f} us a sample (median CPU time)")
    for text, met in judged:
        out.print(f"{'met   ' if met else 'MISSED'}  {text}")


if __name__ == "__main__":
    main()
