# SPDX-License-Identifier: Apache-2.0
"""A running `ros2 launch`, started by a test: what it prints, and its end; and files that belong to no package."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import waiting
from ros_domain import isolated

from panda_dynamics_ros.estimation.payload_file import load_estimate

ROOT = Path(__file__).resolve().parents[1]
NODES = ("dynamics", "payload_estimator", "suite", "franka_state", "simulated_panda", "bag_player")


class Launched:
    """A running `ros2 launch`, by its log."""

    def __init__(self, log: Path, temporary: Path, process: subprocess.Popen[bytes]) -> None:
        self._log, self._temporary, self.process = log, temporary, process

    @property
    def text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def until(self, pattern: str, died: bool = False) -> None:
        """Wait for output that matches; `died`: although a node may have died before."""

        def printed() -> bool:
            ended = self.process.poll() is not None  # before its last words are read
            if re.search(pattern, text := self.text):
                return True
            assert not ended, f"ended before {pattern!r}:\n{text}"
            assert died or "process has died" not in text, f"a node died before {pattern!r}:\n{text}"
            return False

        waiting.until(printed, lambda: f"{pattern!r}:\n{self.text}", waiting.FIRST_START)

    def until_mass(self, least: float) -> None:
        """Wait until the payload estimator has found, and kept for a start anew, a payload of so many kg."""

        def found() -> list[float]:
            assert self.process.poll() is None, f"ended before a payload of {least} kg:\n{self.text}"
            files = self._temporary.glob("panda_payload_*/payload.yaml")
            masses = (load_estimate(file).vector[0] for file in files)
            return [mass for mass in masses if mass > least]

        waiting.until(found, lambda: f"a payload of {least} kg:\n{self.text}")

    def ended(self) -> int:
        """Wait until it has ended by itself; the exit code."""
        return self.process.wait(waiting.FIRST_START)

    def finished_cleanly(self) -> set[str]:
        return set(re.findall(r"\[(\w+)-\d+\]: process has finished cleanly", self.text))


def installed_package(prefix: Path) -> Path:
    """Executables, launch files, parameters and markers where colcon puts them; the code is where it is."""
    share, libraries = prefix / "share" / "panda_dynamics_ros", prefix / "lib" / "panda_dynamics_ros"
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / "panda_dynamics_ros"
    for folder in (share, libraries, marker.parent):
        folder.mkdir(parents=True)
    marker.touch()
    for name in ("launch", "config", "examples", "package.xml"):
        (share / name).symlink_to(ROOT / name)
    for node in NODES:
        script = libraries / node
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
            "from panda_dynamics_ros.nodes.start import main\nmain()\n"
        )
        script.chmod(0o755)
    return prefix


def module_of(file: Path) -> Any:
    """A file that is in no package, as a module."""
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def installed(prefix: Path, name: str) -> Path:
    return prefix / "share" / "panda_dynamics_ros" / "launch" / f"{name}.launch.py"


@contextmanager
def launched(prefix: Path, file: Path, /, **arguments: object) -> Iterator[Launched]:
    """`ros2 launch <file>`; interrupted at the end if it still runs."""
    run = "import sys; from launch import LaunchService; from launch.actions import IncludeLaunchDescription as I; "
    run += "from launch.launch_description_sources import AnyLaunchDescriptionSource as S; from launch import "
    run += "LaunchDescription as D; service = LaunchService(argv=sys.argv[2:]); service.include_launch_description("
    run += "D([I(S(sys.argv[1]), launch_arguments=[a.split(':=') for a in sys.argv[2:]])])); sys.exit(service.run())"
    path = [str(prefix), *filter(None, [os.environ.get("AMENT_PREFIX_PATH")])]
    environment = os.environ | isolated(prefix / "log")
    environment |= {"AMENT_PREFIX_PATH": os.pathsep.join(path), "TMPDIR": str(prefix / "tmp")}
    (prefix / "tmp").mkdir(exist_ok=True)
    log = prefix / "launch.log"
    command = [sys.executable, "-c", run, str(file), *(f"{key}:={value}" for key, value in arguments.items())]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
    try:
        yield Launched(log, prefix / "tmp", process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(waiting.PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
