# SPDX-License-Identifier: Apache-2.0
"""A worker process and its supervision: if it crashes, is killed or hangs, only its recording is lost."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from panda_dynamics_ros.annotation.sources import Source
from panda_dynamics_ros.annotation.task import RecordingResult, Task, failure
from panda_dynamics_ros.errors import PandaDynamicsError

STARTING_S = 900.0
"""Patience with a worker that starts: the first one on a machine compiles."""
_ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_ROOT = str(Path(__file__).resolve().parents[2])


class WorkerError(PandaDynamicsError, RuntimeError):
    """Workers cannot be started, or the cluster is gone: no recording is to blame."""


class WorkerProcess:
    """One process that annotates a recording at a time (`annotation.worker`).

    Attributes
    ----------
    source: the recording that it has been given; None while it is free.
    samples: how many samples of it are done.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.source: Source | None = None
        self.samples = 0
        self._start()

    def _start(self) -> None:
        path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "panda_dynamics_ros.annotation.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
            env=os.environ | _ONE_CORE | {"PYTHONPATH": path},
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._pending, self._last_sign, self._is_ready = b"", time.monotonic(), False
        self._send(self.task._asdict())

    def fileno(self) -> int:
        """For `select`: the worker's standard output."""
        return self._out.fileno()

    def submit(self, source: Source) -> None:
        """Have a recording annotated; the worker must be free."""
        self.source, self.samples, self._last_sign = source, 0, time.monotonic()
        self._send(source)

    def _send(self, message: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # if it has died, which `collect_results` notices
            self._in.write(json.dumps(message).encode() + b"\n")
            self._in.flush()

    def wait(self) -> RecordingResult:
        """Wait for the result of the recording that was submitted."""
        while True:
            if found := collect_results([self], 1.0):
                return found[0]

    def poll(self, can_be_read: bool) -> RecordingResult | None:
        """The result, if it has come. If the worker has died or hangs, its recording has failed, and it is restarted.

        Raises
        ------
        WorkerError: it died before it was ready; the next one would, too.
        """
        if can_be_read:
            received = os.read(self.fileno(), 1 << 20)
            if not received:
                return self._replace(f"the worker {self._how_it_ended()}")
            self._last_sign = time.monotonic()
            *lines, self._pending = (self._pending + received).split(b"\n")
            for line in lines:
                message = json.loads(line)
                self._is_ready = self._is_ready or "ready" in message
                self.samples = message.get("samples", self.samples)
                if "rows" in message and self.source is not None:
                    source, self.source = self.source, None
                    return RecordingResult(**(message | {"source": source}))
        elif self.source is not None or not self._is_ready:
            patience = self.task.patience_s if self._is_ready else STARTING_S
            if time.monotonic() - self._last_sign > patience:
                self._process.kill()
                return self._replace(f"given up: the worker was silent for {patience:g} s")
        return None

    def _replace(self, reason: str) -> RecordingResult | None:
        last_line = self._last_error_line()
        source, self.source, was_ready = self.source, None, self._is_ready
        self.close()
        if not was_ready:
            raise WorkerError(f"a worker could not start: it {reason.removeprefix('the worker ')}; {last_line}")
        self._start()
        return None if source is None else failure(self.task, source, f"{reason} {last_line}".strip())

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _last_error_line(self) -> str:
        """The last line that the worker wrote to standard error, in brackets."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return f"({lines[-1][-200:]})" if lines else ""

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._stderr.close()
        with contextlib.suppress(BrokenPipeError):  # of what it has not read
            self._in.close()


def collect_results(workers: Sequence[WorkerProcess], timeout: float) -> list[RecordingResult]:
    """The results that come within `timeout` s; it returns as soon as a worker has written something."""
    readable, _, _ = select.select(workers, [], [], timeout)
    results = (worker.poll(worker in readable) for worker in workers)
    return [result for result in results if result is not None]
