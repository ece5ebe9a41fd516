# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/datasets.md, and a real Dask scheduler and workers, each a process, that are killed at work."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic import TASK, children, read_table, write
from waiting import PATIENCE, until

from panda_dynamics_ros.annotation.job import Outcome, annotate_recordings
from panda_dynamics_ros.annotation.rows import COLUMNS
from panda_dynamics_ros.annotation.worker import Source, WorkerError
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import ArgumentError

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line[4:])[1:] for line in PAGE.splitlines() if line.startswith("    panda-dynamics batch ")]
COUNT = 8


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
        for _ in range(2):  # each with one thread and without a nanny that would start it again
            self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _start(self, program: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        with (self._folder / f"{program}_{len(self.processes)}.log").open("w") as log:
            self.processes.append(subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log))

    def wait(self) -> None:
        """Until both workers are there."""
        from distributed import Client

        client = Client(self.address, timeout=PATIENCE, set_as_default=False)  # it tries until the scheduler is there
        client.wait_for_workers(2, timeout=PATIENCE)
        client.close()

    def end(self) -> None:
        """Kill all that is left."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        started.wait()
        yield started
    finally:
        started.end()


@pytest.fixture(scope="module")
def folder(cluster, tmp_path_factory):
    """Where all commands of the page have run, in its order."""
    pytest.importorskip("pyarrow")
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("datasets")
        patch.chdir(folder)
        patch.setattr("panda_dynamics_ros.annotation.job.cores", lambda: 1)  # each worker takes a second to start
        write(folder / "recordings", COUNT - 1, seconds=4.0)
        (folder / "recordings" / "arm0" / "<b>broken.mcap").write_bytes(b"nothing")
        address = cluster.address.removeprefix("tcp://")
        for words in COMMANDS:
            here = [word.replace("SCHEDULER:8786", address).replace("/shared", str(folder)) for word in words]
            assert main(here) == 0, here
        yield folder


def test_the_files_that_the_page_promises_are_there(folder):
    for name in ("table.parquet", "weighed.parquet", "cluster.parquet"):
        assert (folder / name).stat().st_size > 0, name
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "docs/datasets.md", "exec"), names)
    assert names["quality"].num_rows == COUNT  # type: ignore[attr-defined]
    assert set(names["carried"].column("path").to_pylist()) == {  # type: ignore[attr-defined]
        f"recordings/arm1/episode_000{k}.csv" for k in (1, 3, 5)
    }


def test_the_table_of_the_page_is_that_of_the_code():
    lines = [f"| `{name}` | {column.type} | {column.kinds} | {column.meaning} |" for name, column in COLUMNS.items()]
    assert "\n".join(lines) in PAGE


def test_ctrl_c_ends_the_processes_of_the_workers_and_keeps_what_is_done(folder, cluster):
    table, workers = folder / "interrupted.parquet", [process.pid for process in cluster.processes[1:]]

    def interrupt(source: Source, outcome: Outcome) -> None:
        assert [child for worker in workers for child in children(worker)]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotate_recordings([folder / "recordings"], table, TASK, scheduler=cluster.address, progress=interrupt)
    assert sum(row["kind"] == "recording" for row in read_table(table)) == 1
    assert [child for worker in workers for child in children(worker)] == []


def test_a_lost_worker_changes_nothing(folder, cluster):
    remote, recordings = folder / "remote.parquet", folder / "recordings"
    victim = cluster.processes[1]
    killed: list[int] = []

    def kill_one(source: Source, outcome: Outcome) -> None:
        if outcome.done == 2:
            killed.extend(children(victim.pid))
            os.kill(victim.pid, signal.SIGKILL)

    local = read_table(folder / "table.parquet")  # of a process here, which was told relative paths
    task = TASK._replace(options=json.loads(local[0]["options"]))
    outcome = annotate_recordings([recordings], remote, task, scheduler=cluster.address, progress=kill_one)
    assert victim.wait(PATIENCE) == -signal.SIGKILL
    assert outcome.done == COUNT
    assert str(read_table(remote)).replace(f"{folder}/", "") == str(local)
    # A process that the lost worker had started ends with it.
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in killed), lambda: f"the end of {killed}")
    # The worker that is left has ended its own process after the run.
    assert children(cluster.processes[2].pid) == []


def test_a_lost_scheduler_leaves_a_table_to_go_on_from(folder, cluster):
    output = folder / "lost.parquet"

    def kill_scheduler(source: Source, outcome: Outcome) -> None:
        if outcome.done == 3:
            os.kill(cluster.processes[0].pid, signal.SIGKILL)

    with pytest.raises(WorkerError, match="connection was lost"):
        annotate_recordings([folder / "recordings"], output, TASK, scheduler=cluster.address, progress=kill_scheduler)
    assert sum(row["kind"] == "recording" for row in read_table(output)) >= 3
    outcome = annotate_recordings([folder / "recordings"], output, TASK, jobs=1, resume=True)
    assert outcome.skipped >= 2  # one may be the broken one, which is tried again
    assert sum(row["kind"] == "recording" for row in read_table(output)) == COUNT


def test_no_scheduler_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("panda_dynamics_ros.annotation.job.PATIENCE_WITH_SCHEDULER", "1s")
    write(tmp_path / "data", 1)
    with pytest.raises(ArgumentError, match="expected the address of a Dask scheduler"):
        annotate_recordings([tmp_path / "data"], tmp_path / "table.parquet", TASK, scheduler="tcp://127.0.0.1:1")
