# SPDX-License-Identifier: Apache-2.0
"""Many workers at once: processes of this machine, or of a Dask cluster. Each recording gets exactly one result."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any, TypeVar

from panda_dynamics_ros.annotation.sources import Source
from panda_dynamics_ros.annotation.task import RecordingResult, Task, failure
from panda_dynamics_ros.annotation.worker_process import WorkerError, WorkerProcess, collect_results
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError

Result = TypeVar("Result")
WAITING_PER_THREAD = 4
"""Recordings that a thread of the cluster has waiting, so that it need not wait for the network."""
PATIENCE_WITH_SCHEDULER = "20s"


def on_this_machine(task: Task, sources: Sequence[Source], jobs: int) -> Iterator[RecordingResult]:
    """The results as they come, from `jobs` processes.

    Raises
    ------
    WorkerError: processes cannot be started.
    """
    waiting = iter(sources)
    workers = [WorkerProcess(task) for _ in range(min(jobs, len(sources)))]
    try:
        for worker, source in zip(workers, waiting, strict=False):
            worker.submit(source)
        while any(worker.source is not None for worker in workers):
            yield from collect_results(workers, 1.0)
            free = [worker for worker in workers if worker.source is None]
            for worker, source in zip(free, waiting, strict=False):
                worker.submit(source)
    finally:
        for worker in workers:
            worker.close()


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_cluster(task: Task, sources: Sequence[Source], scheduler: str) -> Iterator[RecordingResult]:
    """The results as they come, from the workers of a Dask scheduler.

    Recordings of a worker that is lost are given to others. One that loses three of them (`allowed-failures` of the
    scheduler) counts as failed.

    Raises
    ------
    ArgumentError: there is no scheduler at this address.
    MissingDependencyError: `distributed` is not installed.
    WorkerError: the connection to the scheduler is lost.
    """
    distributed = _distributed()
    with _client(scheduler) as client:
        waiting, submitted = iter(sources), dict[str, Source]()

        def submit(count: int) -> list[Any]:
            futures = []
            for source in islice(waiting, count):
                # As text: Dask looks into tuples for results of other tasks.
                future = client.submit(_on_worker, json.dumps([task, source]), pure=False)
                submitted[future.key] = source
                futures.append(future)
            return futures

        threads = max(1, sum(client.nthreads().values()))
        results = distributed.as_completed(submit(WAITING_PER_THREAD * threads), loop=client.loop, raise_errors=False)
        for future in results:
            source = submitted.pop(future.key)
            results.update(submit(1))
            if future.status == "finished":
                yield future.result()
            elif future.status == "error":
                yield _failed(task, source, future.exception())
            else:
                raise WorkerError(f"scheduler {scheduler}: the connection was lost")
        client.run(_end_workers)


def results_of_cluster(
    function: Callable[..., Result], items: Sequence[Any], *arguments: Any, scheduler: str
) -> Iterator[Result]:
    """function(item, *arguments) of each item in their order, from the workers of a Dask scheduler.

    Raises
    ------
    What the function raises, and the errors of `on_cluster`.
    """
    with _client(scheduler) as client:
        items_left = iter(items)
        most = WAITING_PER_THREAD * max(1, sum(client.nthreads().values()))
        futures = deque(client.submit(function, item, *arguments, pure=False) for item in islice(items_left, most))
        while futures:
            future = futures.popleft()
            result: Result = future.result()
            if future.status != "finished":
                raise WorkerError(f"scheduler {scheduler}: the connection was lost")
            futures.extend(client.submit(function, item, *arguments, pure=False) for item in islice(items_left, 1))
            yield result


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    distributed = _distributed()
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE_WITH_SCHEDULER, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ArgumentError(f"scheduler: expected the address of a Dask scheduler, got {scheduler}: {error}") from error
    try:
        yield client
    except (distributed.comm.CommClosedError, CancelledError) as error:
        raise WorkerError(f"scheduler {scheduler}: the connection was lost") from error
    finally:
        client.close()


def _failed(task: Task, source: Source, error: BaseException) -> RecordingResult:
    """The result of a recording on which workers failed; a fault of all workers ends the run."""
    if isinstance(error, WorkerError):
        raise error
    return failure(task, source, f"{type(error).__name__}: {error}")


_workers: dict[int, WorkerProcess] = {}  # of this process of the cluster, by thread


def _on_worker(message: str) -> RecordingResult:
    """Annotate a recording, on a worker of the cluster: in a process of its own, which may crash or hang."""
    fields, source = json.loads(message)
    task, thread = Task(*fields), threading.get_ident()
    worker = _workers.get(thread)
    if worker is None or worker.task != task:
        if worker is not None:
            worker.close()
        worker = _workers[thread] = WorkerProcess(task)
    worker.submit(Source(*source))
    return worker.wait()


def _end_workers() -> None:
    while _workers:
        _workers.popitem()[1].close()


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise MissingDependencyError(
            f"distributed: expected it to be installed (pip install 'panda_dynamics_ros[cluster]'), got: {error}"
        ) from error
