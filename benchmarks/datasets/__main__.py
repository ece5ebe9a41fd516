# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.datasets`: throughput on this machine, and what large data sets would cost."""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from distributed import Client, LocalCluster
from rich.console import Console
from rich.table import Table

from benchmarks.common import table
from benchmarks.datasets.recordings import DROID_RATE, DROID_SECONDS, write_1khz, write_droid
from benchmarks.datasets.sample import seconds_per_sample
from panda_dynamics_ros import load_robot
from panda_dynamics_ros.annotation import Task, annotate_recordings
from panda_dynamics_ros.annotation.job import cores
from panda_dynamics_ros.annotation.rows import read_table

DROID_EPISODES, HOURS_1KHZ = 76_000, 10_000
TRIVIAL_TASKS = 2000


class Run(NamedTuple):
    """One run of `annotate_recordings`: recorded and wall time, and time of the processor (nan on a cluster), s."""

    name: str
    recordings: int
    recorded_s: float
    wall_s: float
    cpu_s: float
    samples: int
    bytes: int
    failures: int


def run(name: str, folder: Path, output: Path, task: Task, scheduler: str | None = None) -> Run:
    """Annotate a folder with all cores."""
    began, cpu = time.perf_counter(), _cpu()
    outcome = annotate_recordings([folder], output, task, scheduler=scheduler, overwrite=True)
    wall = time.perf_counter() - began
    cpu = math.nan if scheduler else _cpu() - cpu
    recorded = sum(row.get("end_s") or 0.0 for row in read_table(output) if row["kind"] == "recording")
    return Run(name, outcome.done, recorded, wall, cpu, outcome.samples, outcome.bytes, len(outcome.failures))


def _cpu() -> float:
    """Time of the processor, s, of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def seconds_per_task(address: str) -> float:
    """What the scheduler needs for a task that does nothing."""
    with Client(address, set_as_default=False) as client:
        client.gather(client.map(str, range(100), pure=False))
        began = time.perf_counter()
        client.gather(client.map(str, range(TRIVIAL_TASKS), pure=False))
        return (time.perf_counter() - began) / TRIVIAL_TASKS


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.datasets", description=__doc__)
    parser.add_argument("--episodes", type=int, default=2000, help="short recordings (2000)")
    parser.add_argument("--long", type=int, default=4, help="recordings at 1 kHz (4)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of these (60)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()
    task, progress = Task.of(load_robot("panda"), {}), Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as name:
        folder = Path(name)
        with progress.status("writing recordings"):
            short = write_droid(folder / "droid", arguments.episodes)
            long = write_1khz(folder / "1khz", arguments.long, arguments.seconds)
        with progress.status("annotating on this machine"):
            runs = [run("15 Hz, HDF5", short, folder / "short.parquet", task)]
            runs.append(run("1 kHz, MCAP", long, folder / "long.parquet", task))
        workers = LocalCluster(cores(), threads_per_worker=1, dashboard_address=None)
        with progress.status("annotating on a cluster"), workers:
            address = workers.scheduler_address
            per_task = seconds_per_task(address)
            runs.append(run("15 Hz, HDF5, Dask", short, folder / "cluster.parquet", task, address))
        same = (folder / "short.parquet").read_bytes() == (folder / "cluster.parquet").read_bytes()
        with progress.status("one sample"):
            samples = seconds_per_sample(long / f"recording_{arguments.long - 1}")
    costs = estimates(runs, per_task)
    if arguments.json:
        found = {"runs": [each._asdict() for each in runs], "seconds_per_task": per_task, "samples": samples}
        print(json.dumps({**found, "same_table": same, "cores": cores(), "costs": costs}, indent=2))
        return
    out = Console(width=120)
    out.print(_runs(runs))
    out.print(f"Dask: {1e3 * per_task:.2f} ms for a task that does nothing; its table is the same: {same}")
    out.print(_samples(samples))
    out.print(_costs(costs))


def estimates(runs: list[Run], per_task: float) -> list[dict[str, object]]:
    """Core hours and bytes of large data sets, from the processor's time and bytes for each recorded second."""
    short, long = runs[:2]
    droid = {"name": f"{DROID_EPISODES:,} episodes of {DROID_SECONDS:g} s at {DROID_RATE:g} Hz"}
    hours = {"name": f"{HOURS_1KHZ:,} h at 1 kHz"}
    cases = ((droid, short, DROID_EPISODES * DROID_SECONDS), (hours, long, 3600.0 * HOURS_1KHZ))
    found = []
    for case, measured, seconds in cases:
        scale = seconds / measured.recorded_s
        tasks = DROID_EPISODES if measured is short else 10 * HOURS_1KHZ
        core_h = measured.cpu_s * scale / 3600.0
        gigabytes, scheduler_h = measured.bytes * scale / 1e9, tasks * per_task / 3600.0
        found.append({**case, "core_h": core_h, "gigabytes": gigabytes, "tasks": tasks, "scheduler_h": scheduler_h})
    return found


def _runs(runs: list[Run]) -> Table:
    rows = [
        (
            each.name, f"{each.recordings}", f"{each.failures}", f"{each.recorded_s / 3600.0:.2f}",
            f"{each.wall_s:.1f}", f"{each.recorded_s / each.wall_s:.0f}", f"{each.samples / each.wall_s:,.0f}",
            f"{each.bytes / each.wall_s / 1e6:.2f}", f"{1e3 * each.cpu_s / each.recordings:.1f}",
        )
        for each in runs
    ]  # fmt: skip
    columns = ("", "recordings", "failed", "recorded h", "wall s", "x real time", "samples/s", "MB/s", "CPU ms each")
    return table(f"annotate_recordings, {cores()} cores", columns, rows)


def _samples(samples: dict[str, tuple[float, int]]) -> Table:
    rows = [
        (name, f"{1e6 * seconds:.1f}", f"{1e-3 / seconds:.0f}", f"{count}" if count else "")
        for name, (seconds, count) in samples.items()
    ]
    return table("one process, a recording at 1 kHz", ("", "us a sample", "times real time", "rows"), rows)


def _costs(costs: list[dict[str, object]]) -> Table:
    rows = [
        (
            f"{case['name']}", f"{case['core_h']:.1f}", f"{case['gigabytes']:,.0f}", f"{case['tasks']:,}",
            f"{case['scheduler_h']:.2f}",
        )
        for case in costs
    ]  # fmt: skip
    return table("data sets, at the speed above", ("", "core hours", "GB", "tasks", "scheduler, h"), rows)


if __name__ == "__main__":
    main()
