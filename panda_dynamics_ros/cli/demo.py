# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics demo`: a simulated Panda picks a payload up, and real ROS 2 nodes find it."""

import argparse
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.dynamics.model import load_robot
from panda_dynamics_ros.errors import MissingDependencyError, PandaDynamicsError
from panda_dynamics_ros.recordings import load_dataset, write_joint_states
from panda_dynamics_ros.reporting import console
from panda_dynamics_ros.reporting import summary as summaries
from panda_dynamics_ros.reporting.replay import PayloadCurves, replay
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.simulation.plant import TIMESTEP, payload_cube
from panda_dynamics_ros.untrusted import import_elsewhere, python_command

EXAMPLES = "panda-dynamics demo --payload-mass 0.5 --payload-com 0.03 0 0.08 --output demo_output"
OPTIONS = [
    options.number("--payload-mass", 1.0, "KG", "mass of the payload"),
    options.COM,
    options.number("--duration", 22.0, "S", "duration in robot time"),
    options.number("--seed", 0, "N", "seed of the simulated arm's imperfections"),
    options.output("demo_output"),
]
INPUT = "payload_estimator: input"
PERIOD = 0.125  # s, between two updates of the table
PICK, RELEASE = 0.3, 0.75  # shares of the duration, at which the payload is picked up and put down
START_PATIENCE = 240.0  # s: the first start on a machine compiles the kernels
END_PATIENCE = 10.0  # s, in which a node that is interrupted ends


class DemoError(PandaDynamicsError, RuntimeError):
    """A node of the demo did not start, or ended by itself."""


def run(args: argparse.Namespace) -> None:
    truth = payload_cube(args.payload_mass, args.payload_com)
    checks.number(args.duration, "--duration", minimum=10.0)  # settle, pick, find, put down
    # The processes of this run talk to each other only; read when ROS is imported, so set before that.
    environment = isolated_environment(1 + os.getpid() % 100)
    os.environ.update(environment)
    try:
        import_elsewhere("mujoco")

        from panda_dynamics_ros.nodes.demo_monitor import DemoMonitor
        from panda_dynamics_ros.nodes.runner import ros
    except ImportError as error:
        words = "`make demo` installs both, `replay` works without"
        raise MissingDependencyError(f"demo needs ROS 2 and MuJoCo ({error}); {words}") from error
    options.check_replaceable(args.output, "recording")
    args.output.mkdir(parents=True, exist_ok=True)
    with (
        ros([]),
        NodeProcesses(args.output, environment) as processes,
        console.live_table("panda-dynamics demo", args.json) as show,
    ):
        seen = DemoMonitor()
        processes.start("dynamics")
        processes.start("payload_estimator")
        carried = {"payload_mass_kg": args.payload_mass, "payload_com_m": list(args.payload_com)}
        times = {"pick_at_s": PICK * args.duration, "release_at_s": RELEASE * args.duration, "cycle_s": 0.0}
        # Both nodes, once they are ready, and the monitor get the robot's first sample.
        processes.start("simulated_panda", **carried, **times, seed=args.seed, wait_for_subscribers=3)
        began, reported = time.monotonic(), 0.0
        while reported < args.duration:
            seen.receive(PERIOD)
            for name, code in processes.dead().items():
                raise DemoError(f"node {name} ended by itself with code {code}; see {processes.log(name)}")
            if seen.joint_states and INPUT in seen.diagnostics:
                _, stream = seen.diagnostics[INPUT]
                reported = (int(stream["received"]) + int(stream["lost"])) * TIMESTEP
                show(_rows(seen, args))
            elif (waited := time.monotonic() - began) > START_PATIENCE:
                raise DemoError(f"the nodes did not start within {START_PATIENCE:.0f} s; see their logs")
            else:
                show([("starting the nodes (the first time, kernels are compiled)", f"{waited:.0f} s")])
        codes = processes.stop()
    if unclean := {name: code for name, code in codes.items() if code != 0}:
        raise DemoError(f"nodes did not end cleanly: {unclean}; see the logs in {args.output}")
    _report(seen, args, truth)


def _rows(seen: Any, args: argparse.Namespace) -> console.Rows:
    start = seen.joint_states[0].stamp
    elapsed = seen.joint_states[-1].stamp - start
    carried = args.payload_mass if PICK <= elapsed / args.duration < RELEASE else 0.0
    changes = "; ".join(f"{kind} at {stamp - start:.2f} s" for stamp, kind in seen.changes)
    return [
        ("robot time", f"{elapsed:5.1f} of {args.duration:.0f} s"),
        ("truly carried", f"{carried:6.3f} kg"),
        *(console.payload_rows(seen.estimates[-1]) if seen.estimates else []),
        ("stream", seen.diagnostics[INPUT][0]),
        ("detected changes", changes or "none yet"),
    ]


def _report(seen: Any, args: argparse.Namespace, truth: InertialParameters) -> None:
    """Print and write what the nodes found, and what a replay of the recording says of its torques."""
    from panda_dynamics_ros.reporting.plots import plot_replay

    bag, robot = args.output / "recording", load_robot("panda")
    write_joint_states(bag, seen.joint_states, overwrite=True)
    data = load_dataset(bag, robot)
    offline, stream, start = replay(data, robot), seen.diagnostics[INPUT][1], float(data.stamp[0])
    picked, released = (start + share * args.duration for share in (PICK, RELEASE))
    estimates = sorted(seen.estimates, key=lambda each: each.stamp)
    last = [each for each in estimates if each.stamp < released][-1]
    stamps, mass, com = (np.array([getattr(each, name) for each in estimates]) for name in ("stamp", "mass", "com"))
    events = [(picked, "picked"), (released, "released"), *((at, f"detected_{kind}") for at, kind in seen.changes)]
    summary = summaries.summary_of(data, offline) | {
        "samples": int(stream["received"]),
        "dropped": sum(int(stream[key]) for key in ("lost", "rejected", "out_of_order")),
        "rate_hz": float(stream["rate_hz"]),
        "payload": summaries.payload_entry(last),
        "truth": summaries.body_entry(truth),
        "events": summaries.event_entries(events, stamps, mass, com, start),
    }
    is_carried = (data.stamp >= picked) & (data.stamp < released)
    bodies, exact = np.outer(is_carried, [truth.mass, *truth.com]), np.zeros((len(data.stamp), 3))
    carried = PayloadCurves(bodies[:, 0], exact[:, 0], bodies[:, 1:], exact, is_carried)
    files = [summaries.write_summary(summary, args.output), bag]
    files += plot_replay(data, robot, offline, args.output, truth=carried)
    counts = f"{summary['samples']} samples at {summary['rate_hz']:.0f} Hz and {summary['dropped']} lost"
    rows = [
        ("stream", f"{counts} by the estimator's last report (one a second); {len(data.stamp)} recorded"),
        *console.payload_rows(last),
        ("truth", f"{truth.mass:.3f} kg, centre of mass {console.joint_values(1e3 * truth.com, 1)} mm"),
        ("events", "; ".join(f"{event['kind']} at {event['stamp']:.2f} s" for event in summary["events"])),
    ]
    console.print_results(args.json, summary, [("What the nodes found", rows)], files)


def isolated_environment(domain: int) -> dict[str, str]:
    """The environment for nodes that are to talk to each other only; what the user has set stays.

    Loopback discovery in a domain of their own keeps a demo off a real robot's topics.
    """
    return {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"} | dict(os.environ)


class NodeProcesses(contextlib.AbstractContextManager["NodeProcesses"]):
    """Starts nodes of this package and stops them as Ctrl-C would; their output is in `<log_folder>/<node>.log`."""

    def __init__(self, log_folder: Path, environment: dict[str, str]) -> None:
        self._log_folder, self._environment = log_folder, environment
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, module: str, **parameters: object) -> int:
        """Start `panda_dynamics_ros.nodes.<module>` with these ROS parameters; returns its process id."""
        arguments = python_command("panda_dynamics_ros.nodes.start", module, "--ros-args")
        for name, value in parameters.items():
            arguments += ["-p", f"{name}:={value}"]
        with self.log(module).open("wb") as log:
            # A process group of its own: the terminal's Ctrl-C reaches this command only, which then stops the nodes.
            # Not a session of its own, which Linux would schedule apart from the rest: see docs/controller.md.
            self._running[module] = subprocess.Popen(
                arguments, stdout=log, stderr=subprocess.STDOUT, env=self._environment, preexec_fn=os.setpgrp
            )
        return self._running[module].pid

    def log(self, module: str) -> Path:
        """Where a node's output goes."""
        return self._log_folder / f"{module}.log"

    def dead(self) -> dict[str, int]:
        """Nodes that have ended by themselves, with their exit codes."""
        return {name: code for name, process in self._running.items() if (code := process.poll()) is not None}

    def stop(self) -> dict[str, int]:
        """Interrupt all nodes and wait; returns their exit codes (killed ones: -9)."""
        for process in self._running.values():
            process.send_signal(signal.SIGINT)  # nothing, here and below, to one that has ended
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_PATIENCE)
            process.kill()
        codes = {name: process.wait() for name, process in self._running.items()}
        self._running.clear()
        return codes
