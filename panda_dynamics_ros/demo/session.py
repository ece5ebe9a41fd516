# SPDX-License-Identifier: Apache-2.0
"""The demo: three nodes as processes, a recorder of their topics, and the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from panda_dynamics_ros.demo.processes import NodeProcesses, isolated_environment
from panda_dynamics_ros.demo.recording import INPUT, Recorder
from panda_dynamics_ros.demo.report import Outcome, live_rows, report, show
from panda_dynamics_ros.errors import PandaDynamicsError
from panda_dynamics_ros.reporting.console import LiveTable

if TYPE_CHECKING:
    from panda_dynamics_ros.reporting.web_view import WebView

SUBSCRIBERS = 3  # of joint_states: both nodes and the monitor
PERIOD = 0.125  # s, between two updates of the table
START_PATIENCE = 240.0  # s: the first start on a machine compiles the kernels

Monitoring = Callable[[Recorder, bool], AbstractContextManager[None]]
"""Fills a recorder from the topics while its context lasts; the flag asks for the contact wrench as well."""


class DemoError(PandaDynamicsError, RuntimeError):
    """A node of the demo did not start, or ended by itself."""


@dataclass(frozen=True)
class Scenario:
    """What the simulated arm carries and when.

    Attributes
    ----------
    mass, com: kg and (3,) m, of the payload, in the flange frame.
    duration: s of robot time.
    seed: of the simulated arm's imperfections.
    """

    mass: float
    com: tuple[float, float, float]
    duration: float
    seed: int = 0

    @property
    def pick_at(self) -> float:
        """s: some motion without payload comes first."""
        return 0.3 * self.duration

    @property
    def release_at(self) -> float:
        """s: the payload is carried most of the time."""
        return 0.75 * self.duration


def run_demo(
    scenario: Scenario,
    output: Path,
    monitoring: Monitoring,
    quiet: bool = False,
    view: WebView | None = None,
) -> Outcome:
    """Run the nodes for the scenario's duration and report.

    Parameters
    ----------
    output: an existing folder for logs, recording, pictures and summary.
    monitoring: what subscribes to the nodes' topics.
    quiet: no table on standard error.
    view: shows the run live, if given.

    Raises
    ------
    DemoError: a node did not start or ended by itself; the message names its log.
    """
    environment = isolated_environment(int(os.environ.get("ROS_DOMAIN_ID", "42")))
    os.environ.update(environment)
    recorder = Recorder()
    with (
        monitoring(recorder, view is not None),
        NodeProcesses(output, environment) as processes,
        LiveTable("panda-dynamics demo", quiet) as table,
    ):
        _start(processes, table, recorder, scenario)
        _watch(processes, table, recorder, scenario, view)
        codes = processes.stop()
    unclean = {name: code for name, code in codes.items() if code != 0}
    if unclean:
        raise DemoError(f"nodes did not end cleanly: {unclean}; see the logs in {output}")
    return report(recorder.recording(), output)


def _start(processes: NodeProcesses, table: LiveTable, recorder: Recorder, scenario: Scenario) -> None:
    """Estimators first, so that they get the robot's first sample; then the robot."""
    processes.start("dynamics")
    processes.start("payload_estimator")
    wanted = {"panda_dynamics: input", INPUT}
    _wait(
        processes,
        lambda waited: table.show([("starting the nodes", f"{waited:.0f} s (the first time, kernels are compiled)")]),
        lambda: wanted <= recorder.recording().diagnostics.keys(),
    )
    parameters: dict[str, object] = {
        "payload_mass_kg": float(scenario.mass),
        "payload_com_m": [float(x) for x in scenario.com],
        "pick_at_s": scenario.pick_at,
        "release_at_s": scenario.release_at,
        "cycle_s": 0.0,
        "wait_for_subscribers": SUBSCRIBERS,
        "seed": scenario.seed,
    }
    processes.start("simulated_panda", parameters)
    _wait(
        processes,
        lambda waited: table.show([("starting the simulated Panda", f"{waited:.0f} s")]),
        lambda: bool(recorder.recording().joint_states),
    )


def _wait(processes: NodeProcesses, show_waiting: Callable[[float], None], ready: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not ready():
        waited = time.monotonic() - began
        _check_alive(processes)
        if waited > START_PATIENCE:
            raise DemoError(f"the nodes did not start within {START_PATIENCE:.0f} s; see their logs")
        show_waiting(waited)
        time.sleep(0.25)


def _watch(
    processes: NodeProcesses, table: LiveTable, recorder: Recorder, scenario: Scenario, view: WebView | None
) -> None:
    while True:
        recording = recorder.recording()
        elapsed = recording.joint_states[-1].stamp - recording.start
        if elapsed >= scenario.duration:
            break
        _check_alive(processes)
        table.show(live_rows(recording, elapsed, scenario.duration))
        if view is not None:
            show(recording, view)
        time.sleep(PERIOD)
    # Diagnostics count the stream's samples once a second: wait for those that cover the end.
    time.sleep(1.5)


def _check_alive(processes: NodeProcesses) -> None:
    for name, code in processes.dead().items():
        raise DemoError(f"node {name} ended by itself with code {code}; see {processes.log(name)}")
