# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.first_start`: CPU seconds of three nodes until all are ready, on their first and next start.

CPU time of the processes, by all threads, and not the time that passes: other programs do not change it much. The nodes
start at once, with an empty cache of kernels at first.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchmarks.common import table
from benchmarks.one_khz.resources import Usage
from panda_dynamics_ros.cli.processes import NodeProcesses, isolated_environment

NODES = ("dynamics", "payload_estimator", "simulated_panda")
DOMAIN, PATIENCE = 44, 300.0  # s


def cpu_until_ready(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """CPU seconds of each node until it has logged that it is ready."""
    found: dict[str, float] = {}
    with NodeProcesses(folder, environment) as nodes:
        usage = {name: Usage(nodes.start(name)) for name in NODES}
        end = time.monotonic() + PATIENCE
        while waiting := [name for name in NODES if name not in found]:
            if nodes.dead() or time.monotonic() > end:
                raise RuntimeError(f"not ready: {waiting}\n" + "\n".join(nodes.log(name).read_text() for name in NODES))
            time.sleep(0.02)
            for name in waiting:
                if "]: ready" in nodes.log(name).read_text():
                    usage[name].look(time.monotonic())
                    found[name] = usage[name].cpu[0]
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, Console().status("three nodes start, twice"):
        folder = Path(name)
        own = {"NUMBA_CACHE_DIR": str(folder / "cache"), "TMPDIR": name}
        environment = isolated_environment(DOMAIN) | own
        first, following = (cpu_until_ready(folder, environment) for _ in range(2))
    rows = [[name, f"{first[name]:.1f}", f"{following[name]:.1f}"] for name in NODES]
    rows.append(["together", *(f"{sum(start.values()):.1f}" for start in (first, following))])
    Console().print(table("CPU seconds until ready", ["node", "first start", "next start"], rows))


if __name__ == "__main__":
    main()
