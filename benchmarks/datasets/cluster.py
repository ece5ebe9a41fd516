# SPDX-License-Identifier: Apache-2.0
"""A Dask scheduler with workers, each a process of its own, over loopback."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from distributed import Client

PATIENCE = 60.0  # s
TRIVIAL_TASKS = 2000


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The scheduler's address; all processes are ended afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, folder = f"tcp://127.0.0.1:{port}", Path(tempfile.mkdtemp(prefix="panda_dynamics_"))
    programs = [["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"]]
    programs += [["dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * workers
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for program, *arguments in programs:
            command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
            log = (folder / f"{len(processes)}.log").open("w")
            processes.append(subprocess.Popen(command, cwd=folder, stdout=log, stderr=log))
        with Client(address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=PATIENCE)
        yield address
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def seconds_per_task(address: str) -> float:
    """What the scheduler needs for a task that does nothing."""
    with Client(address, set_as_default=False) as client:
        client.gather(client.map(str, range(100), pure=False))
        began = time.perf_counter()
        client.gather(client.map(str, range(TRIVIAL_TASKS), pure=False))
        return (time.perf_counter() - began) / TRIVIAL_TASKS
