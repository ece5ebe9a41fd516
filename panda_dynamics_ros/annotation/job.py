# SPDX-License-Identifier: Apache-2.0
"""Recordings to a table: finds them, leaves out what is done, has the rest annotated, writes the table.

A pool of threads, each with a worker process, or a Dask cluster runs `annotate_in_worker`: both are executors.
"""

import contextlib
import glob
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from panda_dynamics_ros import checks
from panda_dynamics_ros.annotation.rows import RECORDING, Row, parquet, read_table, write_table
from panda_dynamics_ros.annotation.worker import Source, Task, WorkerError, annotate_in_worker, end_workers
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.recordings.bags import STORAGES
from panda_dynamics_ros.recordings.table_files import TABLES
from panda_dynamics_ros.untrusted import import_optional

ENDINGS = (*STORAGES, *TABLES)
METADATA = "metadata.yaml"
SAVING_S = 60.0  # between two savings of the table: a run that is killed loses no more
PATIENCE_WITH_SCHEDULER = "20s"


@dataclass
class Outcome:
    """What a run has to do, and what it has done.

    table: the file of the results.
    sources: all recordings. waiting: those of them that were not done when the run began.
    done: how many of these are finished, also with an error. failures: the errors, by the recording's path.
    worker_s, samples, bytes: the time that workers needed, s, and what they read.
    """

    table: Path
    sources: list[Source]
    waiting: list[Source]
    done: int = 0
    worker_s: float = 0.0
    samples: int = 0
    bytes: int = 0
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, source: Source, row: Row) -> None:
        """Count a recording by its own row."""
        self.done += 1
        self.bytes += source.bytes
        self.worker_s += row.get("seconds") or 0.0
        self.samples += row.get("samples") or 0
        if row.get("error"):
            self.failures[source.path] = row["error"]

    @property
    def skipped(self) -> int:
        """Recordings that had been done before."""
        return len(self.sources) - len(self.waiting)


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def open_executor(jobs: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """`jobs` threads of this machine (by default one for each core), or the workers of a Dask scheduler."""
    if scheduler is None:
        pool = ThreadPoolExecutor(jobs or cores())
        try:
            yield pool
        finally:
            ending = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True})
            ending.start()
            while ending.is_alive():  # a thread may still start its process
                end_workers()
                ending.join(0.1)
            end_workers()
        return
    distributed = import_optional("distributed", "'panda_dynamics_ros[cluster]'")
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE_WITH_SCHEDULER, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ArgumentError(f"scheduler: expected the address of a Dask scheduler, got {scheduler}: {error}") from error
    with client:
        executor = client.get_executor(pure=False)
        try:
            yield executor
            client.run(end_workers)
        except (KeyboardInterrupt, GeneratorExit):  # the latter where the caller is interrupted
            executor.shutdown(wait=False)
            client.run(end_workers)
            raise
        except (distributed.comm.CommClosedError, CancelledError) as error:
            raise WorkerError(f"scheduler {scheduler}: the connection was lost") from error


def annotate_recordings(
    paths: Iterable[str | Path],
    output: str | Path,
    task: Task,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    started: Callable[[Outcome], None] = lambda outcome: None,
    progress: Callable[[Source, Outcome], None] = lambda source, outcome: None,
) -> Outcome:
    """Annotate recordings and write the table; an interrupted run writes what is done.

    paths: see `find_recordings`.
    output: a .parquet file.
    task: see `Task.of`.
    jobs, scheduler: see `open_executor`.
    resume: keep what an earlier table has, but of those among `paths` that have changed or failed.
    overwrite: replace an earlier table.
    started, progress: called once, and after each recording that is annotated.
    Raises ArgumentError: nothing is found at a path, there is a table and neither `resume` nor `overwrite` is set, it
        was made with other options, or there is no such scheduler. `output` is one of the recordings.
    Raises DataError: the file to resume from is no table of an earlier run.
    Raises MissingDependencyError: pyarrow, or for a scheduler distributed, is not installed.
    Raises WorkerError: processes cannot be started, or the scheduler is lost; the table has what is done.
    """
    table = Path(output)
    if table.suffix != ".parquet":
        raise ArgumentError(f"--output: expected a name that ends in .parquet, got {str(table)!r}")
    parquet()  # before the work
    sources = find_recordings(paths)
    done: dict[str, list[Row]] = {}
    if resume and table.exists():
        sources = [source for source in sources if Path(source.path).absolute() != table.absolute()]
        done = _earlier_rows(table, task)
    elif table.exists():
        checks.not_an_input(table, (source.path for source in sources), "output")
        if not overwrite:
            raise ArgumentError(f"{table}: expected no file there yet: --resume goes on from it, --overwrite does not")
    versions = {path: rows[0]["version"] for path, rows in done.items() if not rows[0].get("error")}
    outcome = Outcome(table, sources, [each for each in sources if versions.get(each.path) != each.version])

    def save() -> None:
        write_table(table, (row for path in sorted(done) for row in done[path]))

    table.parent.mkdir(parents=True, exist_ok=True)
    started(outcome)
    saved = time.monotonic()
    try:
        for source, rows in _annotated(task, outcome.waiting, jobs, scheduler):
            done[source.path] = rows
            outcome.add(source, rows[0])
            if time.monotonic() - saved > SAVING_S:
                save()
                saved = time.monotonic()
            progress(source, outcome)
    finally:
        save()
    return outcome


def _annotated(
    task: Task, sources: list[Source], jobs: int | None, scheduler: str | None
) -> Iterator[tuple[Source, list[Row]]]:
    """The recordings and their rows as they come; one that kills a cluster's workers three times has failed."""
    if not sources:
        return
    with open_executor(jobs, scheduler) as executor:
        text = json.dumps(task)
        by_future = {executor.submit(annotate_in_worker, text, json.dumps(source)): source for source in sources}
        for future in as_completed(list(by_future)):
            source = by_future.pop(future)
            try:
                rows = future.result()
            except (WorkerError, CancelledError):
                raise
            except Exception as error:  # of the cluster
                rows = task.failure(source, f"{type(error).__name__}: {error}")
            yield source, rows


def _earlier_rows(table: Path, task: Task) -> dict[str, list[Row]]:
    """What an earlier run has done: the rows of each recording by its path."""
    found: dict[str, list[Row]] = {}
    now = task.provenance(Source("/", 0, ""))
    for row in read_table(table):
        if row["kind"] == RECORDING:
            checked = ("robot_sha256", "options", "package_version")
            if differing := [f"{name} {row.get(name)!r:.80}" for name in checked if row.get(name) != now[name]]:
                before = f"{table}: {', '.join(differing)}"
                raise ArgumentError(f"--resume: expected the options of the earlier run ({before}), got others")
        found.setdefault(row["path"], []).append(row)
    return found


def find_recordings(paths: Iterable[str | Path]) -> list[Source]:
    """The recordings at `paths`, in order of their names, each once, by the path that led to it first.

    paths: files; globs; and folders, which are searched to the bottom, but for hidden files and what `replay` has
        written. A folder with a metadata.yaml is one recording. Any other file that ends like one is one of its own.
    Raises ArgumentError: there is nothing at a path.
    """
    found: dict[Path, Source] = {}
    for path in map(str, paths):
        globbed = () if Path(path).exists() else map(Path, glob.glob(path, recursive=True))  # noqa: PTH207
        tops = [Path(path), *(each for file in globbed for each in (file, file.parent / METADATA))]
        files = {file for top in tops for file in ([top] if top.is_file() else top.rglob("[!.]*")) if file.is_file()}
        replays = {f.parent for f in files if f.name == "payload.csv" and f.with_name("summary.json").exists()}
        written = {each / name for each in replays - {Path(path)} for name in ("payload.csv", "results")}
        files = {file for file in files if written.isdisjoint((file, file.parent))}
        sources = {Path(source.path).absolute(): source for source in _sources(files)}
        if not sources:
            raise ArgumentError(f"PATHS: expected recordings ({', '.join(ENDINGS)}) at {path}, got none")
        found = sources | found
    return sorted(found.values())


def _sources(files: set[Path]) -> Iterator[Source]:
    """Those of recordings, with storages beside a metadata.yaml as one."""
    members: dict[Path, list[Path]] = {}
    for file in sorted(files):
        name = file.name.lower()
        if name.endswith(STORAGES) and (metadata := file.with_name(METADATA)) in files:
            members.setdefault(file.parent, [metadata]).append(file)
        elif name.endswith(ENDINGS):
            members[file] = [file]
    for path, parts in members.items():
        stats = [file.stat() for file in sorted(parts)]
        states = "\n".join(f"{each.st_size}-{each.st_mtime_ns}" for each in stats)
        yield Source(str(path), sum(each.st_size for each in stats), hashlib.sha256(states.encode()).hexdigest()[:16])
