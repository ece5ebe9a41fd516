# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics batch`: many recordings as one table, on this machine or a cluster."""

import argparse
import sys
from collections import Counter

from rich.progress import DownloadColumn, TimeElapsedColumn

from panda_dynamics_ros import checks
from panda_dynamics_ros.annotation.job import Outcome, annotate_recordings, cores
from panda_dynamics_ros.annotation.worker import Source, Task
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.reporting.console import print_results, progress_bar, summary_rows

FAILURES_SHOWN = 10
EXAMPLES = """\
panda-dynamics batch recordings/ --output table.parquet
panda-dynamics batch "lab*/**/*.mcap" --output table.parquet --resume
"""
OPTIONS = [
    options.option("paths", "recordings, folders, or globs", nargs="+", metavar="PATH"),
    *options.ROBOT,
    *options.payload(),
    *options.RECORDING,
    options.output("recordings.parquet", "TABLE", "the table, Parquet"),
    options.flag("--resume", "go on with TABLE: skip the recordings that are done"),
    options.flag("--overwrite", "replace an earlier table"),
    options.option("--jobs", f"processes (default: one for each core, {cores()})", type=int, metavar="N"),
    options.option("--scheduler", "Dask scheduler whose workers are used, tcp://HOST:8786", metavar="ADDRESS"),
    options.number("--patience", 300.0, "S", "seconds without progress after which a recording is given up"),
    options.number("--memory", 4.0, "GIB", "memory that a worker may take"),
]


def run(args: argparse.Namespace) -> None:
    if args.jobs is not None:
        checks.number(args.jobs, "--jobs", minimum=1)
    limits = {
        "patience_s": checks.number(args.patience, "--patience", minimum=1.0),
        "memory_gib": checks.number(args.memory, "--memory", minimum=0.25),
    }
    settings = options.payload_options(args) | {"shape": args.shape} | options.recording_options(args)
    task = Task.of(options.load_arm(args), settings | {"arm_prefix": args.arm_prefix or None}, **limits)
    bar = progress_bar(args.json, "{task.description}", DownloadColumn(), TimeElapsedColumn())

    def words(outcome: Outcome) -> str:
        return f"{outcome.done} of {len(outcome.waiting)} recordings, {len(outcome.failures)} failed"

    def start(outcome: Outcome) -> None:
        bar.add_task(words(outcome), total=sum(source.bytes for source in outcome.waiting))

    def advance(source: Source, outcome: Outcome) -> None:
        bar.update(bar.task_ids[0], advance=source.bytes, description=words(outcome))
        before, tenths = (10 * done // len(outcome.waiting) for done in (outcome.done - 1, outcome.done))
        if bar.disable and not args.json and tenths > before:
            print(words(outcome), file=sys.stderr, flush=True)

    with bar:
        outcome = annotate_recordings(
            args.paths, args.output, task, jobs=args.jobs, scheduler=args.scheduler, resume=args.resume,
            overwrite=args.overwrite, started=start, progress=advance,
        )  # fmt: skip
    names = ("skipped", "done", "samples", "bytes", "worker_s")
    summary = {"recordings": len(outcome.sources), **{name: getattr(outcome, name) for name in names}}
    summary |= {"failed": len(outcome.failures), "table": str(outcome.table)}
    tables = [("annotated", summary_rows(summary))]
    if outcome.failures:
        kinds = {path: error.replace(path, "..").removeprefix("..: ") for path, error in outcome.failures.items()}
        example = {kind: path for path, kind in kinds.items()}
        most = Counter(kinds.values()).most_common(FAILURES_SHOWN)
        tables.append(("failures", [(f"{count}", f"{example[kind]}: {kind}"[:300]) for kind, count in most]))
    print_results(args.json, summary | {"failures": outcome.failures}, tables, [outcome.table])
