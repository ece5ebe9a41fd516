# SPDX-License-Identifier: Apache-2.0
"""Nodes of this package as processes of their own.

They are forked from a process that has imported `nodes.loaded`, as `ros2 run` would start them but for the second of
imports. `test_stopping.py` and the demo start them from nothing.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest.mock import patch

from waiting import PATIENCE

from panda_dynamics_ros.nodes import start

PATH = os.pathsep.join(sys.path)  # other processes find the package under test wherever this one found it
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["nodes.processes", "nodes.loaded"])


class Nodes:
    """Starts nodes in one namespace, keeps their logs, and ends them as Ctrl-C would."""

    def __init__(self, namespace: str, folder: Path) -> None:
        self.namespace, self._folder = f"/{namespace}", folder
        self.environment = {**os.environ, "PYTHONPATH": PATH, "ROS_LOG_DIR": str(folder / "ros")}  # for other programs
        with patch.dict(os.environ, PYTHONPATH=PATH):
            forkserver.ensure_running()
        self._running: dict[str, BaseProcess] = {}
        self._logs: dict[str, Path] = {}

    def start(self, module: str, *arguments: str, **parameters: object) -> BaseProcess:
        """Start the node `module` with ROS arguments and parameters."""
        assert module not in self.running(), f"{module} runs already"
        command = [module, *self.arguments(*arguments, **parameters)]
        self._logs[module] = self._folder / f"{len([*self._folder.glob('*.log')])}_{module}.log"
        process = FORKING.Process(target=_run, args=(command, self._logs[module]), daemon=True)
        process.start()
        self._running[module] = process
        return process

    def arguments(self, *arguments: str, **parameters: object) -> list[str]:
        """What a program is started with, to be a node in this namespace."""
        words = ["--ros-args", "-r", f"__ns:={self.namespace}", *arguments]
        return words + [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]

    def running(self) -> list[str]:
        """Nodes that were started and have not ended."""
        return [name for name, process in self._running.items() if process.exitcode is None]

    def log(self, module: str) -> str:
        """What a node has printed since its last start."""
        log = self._logs[module]
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def logs(self) -> str:
        """What all nodes have printed."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"---- {log.name}\n{log.read_text(encoding='utf-8', errors='replace')}" for log in logs)

    def wait(self, module: str) -> int:
        """The exit code of a node that ends by itself or was told to; `stop` reports it no more."""
        process = self._running.pop(module)
        process.join(PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()
        assert process.exitcode is not None
        return process.exitcode

    def kill(self, module: str) -> None:
        """End a node by SIGKILL; `stop` reports it no more."""
        self._running[module].kill()
        self.wait(module)

    def stop(self) -> dict[str, int]:
        """Interrupt what still runs; the exit codes of all nodes (-9: did not end when asked)."""
        for name in self.running():
            pid = self._running[name].pid
            assert pid is not None
            os.kill(pid, signal.SIGINT)
        return {name: self.wait(name) for name in list(self._running)}


def _run(command: list[str], log: Path) -> None:
    """In the process of the node; a session of its own, since a Ctrl-C meant for the tests reaches the tests alone."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: where the tests are killed, so is the node
    os.chdir(log.parent)
    os.environ["ROS_LOG_DIR"] = str(log.parent / "ros")
    with log.open("ab") as output:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
    sys.argv = command
    sys.modules.pop(f"panda_dynamics_ros.nodes.{command[0]}")  # it is run as a program
    start.main()
