# SPDX-License-Identifier: Apache-2.0
"""A real Dask scheduler and workers, each a process of its own, one of which is killed at work."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import TASK, write
from waiting import PATIENCE, until

from panda_dynamics_ros.annotation.job import Outcome, annotate_recordings
from panda_dynamics_ros.annotation.sources import Source
from panda_dynamics_ros.annotation.worker import WorkerError
from panda_dynamics_ros.errors import ArgumentError

pytest.importorskip("distributed")
COUNT = 30


class Cluster:
    """A scheduler and its workers over loopback."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        port = self.address.rpartition(":")[2]
        self._start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--no-show")

    def add_workers(self, count: int) -> None:
        """More of them, each with one thread and without a nanny that would start it again."""
        for _ in range(count):
            self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _start(self, program: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        with (self._folder / f"{program}_{len(self.processes)}.log").open("w") as log:
            self.processes.append(subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log))

    def wait(self, workers: int) -> None:
        """Until so many workers are there."""
        from distributed import Client

        client = Client(self.address, timeout=PATIENCE, set_as_default=False)  # it tries until the scheduler is there
        client.wait_for_workers(workers, timeout=PATIENCE)
        client.close()

    def end(self) -> None:
        """Kill all that is left."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.end()


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_a_lost_worker_changes_nothing(tmp_path: Path, cluster: Cluster) -> None:
    write(tmp_path / "data", COUNT)
    (tmp_path / "data" / "broken.db3").write_bytes(b"nothing")
    local, remote = tmp_path / "local.csv", tmp_path / "remote.csv"
    annotate_recordings([f"file://{tmp_path}/data"], local, TASK, jobs=2)
    cluster.add_workers(2)
    cluster.wait(2)
    victim = cluster.processes[1]
    killed: list[int] = []

    def kill_one(source: Source, outcome: Outcome) -> None:
        if outcome.done == 8:
            killed.extend(children(victim.pid))
            os.kill(victim.pid, signal.SIGKILL)

    outcome = annotate_recordings(
        [f"file://{tmp_path}/data"], remote, TASK, scheduler=cluster.address, progress=kill_one
    )
    assert victim.wait(PATIENCE) == -signal.SIGKILL
    assert outcome.done == COUNT + 1
    assert remote.read_text() == local.read_text()
    # A process that the lost worker had started ends with it.
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in killed), lambda: f"the end of {killed}")
    # The worker that is left has ended its own process after the run.
    assert children(cluster.processes[2].pid) == []


def test_a_lost_scheduler_leaves_a_table_to_go_on_from(tmp_path: Path, cluster: Cluster) -> None:
    write(tmp_path / "data", 12)
    output = tmp_path / "table.csv"
    cluster.add_workers(1)
    cluster.wait(1)

    def kill_scheduler(source: Source, outcome: Outcome) -> None:
        if outcome.done == 3:
            os.kill(cluster.processes[0].pid, signal.SIGKILL)

    with pytest.raises(WorkerError, match="connection was lost"):
        annotate_recordings([tmp_path / "data"], output, TASK, scheduler=cluster.address, progress=kill_scheduler)
    assert output.read_text().count("\nrecording,") >= 3
    outcome = annotate_recordings([tmp_path / "data"], output, TASK, jobs=1, resume=True)
    assert outcome.skipped >= 3
    assert output.read_text().count("\nrecording,") == 12


def test_no_scheduler_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panda_dynamics_ros.annotation.job.PATIENCE_WITH_SCHEDULER", "1s")
    write(tmp_path / "data", 1)
    with pytest.raises(ArgumentError, match="expected the address of a Dask scheduler"):
        annotate_recordings([tmp_path / "data"], tmp_path / "table.csv", TASK, scheduler="tcp://127.0.0.1:1")
