# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics live`: a Franka by its IP address, read-only, through libfranka's Python bindings."""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import ArmMonitor
from panda_dynamics_ros.live import AUTO, BINDINGS, MODES, FrankaConnection, FrankaStream, with_own_end_effector
from panda_dynamics_ros.reporting.console import Rows, joint_values, live_table, payload_rows, print_table
from panda_dynamics_ros.reporting.summary import body_entry, payload_entry
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.libfranka_state import ARM_JOINTS, FrankaState
from panda_dynamics_ros.robot.stamps import StreamMonitor
from panda_dynamics_ros.warm_up import warm_up

EXAMPLES = "panda-dynamics live 172.16.0.2 --record run.csv --seconds 60"
BINDING = "Python binding of libfranka (default: those installed, in turn)"
OPTIONS = [
    options.option("ip", "the robot's address or host name", metavar="IP"),
    options.option("--robot", options.ROBOTS.replace("default: panda", "default: the connected one")),
    options.ROBOT[1],
    options.option("--binding", BINDING, choices=(AUTO, *BINDINGS), default=AUTO),
    options.option("--seconds", "end after this time (default: with Ctrl-C)", type=float, metavar="S"),
    options.option("--record", "record to a CSV file, which replay reads", metavar="FILE"),
    options.flag("--ros", "publish the states as node franka_state does (needs ROS 2)"),
    *options.VIEW,
]
PERIOD = 0.25  # s, between two tables
COLUMNS = ("t", *(f"{field}{k + 1}" for field in ("q", "dq", "tau", "tau_ext") for k in range(ARM_JOINTS)))


def run(args: argparse.Namespace) -> None:
    if args.seconds is not None:
        checks.number(args.seconds, "--seconds", minimum=0.1, maximum=1e7)

    def say(words: str) -> None:
        if not args.json:
            print(words, file=sys.stderr, flush=True)

    with contextlib.ExitStack() as stack:
        record = stack.enter_context(recording(args.record)) if args.record is not None else None
        warm_up("suite", report=say)
        connection = FrankaConnection(args.ip, args.binding)
        state = connection.read()
        args.robot = args.robot or connection.robot  # as the robot describes itself, where the user does not
        robot: RobotDescription = options.load_arm(args)
        robot = with_own_end_effector(robot, state) if args.end_effector is None else robot
        live = Live(robot, connection, state, say)
        view = stack.enter_context(options.opened_view(args, robot, f"panda-dynamics live: {args.ip}"))
        publish = None
        if args.ros:
            from panda_dynamics_ros.nodes.franka_state import published

            publish = stack.enter_context(published(live.stream, robot.joint_names))
        show, shown = stack.enter_context(live_table(live.title, quiet=args.json)), 0.0
        with contextlib.suppress(KeyboardInterrupt):
            while args.seconds is None or live.elapsed < args.seconds:
                taken = live.take()
                if record is not None and taken is not None:
                    record(taken)
                if publish is not None:
                    publish(taken)
                if live.elapsed > shown + PERIOD:
                    shown = live.elapsed
                    show(live.rows())
                    if view is not None:
                        q, mode, output = live.state.sample.q, live.state.mode, live.output
                        view.show(shown, q, output.estimate, wrench=output.wrench.wrench, remark=mode)
    if args.json:
        print(json.dumps(live.summary()), flush=True)
    else:
        print_table(live.title, live.rows())


@contextlib.contextmanager
def recording(path: str | Path) -> Iterator[Callable[[FrankaState], None]]:
    """Within, what this gives writes states into a new CSV file, with Franka's own tau_ext.

    ArgumentError: the name of the file does not end in .csv, or the file exists. OSError: it cannot be written.
    """
    path = checks.path(path, "--record")
    if path.suffix.lower() != ".csv" or path.exists():
        raise ArgumentError(f"--record: expected the name of a new file that ends in .csv, got {str(path)!r}")
    with path.open("x") as file:
        empty = file.write(",".join(COLUMNS) + "\n")

        def write(state: FrankaState) -> None:
            stamp, *rows = state.sample
            file.write(",".join(map(repr, np.concatenate(([stamp], *rows, state.external_torques)).tolist())) + "\n")

        try:
            yield write
        finally:
            if file.tell() == empty:  # no state came: the same command may be given again
                path.unlink()


class Live:
    """What was seen so far of a robot with this model: the last state, and what the monitor makes of it."""

    def __init__(
        self, robot: RobotDescription, connection: FrankaConnection, state: FrankaState, say: Callable[[str], object]
    ) -> None:
        self.stream, self.monitor, self.stamps = FrankaStream(connection, say), ArmMonitor(robot), StreamMonitor()
        self._about = {"host": connection.host, "binding": connection.binding, "robot": robot.name}
        self.title = "{host} by {binding}, with the parameters of {robot}".format(**self._about)
        self._origin = time.monotonic()
        self.state, self.output = state, self.monitor.update_state(state.raw)  # not counted: nodes start after it

    @property
    def elapsed(self) -> float:
        """s since the start."""
        return time.monotonic() - self._origin

    def take(self) -> FrankaState | None:
        """The next state, counted and handed to the monitor; None while the robot is away."""
        if (state := self.stream.next()) is not None:
            self.stamps.accept(state.sample.stamp)
            self.state, self.output = state, self.monitor.update_state(state.raw)
        return state

    @property
    def pose_error(self) -> float:
        """m, between the model's pose and the robot's own."""
        return float(np.linalg.norm(self.output.T_base_ee[:3, 3] - self.state.T_base_ee[:3, 3]))

    def rows(self) -> Rows:
        """The table for a person."""
        state, output = self.state, self.output
        load, errors = state.load, f" ({', '.join(state.errors)})" if state.errors else ""
        mode = state.mode + errors + (f": {MODES[state.mode]}" if state.mode in MODES else "")
        com = f" at {joint_values(1e3 * load.com, 1)} mm" if load.mass else ""
        position = joint_values(1e3 * output.T_base_ee[:3, 3], 1)
        return [
            *payload_rows(output.estimate),
            ("load that Franka has", f"{load.mass:.3f} kg{com}"),
            ("robot", self.stream.problem or mode),
            ("states", f"{self.stamps.received}, {self.stamps.rate:.0f} Hz, {self.stamps.lost} missed"),
            ("pose", f"{position} mm, {1e3 * self.pose_error:.3f} mm from O_T_EE"),
            ("external torques", f"{joint_values(output.external_torques, 2)} N m"),
        ]

    def summary(self) -> dict[str, Any]:
        """The same for a program."""
        state, output = self.state, self.output
        return {
            **self._about,
            "samples": self.stamps.received,
            "missed": self.stamps.lost,
            "rate_hz": self.stamps.rate,
            "duration_s": self.elapsed,
            "reconnections": self.stream.reconnections,
            "problem": self.stream.problem,
            "mode": state.mode,
            "errors": list(state.errors),
            "pose_error_m": self.pose_error,
            "O_T_EE": state.T_base_ee.T.ravel().tolist(),
            "end_effector": body_entry(state.end_effector),
            "franka_load": body_entry(state.load),
            "payload": payload_entry(output.estimate),
        }
