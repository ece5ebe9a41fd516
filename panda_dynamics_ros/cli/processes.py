# SPDX-License-Identifier: Apache-2.0
"""Nodes as child processes of a command, for machines without ros2 launch."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from panda_dynamics_ros.untrusted import python_command

PATIENCE = 10.0  # s, in which a node that is interrupted ends


def isolated_environment(domain: int) -> dict[str, str]:
    """The environment for nodes that are to talk to each other only; what the user has set stays.

    Loopback discovery in a domain of their own keeps a demo off a real robot's topics.
    """
    own = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return own | dict(os.environ)


class NodeProcesses:
    """Starts nodes of this package and stops them as Ctrl-C would; their output is in `<log_folder>/<node>.log`."""

    def __init__(self, log_folder: Path, environment: dict[str, str]) -> None:
        self._log_folder, self._environment = log_folder, environment
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> NodeProcesses:
        return self

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
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        codes = {name: _ended(process) for name, process in self._running.items()}
        self._running.clear()
        return codes


def _ended(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
