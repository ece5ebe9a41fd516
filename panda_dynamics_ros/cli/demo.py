# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics demo`: a simulated Panda picks a payload up, and real ROS 2 nodes find it."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli.options import COM, JSON, VIEW, add, number, opened_view, output, show_until_interrupted
from panda_dynamics_ros.cli.processes import NodeProcesses, isolated_environment
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError, PandaDynamicsError
from panda_dynamics_ros.estimation import PayloadEstimate, SmoothedHistory
from panda_dynamics_ros.model import load_robot
from panda_dynamics_ros.recordings.bag_writing import write_joint_states
from panda_dynamics_ros.recordings.bags import JointStateSample
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.recordings.replay import replay
from panda_dynamics_ros.reporting.console import (
    LiveTable,
    com_text,
    joint_values,
    mass_text,
    payload_rows,
    print_results,
)
from panda_dynamics_ros.reporting.summary import (
    body_entry,
    check_replaceable,
    event_entries,
    payload_entry,
    summary_of,
    write_summary,
)
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.joint_mapping import JointMapping
from panda_dynamics_ros.robot.stamps import BILLION

if TYPE_CHECKING:
    from panda_dynamics_ros.reporting.web_view import WebView

DESCRIPTION = """\
Starts a simulated Panda, the dynamics node and the payload estimator as ROS 2
processes, watches their topics, and writes plots, the recording and
summary.json.
"""
EXAMPLES = "example: panda-dynamics demo --payload-mass 0.5 --payload-com 0.03 0 0.08 --output demo_output"
INPUT, ESTIMATE, CONTACT = "payload_estimator: input", "payload_estimator: estimate", "panda_dynamics: contact"
"""Names in /diagnostics."""
ROBOT = "panda"
SUBSCRIBERS = 3  # of joint_states: both nodes and the monitor
PERIOD = 0.125  # s, between two updates of the table
START_PATIENCE = 240.0  # s: the first start on a machine compiles the kernels


class DemoError(PandaDynamicsError, RuntimeError):
    """A node of the demo did not start, or ended by itself."""


class Topics:
    """What the nodes have published so far. One thread fills it; others read it, since nothing in it is changed.

    joint_states: all samples; truth: (stamp, body) at the start and at each pick and release, of zero mass for none;
    changes: (stamp, kind) of the detected ones; contacts: link by stamp of their begin; wrench: (6,), the latest.
    """

    def __init__(self) -> None:
        self.joint_states: list[JointStateSample] = []
        self.truth: list[tuple[float, InertialParameters]] = []
        self.changes: dict[tuple[float, str], None] = {}
        self.contacts: dict[float, str] = {}
        self.wrench: FloatArray | None = None
        self.estimates: list[PayloadEstimate] = []
        self._diagnostics: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._halves: dict[int, InertialParameters | FloatArray] = {}  # by stamp, ns: what waits for its other half

    @property
    def elapsed(self) -> float:
        """s from the first sample to the last."""
        return self.joint_states[-1].stamp - self.joint_states[0].stamp

    def status(self, name: str) -> tuple[str, Mapping[str, str]]:
        """Summary and values of the latest status of this name in /diagnostics; empty before the first."""
        return self._diagnostics.get(name, ("", {}))

    def add_payload(self, stamp_ns: int, half: InertialParameters | FloatArray) -> None:
        """The estimated body, or its covariance (10, 10): an estimate once both are there, in whatever order."""
        other = self._halves.pop(stamp_ns, None)
        if other is None or isinstance(other, InertialParameters) == isinstance(half, InertialParameters):
            self._halves[stamp_ns] = half
            return
        body, covariance = (half, other) if isinstance(half, InertialParameters) else (other, half)
        assert isinstance(body, InertialParameters)
        assert not isinstance(covariance, InertialParameters)
        status, values = self.status(ESTIMATE)
        flags = np.array([flag == "1" for flag in values.get("identifiable", "0" * 10)])
        self.estimates.append(PayloadEstimate(stamp_ns / BILLION, body.vector, covariance, flags, status))

    def set_status(self, name: str, summary: str, values: Mapping[str, str]) -> None:
        """A status of /diagnostics."""
        self._diagnostics[name] = summary, values
        if values.get("last_change"):
            self.changes[float(values["last_change_stamp"]), values["last_change"]] = None
        if values.get("since"):
            self.contacts = {**self.contacts, float(values["since"]): values["link"]}
            if values.get("ended_by") == "payload":  # a pick, at first taken for a contact
                self.contacts = {
                    start: link for start, link in self.contacts.items() if start != float(values["since"])
                }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    mass = number("--payload-mass", 1.0, "KG", "of the payload")
    duration = number("--duration", 22.0, "S", "seconds of robot time")
    seed = number("--seed", 0, "N", "of the simulated arm's imperfections")
    add(parser, mass, COM, duration, seed, output("demo_output"), *VIEW, JSON)


def run(args: argparse.Namespace) -> int:
    """Run the demo, report, write the files."""
    if not 0.0 < args.payload_mass <= 10.0:
        raise ArgumentError(f"--payload-mass: expected kg in (0, 10], got {args.payload_mass:g}")
    checks.number(args.duration, "--duration", minimum=10.0)  # settle, pick, find, put down
    # The processes of this run talk to each other only; read when ROS is imported, so set before that.
    environment = isolated_environment(1 + os.getpid() % 100)
    os.environ.update(environment)
    try:
        import mujoco  # noqa: F401

        from panda_dynamics_ros.nodes.demo_monitor import monitoring
    except ImportError as error:
        raise MissingDependencyError(
            f"demo needs ROS 2 and MuJoCo ({error}); `make demo` installs both, `replay` works without"
        ) from error
    check_replaceable(args.output, "recording")
    args.output.mkdir(parents=True, exist_ok=True)
    title = f"panda-dynamics demo: {args.payload_mass:g} kg"
    with opened_view(args, load_robot(ROBOT), title) as view:
        topics = Topics()
        with (
            monitoring(topics, view is not None),
            NodeProcesses(args.output, environment) as processes,
            LiveTable("panda-dynamics demo", args.json) as table,
        ):
            _start(processes, table, topics, args)
            _follow(processes, table, topics, args.duration, view)
            codes = processes.stop()
        unclean = {name: code for name, code in codes.items() if code != 0}
        if unclean:
            raise DemoError(f"nodes did not end cleanly: {unclean}; see the logs in {args.output}")
        _report(topics, args)
        if view is not None:
            show_until_interrupted(view)
    return 0


def _start(processes: NodeProcesses, table: LiveTable, topics: Topics, args: argparse.Namespace) -> None:
    """Estimators first, so that they get the robot's first sample; then the robot."""
    processes.start("dynamics")
    processes.start("payload_estimator")
    words = "starting the nodes (the first time, kernels are compiled)"
    _wait(processes, table, words, lambda: bool(topics.status("panda_dynamics: input")[0] and topics.status(INPUT)[0]))
    parameters = {"payload_mass_kg": float(args.payload_mass), "payload_com_m": [float(x) for x in args.payload_com]}
    times = {"pick_at_s": 0.3 * args.duration, "release_at_s": 0.75 * args.duration, "cycle_s": 0.0}
    processes.start("simulated_panda", {**parameters, **times, "wait_for_subscribers": SUBSCRIBERS, "seed": args.seed})
    _wait(processes, table, "starting the simulated Panda", lambda: bool(topics.joint_states))


def _wait(processes: NodeProcesses, table: LiveTable, words: str, ready: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not ready():
        waited = time.monotonic() - began
        _check_alive(processes)
        if waited > START_PATIENCE:
            raise DemoError(f"the nodes did not start within {START_PATIENCE:.0f} s; see their logs")
        table.show([(words, f"{waited:.0f} s")])
        time.sleep(0.25)


def _check_alive(processes: NodeProcesses) -> None:
    for name, code in processes.dead().items():
        raise DemoError(f"node {name} ended by itself with code {code}; see {processes.log(name)}")


def _follow(processes: NodeProcesses, table: LiveTable, topics: Topics, duration: float, view: WebView | None) -> None:
    """Show what is published until the time is over."""
    while topics.elapsed < duration:
        _check_alive(processes)
        start = topics.joint_states[0].stamp
        carried = topics.truth[-1][1].mass if topics.truth else 0.0
        rows = [("robot time", f"{topics.elapsed:5.1f} of {duration:.0f} s"), ("truly carried", f"{carried:6.3f} kg")]
        rows += payload_rows(topics.estimates[-1]) if topics.estimates else []
        changes = "; ".join(f"{kind} at {stamp - start:.2f} s" for stamp, kind in list(topics.changes))
        table.show([*rows, ("stream", topics.status(INPUT)[0]), ("detected changes", changes or "none yet")])
        if view is not None:
            show(topics, view)
        time.sleep(PERIOD)
    # Diagnostics count the stream's samples once a second: wait for those that cover the end.
    time.sleep(1.5)


def show(topics: Topics, view: WebView) -> None:
    """Show the latest of what was published, once there is an estimate."""
    if not topics.estimates:
        return
    began, last = topics.joint_states[0].stamp, topics.joint_states[-1]
    q, _, _ = JointMapping(view.robot.joint_names).extract(last.names, last.position, last.velocity, last.effort)
    truth, contact = list(topics.truth), topics.status(CONTACT)[1]
    events = [(stamp - began, "picked up" if body.mass > 0.0 else "put down") for stamp, body in truth[1:]]
    events += [(stamp - began, f"detected {kind}") for stamp, kind in list(topics.changes)]
    events += [(stamp - began, f"contact on link {link}") for stamp, link in topics.contacts.items()]
    remark, wrench = topics.status(INPUT)[0], None
    if contact.get("link") and not contact.get("until"):
        remark, wrench = f"{remark}, touched at link {contact['link']}", topics.wrench
    view.show(last.stamp - began, q, topics.estimates[-1], sorted(events), truth[-1][1].mass, wrench, remark)


def _report(topics: Topics, args: argparse.Namespace) -> None:
    """Print and write what the nodes found, and what a replay of the recording says of its torques."""
    from panda_dynamics_ros.reporting.plots import plot_payload, write_replay_files

    bag, robot, estimates = (
        args.output / "recording",
        load_robot(ROBOT),
        sorted(topics.estimates, key=lambda e: e.stamp),
    )
    write_joint_states(bag, topics.joint_states, storage="mcap", overwrite=True)
    data = load_dataset(bag, robot)
    offline, stream, start = replay(data, robot), topics.status(INPUT)[1], topics.joint_states[0].stamp
    truth = max((body for _, body in topics.truth), key=lambda body: body.mass)
    released = [stamp for stamp, body in topics.truth[1:] if body.mass == 0.0]
    last = [each for each in estimates if not released or each.stamp < released[0]][-1]
    stamps, mass = np.array([each.stamp for each in estimates]), np.array([each.mass for each in estimates])
    com = np.array([each.com for each in estimates])
    events = [(stamp, "picked" if body.mass > 0.0 else "released") for stamp, body in topics.truth[1:]]
    events += [(stamp, f"detected_{kind}") for stamp, kind in topics.changes]
    summary = summary_of(data, offline) | {
        "samples": int(stream["received"]),
        "dropped": sum(int(stream[key]) for key in ("lost", "rejected", "out_of_order")),
        "duration_s": topics.elapsed,
        "rate_hz": float(stream["rate_hz"]),
        "payload": payload_entry(last),
        "truth": body_entry(truth),
        "events": event_entries(events, stamps, mass, com, start),
    }
    com_std, known = (np.array([getattr(each, name) for each in estimates]) for name in ("com_std", "com_is_known"))
    curves = SmoothedHistory(mass, np.array([each.std[0] for each in estimates]), com, com_std, known)
    true_mass, true_com = np.zeros(len(stamps)), np.full((len(stamps), 3), np.nan)
    for stamp, body in topics.truth:
        true_mass[stamps >= stamp] = body.mass
        true_com[stamps >= stamp] = body.com if body.mass > 0.0 else np.nan
    files = [write_summary(summary, args.output), bag, *write_replay_files(data, robot, offline, args.output)]
    title, marks = "A simulated Panda's payload, found over ROS 2 topics", [(s - start, k) for s, k in topics.changes]
    picture = args.output / "payload.png"  # in place of the replay's
    plot_payload(stamps - start, {"estimate": curves}, picture, title, marks, (true_mass, true_com), offline.problem)
    counts = f"{summary['samples']} samples at {summary['rate_hz']:.0f} Hz and {summary['dropped']} lost"
    rows = [
        ("stream", f"{counts} by the estimator's last report (one a second); {len(data.stamp)} recorded"),
        ("mass", f"{mass_text(last)} (truth {truth.mass:.3f})"),
        ("centre of mass", f"{com_text(last)} (truth {joint_values(1e3 * truth.com, 1)})"),
    ]
    later = ((event["stamp"], event["kind"], event["mass_after_2s"]) for event in summary["events"])
    rows += [(f"{stamp:7.3f} s", f"{kind}; 2 s later {mass_later:.3f} kg") for stamp, kind, mass_later in later]
    print_results(args.json, summary, [("What the nodes found", rows)], files)
