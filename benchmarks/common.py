# SPDX-License-Identifier: Apache-2.0
"""What all benchmarks share: options of the command line, trials on several processes, tables, JSON."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

Z95 = 1.96
BUSY = """
import os, sys, time
load = float(sys.argv[1])
while load > 1.0 and os.fork(): load -= 1.0  # each child takes a core, and the last process what is left
share = min(1.0, load)
while True:
    end = time.perf_counter() + 0.01 * share
    while time.perf_counter() < end: pass
    time.sleep(0.01 * (1.0 - share))
"""
Job = TypeVar("Job")
Result = TypeVar("Result")


@contextmanager
def other_programs(load: float, same_session: bool = False) -> Iterator[None]:
    """Within, other programs would take so many cores if they could; `same_session`: they are of this one's session."""
    place = os.setpgrp if same_session else os.setsid
    others = subprocess.Popen([sys.executable, "-c", BUSY, str(load)], preexec_fn=place) if load else None
    try:
        yield
    finally:
        if others:
            os.killpg(others.pid, signal.SIGKILL)
            others.wait(30.0)


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """A command line with --quick, --processes and --json."""
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    made.add_argument("--quick", action="store_true", help="minutes instead of hours, of fewer arms")
    made.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return made


def run_jobs(run: Callable[[Job], list[Result]], jobs: Sequence[Job], processes: int) -> list[Result]:
    """All results of `run`, in the order of the jobs; a progress bar on standard error."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of small matrices, and the cores are taken
    # A fresh interpreter for each process: a fork would share the locks of compiled code.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        for _ in track(as_completed(futures), "trials", total=len(jobs), console=Console(stderr=True)):
            pass
        return [result for future in futures for result in future.result()]


def console() -> Console:
    """Standard output, wide enough for the tables where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 150)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of text, the first column to the left and the others to the right."""
    made = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        made.add_column(column, justify="right" if k else "left")
    for row in rows:
        made.add_row(*row)
    return made


def print_json(content: Any) -> None:
    """As JSON; what is not a number is null."""
    print(json.dumps(_finite(content), indent=1))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
