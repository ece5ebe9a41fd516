# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.one_khz`: losses, latencies, CPU and memory of both nodes at 1 kHz; exit code 1 if too much."""

from __future__ import annotations

import argparse
import json
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.common import other_programs, table
from benchmarks.one_khz.resources import Usage
from panda_dynamics_ros.cli.demo import NodeProcesses, isolated_environment

# Executable: the node whose diagnostics count its samples.
TWO = {"dynamics": "panda_dynamics", "payload_estimator": "payload_estimator"}
ONE = {"suite": "panda_dynamics"}
DOMAIN = 43
TWICE, MORE = 2.0, 1.0  # ms
SHARES = {"dynamics": 0.25, "payload_estimator": 0.15, "suite": 0.25}  # of a core
GROWTH = 4 << 20  # bytes: flat, but for what the allocator keeps
START_PATIENCE = 240.0  # s: the first start on a machine compiles the kernels


@dataclass(frozen=True)
class Latency:
    """From the moment a sample was sent to the moment its answer was published, ms."""

    topic: str
    count: int
    median: float
    p99: float
    p999: float
    largest: float

    @classmethod
    def of(cls, topic: str, rows: Any, first: int, sent: Any) -> Latency:
        """Of one topic's stamps and times of publication, ns."""
        index = (rows[:, 0] - first) // 1_000_000
        answered = (index >= 0) & (index < len(sent))
        answered[answered] = sent[index[answered]] > 0
        late = 1e-6 * (rows[answered, 1] - sent[index[answered]])
        if not len(late):
            return cls(topic, 0, *[np.nan] * 4)
        return cls(topic, len(late), *(float(each) for each in np.percentile(late, (50, 99, 99.9, 100))))


def run(
    executables: dict[str, str], minutes: float, folder: Path, load: float = 0.0, same_session: bool = False
) -> tuple[Any, Any, dict[str, Usage]]:
    """Let the processes of one arm run; returns what publisher and listener wrote, and what the processes used.

    load: cores that other programs would take if they could.
    same_session: whether they are of the nodes' session. Linux shares the processors between sessions first
        (`sched_autogroup_enabled`).
    """
    environment = isolated_environment(DOMAIN)
    python = [sys.executable, "-m"]
    listener = [*python, "benchmarks.one_khz.listener", str(folder / "heard.npz")]
    bare = [*python, "benchmarks.one_khz.listener", str(folder / "bare.npz"), "--bare"]
    publisher = [*python, "benchmarks.one_khz.publisher", str(60.0 * minutes), str(folder / "sent.npz")]
    publisher += [str(len(executables) + 1)]
    with NodeProcesses(folder, environment) as nodes, other_programs(load, same_session):
        usage = {name: Usage(nodes.start(name)) for name in executables}
        listening = [subprocess.Popen(command, env=environment) for command in (listener, bare)]
        sending = subprocess.Popen(publisher, env=environment, stdout=subprocess.PIPE, text=True)
        usage |= {
            "listener": Usage(listening[0].pid),
            "bare listener": Usage(listening[1].pid),
            "publisher": Usage(sending.pid),
        }
        try:
            _watch(nodes, sending, usage, 60.0 * minutes)
            time.sleep(2.5)  # diagnostics come each second
        finally:
            for process in listening:
                process.send_signal(signal.SIGINT)
            for process in listening:
                process.wait(30.0)
            sending.wait(30.0)
    heard = {**np.load(folder / "heard.npz"), "joint_states, by a bare listener": np.load(folder / "bare.npz")["bare"]}
    return np.load(folder / "sent.npz"), heard, usage


def _watch(nodes: NodeProcesses, sending: subprocess.Popen[str], usage: dict[str, Usage], seconds: float) -> None:
    """Look at the processes each second while samples are sent."""
    output = sending.stdout
    assert output is not None
    end, state = time.monotonic() + START_PATIENCE + seconds, ""
    while state != "sent":
        if nodes.dead() or sending.poll() is not None or time.monotonic() > end:
            sending.kill()
            raise RuntimeError(f"the nodes do not answer or have ended: {nodes.dead()}")
        if select.select([output], [], [], 1.0)[0]:
            state = output.readline().strip()
        if state:
            now = time.monotonic()
            for each in usage.values():
                each.look(now)


def received(executables: dict[str, str], heard: Any) -> dict[str, int]:
    """Samples that each process has received, by its diagnostics."""
    statuses = json.loads(str(heard["diagnostics"]))
    return {name: int(statuses.get(f"{node}: input", {}).get("received", 0)) for name, node in executables.items()}


def main() -> int:
    """Measure, print, judge; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_khz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long samples are sent (10)")
    parser.add_argument("--one-process", action="store_true", help="both nodes in one process (executable suite)")
    parser.add_argument("--load", type=float, default=0.0, help="cores that other programs would take (0)")
    parser.add_argument("--same-session", action="store_true", help="these programs are of the nodes' session")
    options = parser.parse_args()
    minutes, executables = options.minutes, ONE if options.one_process else TWO
    console = Console()
    with tempfile.TemporaryDirectory() as folder, console.status(f"{minutes:g} minutes at 1 kHz"):
        sent, heard, usage = run(executables, minutes, Path(folder), options.load, options.same_session)
    first, times = int(sent["first"]), sent["sent"]
    taken = received(executables, heard)
    latencies = [Latency.of(topic, heard[topic], first, times) for topic in heard if topic != "diagnostics"]
    cycles = np.flatnonzero(times)
    count, late = len(cycles), 1e-6 * (times[cycles] - first - 1_000_000 * cycles)
    console.print(f"{count} samples sent, on time within {np.percentile(late, 99):.2f} ms (99 %), ", end="")
    console.print(f"{len(times) - count} cycles left out for pauses of the machine")
    rows = [[name, str(number), str(count - number)] for name, number in taken.items()]
    console.print(table("Samples", ["node", "received", "lost"], rows))
    rows = [
        [x.topic, str(x.count), f"{x.median:.3f}", f"{x.p99:.3f}", f"{x.p999:.3f}", f"{x.largest:.2f}"]
        for x in latencies
    ]
    console.print(table("From sample to answer, ms", ["topic", "answers", "median", "99 %", "99.9 %", "largest"], rows))
    rows = [
        [name, f"{100.0 * x.share:.1f} %", *(f"{size / 2**20:.1f}" for size in (x.memory[0], x.memory[-1], x.growth))]
        for name, x in usage.items()
    ]
    columns = ["process", "of a core", "MiB at the start", "at the end", "grown, last 3/4"]
    console.print(table("CPU and memory", columns, rows))
    gravity, bare = latencies[0], latencies[-1]
    verdicts = {
        "no sample lost": all(number == count for number in taken.values()),
        f"gravity torques: at most {TWICE:g} times and {MORE:g} ms more than the bare listener (99 %, 99.9 %)": all(
            late <= TWICE * least + MORE for late, least in ((gravity.p99, bare.p99), (gravity.p999, bare.p999))
        ),
        **{
            f"{name}: at most {100 * most:.0f} % of a core": usage[name].share <= most
            for name, most in SHARES.items()
            if name in executables
        },
        "memory is flat": all(usage[name].growth < GROWTH for name in executables),
    }
    for verdict, met in verdicts.items():
        console.print(f"{'met' if met else 'NOT MET':8}{verdict}")
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
