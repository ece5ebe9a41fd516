# SPDX-License-Identifier: Apache-2.0
"""The demo: three nodes as processes, a monitor on their topics, and what came of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from panda_dynamics_ros.errors import PandaDynamicsError
from panda_dynamics_ros.nodes.demo_monitor import DemoMonitor, Recording
from panda_dynamics_ros.nodes.demo_report import live_rows, report, show
from panda_dynamics_ros.nodes.processes import NodeProcesses, isolated_environment
from panda_dynamics_ros.nodes.runner import make_executor, spin
from panda_dynamics_ros.reporting.console import LiveTable

if TYPE_CHECKING:
    from panda_dynamics_ros.reporting.web_view import WebView

LISTENERS = 3  # to joint_states: both nodes and the monitor
LOOK_PERIOD = 0.125  # s
START_PATIENCE = 240.0  # s: the first start on a machine compiles the kernels


class DemoError(PandaDynamicsError, RuntimeError):
    """A node of the demo did not start, or ended by itself."""


@dataclass(frozen=True)
class Schedule:
    """When what happens, s of robot time."""

    pick_at: float
    release_at: float
    duration: float

    @classmethod
    def of_duration(cls, duration: float) -> Schedule:
        """Some motion without payload, most of the time with it, and the rest without."""
        return cls(pick_at=0.3 * duration, release_at=0.75 * duration, duration=duration)


@dataclass(frozen=True)
class Outcome:
    """The summary, the same for a person, and the files written."""

    summary: dict[str, Any]
    rows: list[tuple[str, str]]
    files: list[Path]


def run_demo(
    mass: float,
    com: list[float],
    schedule: Schedule,
    seed: int,
    output: Path,
    quiet: bool = False,
    view: WebView | None = None,
) -> Outcome:
    """Run nodes and monitor for the schedule's duration and report; what goes on is shown in `view`, if any.

    Raises
    ------
    DemoError: a node did not start or ended by itself; the message names its log.
    """
    environment = isolated_environment(int(os.environ.get("ROS_DOMAIN_ID", "42")))
    os.environ.update(environment)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    monitor = DemoMonitor(with_wrench=view is not None)
    executor = make_executor()
    executor.add_node(monitor)
    finished = threading.Event()
    listening = threading.Thread(target=spin, args=(executor, finished.is_set), daemon=True)
    listening.start()
    try:
        with NodeProcesses(output, environment) as processes, LiveTable("panda-dynamics demo", quiet) as table:
            _start(processes, table, monitor.recording, mass, com, schedule, seed)
            _watch(processes, table, monitor.recording, schedule, view)
            codes = processes.stop()
    finally:
        finished.set()
        listening.join(timeout=5.0)
        rclpy.try_shutdown()
    unclean = {name: code for name, code in codes.items() if code != 0}
    if unclean:
        raise DemoError(f"nodes did not end cleanly: {unclean}; see the logs in {output}")
    return Outcome(*report(monitor.recording, output))


def _start(
    processes: NodeProcesses,
    table: LiveTable,
    recording: Recording,
    mass: float,
    com: list[float],
    schedule: Schedule,
    seed: int,
) -> None:
    """Estimators first, so that they see the robot's first sample; then the robot."""
    processes.start("dynamics", {"payload_topic": "payload_estimator/payload"})
    processes.start("payload_estimator")
    wanted = ("panda_dynamics: input", "payload_estimator: input")
    _wait(
        processes,
        lambda waited: table.show([("starting the nodes", f"{waited:.0f} s (the first time, kernels are compiled)")]),
        lambda: all(name in recording.diagnostics for name in wanted),
    )
    parameters: dict[str, object] = {
        "payload_mass_kg": float(mass),
        "payload_com_m": [float(x) for x in com],
        "pick_at_s": schedule.pick_at,
        "release_at_s": schedule.release_at,
        "cycle_s": 0.0,
        "wait_for_subscribers": LISTENERS,
        "seed": seed,
    }
    processes.start("simulated_panda", parameters)
    _wait(
        processes,
        lambda waited: table.show([("starting the simulated Panda", f"{waited:.0f} s")]),
        lambda: len(recording.joint_states) > 0,
    )


def _wait(processes: NodeProcesses, tell: Callable[[float], None], ready: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not ready():
        waited = time.monotonic() - began
        _check_alive(processes)
        if waited > START_PATIENCE:
            raise DemoError(f"the nodes did not start within {START_PATIENCE:.0f} s; see their logs")
        tell(waited)
        time.sleep(0.25)


def _watch(
    processes: NodeProcesses, table: LiveTable, recording: Recording, schedule: Schedule, view: WebView | None
) -> None:
    began = recording.joint_states[0][0]
    while (elapsed := recording.joint_states[-1][0] - began) < schedule.duration:
        _check_alive(processes)
        table.show(live_rows(recording, elapsed, schedule.duration))
        if view is not None:
            show(recording, view)
        time.sleep(LOOK_PERIOD)
    # The estimator's account of the stream comes once a second: wait for one that covers the end.
    time.sleep(1.5)


def _check_alive(processes: NodeProcesses) -> None:
    for name, code in processes.dead().items():
        raise DemoError(f"node {name} ended by itself with code {code}; see {processes.log(name)}")
