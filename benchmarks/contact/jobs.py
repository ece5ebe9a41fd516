# SPDX-License-Identifier: Apache-2.0
"""Trials spread over processes."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, as_completed

from rich.console import Console
from rich.progress import track

from benchmarks.contact.trials import Found, Job, Watched


def run_job(job: Job) -> list[Found | Watched]:
    """One job, in a worker process."""
    return job.run()


def run_jobs(jobs: list[Job], processes: int) -> list[Found | Watched]:
    """All results, in the order of the jobs; a progress bar on standard error."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of small matrices, and the cores are taken
    # A fresh interpreter for each process: a fork would share the locks of compiled code.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(run_job, job) for job in jobs]
        waiting = as_completed(futures)
        for _ in track(waiting, "trials", total=len(jobs), console=Console(stderr=True)):
            pass
        return [result for future in futures for result in future.result()]
