# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.one_khz.arms`: how many arms at 1 kHz this machine serves, with a process `suite` for each.

Every arm has a publisher of its own, which stands for its driver, and a listener, in a DDS domain of their own. All
send at the same time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.one_khz.__main__ import DOMAIN, ONE, Latency, received, run, table
from benchmarks.one_khz.listener import TOPICS

MOST_LEFT_OUT, MOST_LATE = 0.001, 5.0
"""Share of cycles that a publisher was too late for, and ms of 99 % of the answers, that count as served."""


class Arm(NamedTuple):
    """One arm: cycles, those that its publisher left out, samples lost on the way, ms, and shares of a core."""

    cycles: int
    left_out: int
    lost: int
    median: float
    p99: float
    suite: float
    others: float


def measure(seconds: float, domain: int, together: threading.Barrier) -> Arm:
    """Serve one arm beside others."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            sent, heard, usage = run(ONE, seconds / 60.0, Path(folder), domain, together)
        except Exception:
            together.abort()
            raise
    times = sent["sent"]
    count = int(np.count_nonzero(times))
    answers = [Latency.of(topic, heard[topic], int(sent["first"]), times) for topic in TOPICS]
    others = sum(each.share for name, each in usage.items() if name not in ONE)
    return Arm(
        len(times), len(times) - count, count - sum(received(ONE, heard).values()),
        max(each.median for each in answers), max(each.p99 for each in answers), usage["suite"].share, others,
    )  # fmt: skip


def main() -> None:
    """Measure for more and more arms, then print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_khz.arms", description=__doc__)
    parser.add_argument("--arms", type=int, nargs="+", default=[1, 2, 3, 4], help="how many at a time (1 2 3 4)")
    parser.add_argument("--seconds", type=float, default=15.0, help="for which each number of arms is sent (15)")
    options, console, rows = parser.parse_args(), Console(), []
    for count in options.arms:
        together = threading.Barrier(count)
        with console.status(f"{count} arms"), ThreadPoolExecutor(count) as pool:
            jobs = [pool.submit(measure, options.seconds, DOMAIN + k, together) for k in range(count)]
            arms = [job.result() for job in jobs]
        left_out = max(arm.left_out / arm.cycles for arm in arms)
        lost, p99 = sum(arm.lost for arm in arms), max(arm.p99 for arm in arms)
        served = left_out <= MOST_LEFT_OUT and lost == 0 and p99 <= MOST_LATE
        median = max(arm.median for arm in arms)
        shares = (sum(arm.suite for arm in arms), sum(arm.others for arm in arms))
        rows.append([
            f"{count}", "yes" if served else "no", f"{lost}", f"{100.0 * left_out:.2f} %", f"{median:.2f}",
            f"{p99:.2f}", *(f"{100.0 * share:.0f} %" for share in shares),
        ])  # fmt: skip
    columns = ["arms", "served", "lost", "cycles left out", "median, ms", "99 %, ms", "suites", "publishers, listeners"]
    title = f"Arms at 1 kHz on {os.cpu_count()} cores, a process each; the worst arm and the slowest topic"
    console.print(table(title, columns, rows))


if __name__ == "__main__":
    main()
