# SPDX-License-Identifier: Apache-2.0
"""The program of a worker: `python -m panda_dynamics_ros.annotation.worker`, started by `WorkerProcess`.

It reads JSON lines from standard input: first a `Task`, then a `Source` for each recording to annotate. It writes JSON
lines to standard output: {"ready": true}, {"samples": done so far} and {"rows": .., "seconds": ..}.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from panda_dynamics_ros.annotation.annotator import Curve, annotate
from panda_dynamics_ros.annotation.rows import Row
from panda_dynamics_ros.annotation.sources import Source, contents_sha256, local_copy
from panda_dynamics_ros.annotation.task import RecordingResult, Task, failure, provenance
from panda_dynamics_ros.errors import PandaDynamicsError
from panda_dynamics_ros.model import RobotModel, load_robot
from panda_dynamics_ros.warm_up import warm_up

GIBIBYTE = 1 << 30
PROGRESS_PERIOD = 1.0  # s


class _Output:
    """Standard output as it was at the start; whatever a library prints goes to standard error."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._last_write = 0.0

    def write(self, **message: Any) -> None:
        """Write one message as a line."""
        self._stream.write(json.dumps(message).encode() + b"\n")
        self._stream.flush()

    def report_progress(self, samples: int = 0) -> None:
        """Write how many samples are done, at most once in `PROGRESS_PERIOD`; it shows that the worker is alive."""
        if time.monotonic() - self._last_write > PROGRESS_PERIOD:
            self._last_write = time.monotonic()
            self.write(samples=samples)


def annotate_source(
    task: Task, robot: RobotModel, source: Source, curve: Curve, report_progress: Callable[[int], None]
) -> list[Row]:
    """The complete rows of one recording; what is wrong with it is one row, too."""
    copy = source.path
    try:
        with local_copy(source, lambda: report_progress(0)) as path, warnings.catch_warnings():
            copy = str(path)
            warnings.simplefilter("ignore")  # a recording's are in `notes`
            sha256 = contents_sha256(path, lambda: report_progress(0))
            rows = annotate(path, robot, progress=report_progress, curve=curve, **task.options)
    except MemoryError:
        return failure(task, source, f"out of memory: more than {task.memory_gib:g} GiB are needed").rows
    except (PandaDynamicsError, OSError) as error:
        return failure(task, source, str(error).replace(copy, source.path)).rows
    except Exception as error:  # of a library, over a file that nobody has foreseen: one row, not the end of the run
        return failure(task, source, f"{type(error).__name__}: {error}".replace(copy, source.path)).rows
    rows[0] = provenance(task, source) | {"sha256": sha256} | rows[0]
    rows[0]["notes"] = rows[0]["notes"].replace(copy, source.path)
    return [{"path": source.path, "arm": rows[0]["arm"]} | _finite(row) for row in rows]


def _finite(row: Row) -> Row:
    """The row with null in place of nan and infinity, which JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def _exit_with(parent: int) -> None:
    """End this process once its parent has ended, also if that was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    """Annotate until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_exit_with, args=(os.getppid(),), daemon=True).start()
    output = _Output()
    task = Task(**json.loads(sys.stdin.readline()))
    with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as folder:
        (Path(folder) / "robot.yaml").write_text(task.robot, encoding="utf-8")
        robot = load_robot(Path(folder) / "robot.yaml")
    warm_up("suite", report=lambda _: None)
    # Of the data alone: maps of files and of code are not counted.
    most = int(task.memory_gib * GIBIBYTE)
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    output.write(ready=True)
    for line in sys.stdin:
        source, curve, began = Source(*json.loads(line)), Curve(), time.perf_counter()
        rows = annotate_source(task, robot, source, curve, output.report_progress)
        result = RecordingResult(source, rows, time.perf_counter() - began, curve.as_dict())
        output.write(**(result._asdict() | {"source": None}))


if __name__ == "__main__":
    main()
