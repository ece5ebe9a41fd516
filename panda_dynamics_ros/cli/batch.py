# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics batch`: many recordings as one table, on this machine or a cluster."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.progress import DownloadColumn, TimeElapsedColumn

from panda_dynamics_ros import checks
from panda_dynamics_ros.annotation.job import Outcome, annotate_recordings, cores
from panda_dynamics_ros.annotation.sources import Source
from panda_dynamics_ros.annotation.table import default_name
from panda_dynamics_ros.annotation.worker import Task
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.reporting.console import print_results, progress_bar

FAILURES_SHOWN = 10
EXAMPLES = """\
panda-dynamics batch recordings/ --output table.parquet
panda-dynamics batch "lab*/**/*.mcap" --output table.csv --resume
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="recordings, folders, globs, or URLs of these")
    options.add_robot_option(parser)
    options.add_payload_options(parser)
    options.add(
        parser,
        *options.RECORDING,
        options.output(default_name(), "TABLE", "Parquet or CSV"),
        options.flag("--resume", "go on from TABLE: skip what is done"),
        options.flag("--overwrite", "replace an earlier table"),
        options.option("--jobs", f"processes (default: one for each core, {cores()})", type=int, metavar="N"),
        options.option("--scheduler", "tcp://HOST:8786 of Dask, whose workers are used", metavar="ADDRESS"),
        options.number("--patience", 300.0, "S", "give up a recording that makes no progress for so long"),
        options.number("--memory", 4.0, "GIB", "that a worker may take"),
        options.JSON,
    )


def run(args: argparse.Namespace) -> int:
    """Annotate, write the table, say what failed."""
    if args.jobs is not None:
        checks.number(args.jobs, "--jobs", minimum=1)
    limits = {
        "patience_s": checks.number(args.patience, "--patience", minimum=1.0),
        "memory_gib": checks.number(args.memory, "--memory", minimum=0.25),
    }
    settings = options.payload_options(args) | {"shape": args.shape} | options.recording_options(args)
    task = Task.of(options.load_arm(args), settings | {"arm_prefix": args.arm_prefix or None}, **limits)
    with _Progress(args.json) as shown:
        outcome = annotate_recordings(
            args.paths, args.output, task, jobs=args.jobs, scheduler=args.scheduler, resume=args.resume,
            overwrite=args.overwrite, started=shown.start, progress=shown.advance,
        )  # fmt: skip
    tables = [(f"{len(outcome.sources)} recordings", _rows(outcome))]
    if outcome.failures:
        kinds = outcome.kinds_of_failure.most_common(FAILURES_SHOWN)
        tables.append(("failures", [(f"{count}", error[:300]) for error, count in kinds]))
    print_results(args.json, _summary(outcome), tables, [outcome.table])
    return 0


def _summary(outcome: Outcome) -> dict[str, Any]:
    return {
        "recordings": len(outcome.sources),
        "skipped": outcome.skipped,
        "done": outcome.done,
        "failed": len(outcome.failures),
        "failures": outcome.failures,
        "samples": outcome.samples,
        "bytes": outcome.bytes,
        "worker_s": outcome.worker_s,
        "table": str(outcome.table),
    }


def _rows(outcome: Outcome) -> list[tuple[str, str]]:
    rows = [("done", f"{outcome.done}, {len(outcome.failures)} of them failed"), ("skipped", f"{outcome.skipped}")]
    if outcome.worker_s > 0.0:
        samples, megabytes = outcome.samples / outcome.worker_s, outcome.bytes / outcome.worker_s / 1e6
        rows.append(("speed", f"{samples:,.0f} samples/s and {megabytes:.1f} MB/s in each process"))
    return rows


class _Progress:
    """A bar by bytes with the time that is left; a line at times where standard error is no terminal."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._lines = quiet, 0
        self._bar = progress_bar(quiet, "{task.description}", DownloadColumn(), TimeElapsedColumn())

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def start(self, outcome: Outcome, waiting: list[Source]) -> None:
        """Say how much there is to do."""
        self._count = len(waiting)
        self._task = self._bar.add_task(self._words(outcome), total=sum(source.bytes for source in waiting))

    def advance(self, source: Source, outcome: Outcome) -> None:
        """One recording is done."""
        self._bar.update(self._task, advance=source.bytes, description=self._words(outcome))
        tenths = outcome.done * 10 // self._count
        if self._bar.disable and not self._quiet and tenths > self._lines:
            self._lines = tenths
            print(self._words(outcome), file=sys.stderr, flush=True)

    def _words(self, outcome: Outcome) -> str:
        return f"{outcome.done} of {self._count} recordings, {len(outcome.failures)} failed"
