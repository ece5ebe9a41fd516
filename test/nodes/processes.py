# SPDX-License-Identifier: Apache-2.0
"""Nodes of this package as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from waiting import PATIENCE

import panda_dynamics_ros


class Nodes:
    """Starts nodes in one namespace, keeps their logs, and ends them as Ctrl-C would."""

    def __init__(
        self, namespace: str, folder: Path, prefix: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        """`prefix` is what runs the command (on another host), `environment` is added to this process's own."""
        self.namespace, self._folder, self._prefix = f"/{namespace}", folder, prefix
        folder.mkdir(exist_ok=True)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        # The package under test, wherever this test found it.
        source = str(Path(panda_dynamics_ros.__file__).parents[1])
        path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.environment = {**os.environ, "PYTHONPATH": path, "ROS_LOG_DIR": str(folder / "ros"), **(environment or {})}

    def start(self, module: str, *arguments: str, **parameters: object) -> subprocess.Popen[bytes]:
        """Start `panda_dynamics_ros.nodes.<module>` with ROS arguments and parameters."""
        assert module not in self._running or self._running[module].poll() is not None, f"{module} runs already"
        command = [*self._prefix, sys.executable, "-m", f"panda_dynamics_ros.nodes.{module}"]
        command += ["--ros-args", "-r", f"__ns:={self.namespace}", *arguments]
        for name, value in parameters.items():
            command += ["-p", f"{name}:={value}"]
        with self._log(module).open("ab") as log:
            # A session of its own: a Ctrl-C meant for the tests reaches the tests alone.
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=self.environment, cwd=self._folder, start_new_session=True
            )
        self._running[module] = process
        return process

    def running(self) -> list[str]:
        """Nodes that were started and have not ended."""
        return [name for name, process in self._running.items() if process.poll() is None]

    def log(self, module: str) -> str:
        """What a node has printed so far, over all its starts."""
        if not self._log(module).exists():
            return ""
        return self._log(module).read_text(encoding="utf-8", errors="replace")

    def logs(self) -> str:
        """What all nodes have printed."""
        return "\n".join(f"---- {path.name}\n{self.log(path.stem)}" for path in sorted(self._folder.glob("*.log")))

    def wait(self, module: str) -> int:
        """The exit code of a node that ends by itself or was told to; `stop` reports it no more."""
        return self._running.pop(module).wait(PATIENCE)

    def kill(self, module: str) -> None:
        """End a node by SIGKILL; `stop` reports it no more."""
        process = self._running.pop(module)
        process.kill()
        process.wait(PATIENCE)

    def stop(self) -> dict[str, int]:
        """Interrupt what still runs; the exit codes of all nodes (-9: did not end when asked)."""
        for name in self.running():
            self._running[name].send_signal(signal.SIGINT)
        codes = {name: _ended(process) for name, process in self._running.items()}
        self._running.clear()
        return codes

    def _log(self, module: str) -> Path:
        return self._folder / f"{module}.log"


def _ended(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
