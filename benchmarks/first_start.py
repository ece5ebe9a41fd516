# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.first_start`: time until three nodes are ready, and their CPU time, on first and next start.

The nodes start at once, with an empty cache of kernels at first. `dynamics` is ready when it publishes gravity and
Coriolis torques and the pose; its CPU time is until its estimators have their kernels, too. CPU time is that of the
processes, by all threads, and of processes that they start: other programs do not change it much.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchmarks.common import other_programs, table
from panda_dynamics_ros.cli.demo import NodeProcesses, isolated_environment

NODES = ("dynamics", "payload_estimator", "simulated_panda")
DOMAIN, PATIENCE = 44, 300.0  # s


def until_ready(folder: Path, environment: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Of each node, s until it has logged that it is ready, and CPU s until it has all its kernels."""
    ready: dict[str, float] = {}
    cpu: dict[str, float] = {}
    with NodeProcesses(folder, environment) as nodes:
        begin = time.monotonic()
        pids = {name: nodes.start(name) for name in NODES}
        while len(cpu) < len(NODES):
            if nodes.dead() or time.monotonic() > begin + PATIENCE:
                raise RuntimeError("not ready:\n" + "\n".join(nodes.log(name).read_text() for name in NODES))
            time.sleep(0.02)
            for name, pid in pids.items():
                log = nodes.log(name).read_text()
                if name not in ready and "]: ready" in log:
                    ready[name] = time.monotonic() - begin
                late = "the estimators wait" in log and "the estimators begin" not in log
                if name not in cpu and name in ready and not late:
                    cpu[name] = cpu_seconds(pid)
    return {name: (ready[name], cpu[name]) for name in NODES}


def cpu_seconds(pid: int) -> float:
    """Of a process, and of those that it has started and that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # utime, stime, cutime, cstime: proc(5)


def main() -> None:
    """Measure how long three nodes take to start, twice, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_start", description=main.__doc__)
    parser.add_argument("--load", type=float, default=0.0, help="cores that other programs would take (0)")
    with (
        other_programs(parser.parse_args().load),
        tempfile.TemporaryDirectory() as name,
        Console().status("three nodes start, twice"),
    ):
        folder = Path(name)
        own = {"NUMBA_CACHE_DIR": str(folder / "cache"), "TMPDIR": name}
        environment = isolated_environment(DOMAIN) | own
        first, following = (until_ready(folder, environment) for _ in range(2))
    rows = [[name, *(f"{value:.1f}" for start in (first, following) for value in start[name])] for name in NODES]
    together = [f"{sum(cpu for _, cpu in start.values()):.1f}" for start in (first, following)]
    rows.append(["together", "", together[0], "", together[1]])
    titles = ["node", "first start: ready, s", "CPU, s", "next start: ready, s", "CPU, s"]
    Console().print(table("Three nodes that start at once", titles, rows))


if __name__ == "__main__":
    main()
