# SPDX-License-Identifier: Apache-2.0
"""A process that annotates one recording after the other. If it crashes, is killed or hangs, one recording is lost.

`annotate_in_worker` is the function that a pool of threads, or a cluster, runs: each thread has a process of its own,
which is this module run as a program. It reads JSON lines: a `Task`, then a `Source` for each recording. It writes JSON
lines: that it is ready, then the rows of each.
"""

import base64
import contextlib
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from panda_dynamics_ros import __version__
from panda_dynamics_ros.annotation.rows import RECORDING, Row, annotate
from panda_dynamics_ros.dynamics.model import RobotModel, load_robot
from panda_dynamics_ros.errors import PandaDynamicsError
from panda_dynamics_ros.robot import RobotDescription, write_robot
from panda_dynamics_ros.untrusted import python_command
from panda_dynamics_ros.warm_up import warm_up

ROBOT = "robot.yaml"


class WorkerError(PandaDynamicsError, RuntimeError):
    """Workers cannot be started, or the cluster is gone: no recording is to blame."""


class Source(NamedTuple):
    """A recording to annotate: its path, the size of its files in bytes, and a text that changes with them."""

    path: str
    bytes: int
    version: str


class Task(NamedTuple):
    """How to annotate each recording.

    files: of the arm, as `write_robot` writes them: name and content, in base64. Other machines need no file.
    robot_sha256: of their contents.
    options: keyword arguments of `annotate`.
    patience_s: a recording is given up if no sample of it was read for longer.
    memory_gib: that a worker may take.
    """

    files: dict[str, str]
    robot_sha256: str
    options: dict[str, Any]
    patience_s: float = 300.0
    memory_gib: float = 4.0

    @classmethod
    def of(cls, robot: RobotDescription, options: dict[str, Any], **limits: float) -> "Task":
        """The task for a robot; RobotDescriptionError where a link of it cannot exist."""
        with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as folder:
            write_robot(robot, Path(folder) / ROBOT)
            contents = {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir(), reverse=True)}
        files = {name: base64.b64encode(content).decode() for name, content in contents.items()}
        given = {name: value for name, value in options.items() if value is not None}
        return cls(files, hashlib.sha256(b"".join(contents.values())).hexdigest(), given, **limits)

    def load_robot(self) -> RobotModel:
        """The arm."""
        with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as folder:
            for name, content in self.files.items():
                (Path(folder) / name).write_bytes(base64.b64decode(content))
            return load_robot(Path(folder) / ROBOT)

    def provenance(self, source: Source) -> Row:
        """The columns that every recording's row has, also that of a failure."""
        return {
            "kind": RECORDING,
            "path": source.path,
            "arm": Path(source.path).absolute().parent.name,
            "version": source.version,
            "bytes": source.bytes,
            "robot_sha256": self.robot_sha256,
            "options": json.dumps(self.options, sort_keys=True),
            "package_version": __version__,
        }

    def failure(self, source: Source, error: str) -> list[Row]:
        """The one row of a recording that cannot be annotated."""
        return [self.provenance(source) | {"error": " ".join(error.split())}]


def annotate_in_worker(task: str, source: str) -> list[Row]:
    """The rows of one recording, by this thread's process; WorkerError where it cannot be started.

    Both are JSON of a `Task` and a `Source`: text, since Dask looks into tuples for results of other tasks.
    """
    thread = threading.get_ident()
    if thread in _workers and _workers[thread].task != task:
        _workers.pop(thread).end()
    if (worker := _workers.get(thread)) is None:
        worker = _workers[thread] = _Worker(task)  # at once: `end_workers` need not wait until it is ready
        if worker.ask(task) is None:
            _workers.pop(thread, None)
            raise WorkerError(f"a worker could not start: it {worker.how_it_ended()}")
    rows: list[Row] | None = worker.ask(source)
    if rows is None:
        _workers.pop(thread, None)
        return Task(*json.loads(task)).failure(Source(*json.loads(source)), f"the worker {worker.how_it_ended()}")
    return rows


def end_workers() -> None:
    """End the processes of all threads."""
    while _workers:
        _workers.popitem()[1].end()


class _Worker:
    """This module in a process of its own, seen from outside."""

    def __init__(self, task: str) -> None:
        self.task = task
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, closed with the process
        command, pipe = python_command("panda_dynamics_ros.annotation.worker"), subprocess.PIPE
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(  # what it says is JSON, all of it ASCII; workers share the machine
            command, stdin=pipe, stdout=pipe, stderr=self._stderr, text=True, env=os.environ | one_thread
        )

    def ask(self, message: str) -> Any:
        """The answer to a line; None where the process has ended."""
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(message, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        return json.loads(answer) if answer.endswith("\n") else None

    def how_it_ended(self) -> str:
        code = self._process.wait()
        self._stderr.seek(0)
        last = self._stderr.read().decode(errors="replace").strip().splitlines()[-1:]
        self.end()
        if -code == signal.SIGALRM:
            return f"was given up after {Task(*json.loads(self.task)).patience_s:g} s without a sample"
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}: {''.join(last)[-200:]}"

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        with contextlib.suppress(BrokenPipeError), self._stderr, self._process:  # of what it has not read
            self._process.wait()


_workers: dict[int, _Worker] = {}  # by thread


def annotate_source(task: Task, robot: RobotModel, source: Source, progress: Callable[[], None]) -> list[Row]:
    """The complete rows of one recording; what is wrong with it is one row, too."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a recording's are in `notes`
            row, *others = annotate(source.path, robot, progress=progress, **task.options)
    except MemoryError:
        return task.failure(source, f"out of memory: more than {task.memory_gib:g} GiB are needed")
    except Exception as error:  # of a library, over a file that nobody has foreseen: one row, not the end of the run
        kind = "" if isinstance(error, PandaDynamicsError | OSError) else f"{type(error).__name__}: "
        return task.failure(source, f"{kind}{error}")
    row = task.provenance(source) | row | {"seconds": time.perf_counter() - began}
    return [row, *({"path": row["path"], "arm": row["arm"]} | each for each in others)]


def main() -> None:
    """Annotate until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to standard error
    task = Task(*json.loads(sys.stdin.readline()))

    def be_alive() -> None:
        signal.setitimer(signal.ITIMER_REAL, task.patience_s)  # SIGALRM ends the process, also where a library hangs

    def answer(content: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        print(json.dumps(content), file=answers, flush=True)

    robot = task.load_robot()
    warm_up("suite", report=lambda _: None)
    # Of the data alone: maps of files and of code are not counted.
    most = int(task.memory_gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    answer("ready")
    for line in sys.stdin:
        be_alive()
        answer(annotate_source(task, robot, Source(*json.loads(line)), be_alive))
