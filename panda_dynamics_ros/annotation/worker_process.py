# SPDX-License-Identifier: Apache-2.0
"""A worker as its owner sees it: it may crash, be killed or hang, and that costs one recording."""

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
from panda_dynamics_ros.annotation.task import Answer, Task, failure
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
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115, closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "panda_dynamics_ros.annotation.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints,
            env=os.environ | _ONE_CORE | {"PYTHONPATH": path},
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._pending, self._heard, self._is_ready = b"", time.monotonic(), False
        self._send(self.task._asdict())

    def fileno(self) -> int:
        """For `select`: what the worker says."""
        return self._out.fileno()

    def give(self, source: Source) -> None:
        """Ask for a recording; the worker must be free."""
        self.source, self.samples, self._heard = source, 0, time.monotonic()
        self._send(source)

    def _send(self, message: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # where it has died, which `listen` notices
            self._in.write(json.dumps(message).encode() + b"\n")
            self._in.flush()

    def answer(self) -> Answer:
        """Wait for the answer to what was given."""
        while True:
            said = listen([self], 1.0)
            if said:
                return said[0]

    def hear(self, can_be_read: bool) -> Answer | None:
        """The answer, if it has come. A worker that has died or hangs fails its recording, and is started anew.

        Raises
        ------
        WorkerError: it died before it was ready; the next one would, too.
        """
        if can_be_read:
            said = os.read(self.fileno(), 1 << 20)
            if not said:
                return self._replace(f"the worker {self._how_it_ended()}")
            self._heard = time.monotonic()
            *lines, self._pending = (self._pending + said).split(b"\n")
            for line in lines:
                message = json.loads(line)
                self._is_ready = self._is_ready or "ready" in message
                self.samples = message.get("samples", self.samples)
                if "rows" in message and self.source is not None:
                    source, self.source = self.source, None
                    return Answer(**(message | {"source": source}))
        elif self.source is not None or not self._is_ready:
            patience = self.task.patience_s if self._is_ready else STARTING_S
            if time.monotonic() - self._heard > patience:
                self._process.kill()
                return self._replace(f"given up: the worker was silent for {patience:g} s")
        return None

    def _replace(self, reason: str) -> Answer | None:
        complaint = self._complaint()
        source, self.source, was_ready = self.source, None, self._is_ready
        self.close()
        if not was_ready:
            raise WorkerError(f"a worker could not start: it {reason.removeprefix('the worker ')}; {complaint}")
        self._start()
        return None if source is None else failure(self.task, source, f"{reason} {complaint}".strip())

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _complaint(self) -> str:
        """The last line of what it wrote to standard error."""
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return f"({lines[-1][-200:]})" if lines else ""

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._complaints.close()
        with contextlib.suppress(BrokenPipeError):  # of what it has not read
            self._in.close()


def listen(workers: Sequence[WorkerProcess], timeout: float) -> list[Answer]:
    """The answers that come within `timeout` s; fewer seconds once there is something to hear."""
    readable, _, _ = select.select(workers, [], [], timeout)
    answers = (worker.hear(worker in readable) for worker in workers)
    return [answer for answer in answers if answer is not None]
