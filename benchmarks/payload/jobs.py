# SPDX-License-Identifier: Apache-2.0
"""Trials spread over processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.payload.incidents import Collisions, Found, Picks, Steady
from benchmarks.payload.learnt import Learnt
from benchmarks.payload.trial import Outcome, Trial

Job = Trial | Picks | Steady | Collisions | Learnt


def run_job(job: Job) -> Sequence[Outcome | Found]:
    """One job, in a worker process."""
    return job.run()


def run_jobs(jobs: Sequence[Job], processes: int) -> tuple[list[Outcome], list[Found]]:
    """All results, with a progress bar on standard error; in an order that does not depend on the processes."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # A fresh interpreter for each process: a fork would share the locks of compiled code.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of small matrices, and the cores are taken
    context = multiprocessing.get_context("spawn")
    with (
        Progress(*columns, console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(processes, mp_context=context) as pool,
    ):
        task = progress.add_task("trials", total=len(jobs))
        futures = [pool.submit(run_job, job) for job in jobs]
        for _ in as_completed(futures):
            progress.advance(task)
        results = [result for future in futures for result in future.result()]
    outcomes = [result for result in results if isinstance(result, Outcome)]
    return outcomes, [result for result in results if isinstance(result, Found)]
