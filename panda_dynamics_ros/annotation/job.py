# SPDX-License-Identifier: Apache-2.0
"""Recordings to a table: finds them, leaves out what is done, has the rest annotated, writes the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from panda_dynamics_ros import checks
from panda_dynamics_ros.annotation.engines import cores, on_cluster, on_this_machine
from panda_dynamics_ros.annotation.journal import Journal
from panda_dynamics_ros.annotation.rows import Row
from panda_dynamics_ros.annotation.sources import Source, find_recordings
from panda_dynamics_ros.annotation.table import table_writer
from panda_dynamics_ros.annotation.task import RecordingResult, Task
from panda_dynamics_ros.errors import ArgumentError

WORST = 6
"""Recordings that are kept to be shown."""


def _residual(result: RecordingResult) -> float:
    return float(result.rows[0].get("residual_nm") or 0.0)


@dataclass
class Outcome:
    """What a run has done.

    Attributes
    ----------
    table, journal: the files.
    sources: all recordings, in the table's order.
    worst: the results of this run with the largest residuals, the largest first.
    skipped: recordings that had been done before; `done`, those of this run; `failures`, the errors of this run's.
    worker_s, samples, bytes: seconds that workers needed, samples and bytes that they read.
    """

    table: Path
    journal: Path
    sources: list[Source]
    worst: list[RecordingResult] = field(default_factory=list)
    skipped: int = 0
    done: int = 0
    worker_s: float = 0.0
    samples: int = 0
    bytes: int = 0
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, result: RecordingResult) -> None:
        """Count the result of one recording."""
        self.done += 1
        self.worker_s += result.seconds
        self.bytes += result.source.bytes
        self.samples += int(result.rows[0].get("samples") or 0)
        if result.error:
            self.failures[result.source.path] = result.error
        else:
            self.worst = sorted([*self.worst, result], key=_residual, reverse=True)[:WORST]

    @property
    def kinds_of_failure(self) -> Counter[str]:
        """Errors without the names of files, and how many recordings have each."""
        return Counter(error.replace(path, "..") for path, error in self.failures.items())


def annotate_recordings(
    paths: Iterable[str | Path],
    output: str | Path,
    task: Task,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    started: Callable[[Outcome, list[Source]], None] | None = None,
    progress: Callable[[RecordingResult, Outcome], None] | None = None,
) -> Outcome:
    """Annotate recordings and write the table; an interrupted run writes what is done.

    Parameters
    ----------
    paths: see `find_recordings`.
    output: a .parquet or .csv file; the journal lies beside it, with `.journal` appended to the name.
    task: see `Task.of`.
    jobs: processes on this machine; by default one for each core.
    scheduler: address of a Dask scheduler, whose workers are used instead.
    resume: go on from the journal: recordings that it has are skipped, unless they have changed or failed.
    overwrite: replace an earlier table and its journal.
    started: called once with the outcome so far and the recordings that will be annotated.
    progress: called after each recording.

    Raises
    ------
    ArgumentError: nothing is found at a path, there is an earlier run and neither `resume` nor `overwrite` is set, the
        earlier run had other options, or there is no such scheduler. `output` is one of the recordings, or another file
        that is there and no table of an earlier run, and `overwrite` is not set.
    MissingDependencyError: pyarrow, fsspec or distributed is needed and not installed.
    WorkerError: processes cannot be started, or the connection to the scheduler is lost; the table has what is done.
    """
    table = Path(output)
    write, journal_path = table_writer(table), table.with_name(f"{table.name}.journal")
    sources = find_recordings(paths, leave_out=(table, journal_path) if journal_path.exists() else ())
    if table.exists() and not journal_path.exists():
        checks.not_an_input(table, (source.path for source in sources), "output")
        if not overwrite:
            raise ArgumentError(f"output: expected no file there yet, or --overwrite, got {str(table)!r}")
    table.parent.mkdir(parents=True, exist_ok=True)
    if overwrite:
        journal_path.unlink(missing_ok=True)
    with Journal(journal_path, task, resume=resume) as journal:
        waiting = [source for source in sources if not journal.is_done(source)]
        outcome = Outcome(table, journal_path, sources, skipped=len(sources) - len(waiting))
        if started is not None:
            started(outcome, waiting)
        try:
            for result in results_of(task, waiting, jobs, scheduler):
                journal.add(result)
                outcome.add(result)
                if progress is not None:
                    progress(result, outcome)
        finally:
            write(journal.rows(sources))
    return outcome


def results_of(
    task: Task, sources: Sequence[Source], jobs: int | None = None, scheduler: str | None = None
) -> Iterator[RecordingResult]:
    """The results of this machine's processes, or of a cluster, as they come."""
    if not sources:
        return iter(())
    if scheduler is not None:
        return on_cluster(task, sources, scheduler)
    return on_this_machine(task, sources, jobs or cores())


def finished_rows(outcome: Outcome, task: Task) -> Iterator[Row]:
    """The table's rows once more, from the journal."""
    with Journal(outcome.journal, task, resume=True) as journal:
        yield from journal.rows(outcome.sources)
