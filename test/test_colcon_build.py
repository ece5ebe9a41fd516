# SPDX-License-Identifier: Apache-2.0
"""The package as users build it: by colcon in a workspace, installed, and run from there."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bag_files import samples
from launched import NODES
from ros_domain import isolated
from waiting import FIRST_START, ran

from panda_dynamics_ros.recordings import write_joint_states

ROOT = Path(__file__).resolve().parents[1]
NAME = "panda_dynamics_ros"
EXECUTABLES = {*NODES, "panda-dynamics"}

pytest.importorskip("colcon_ros", reason="colcon is not installed (extra colcon)")

# Waits for a joint state.
LISTENER = """
import time, rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("listener")
heard = []
node.create_subscription(JointState, "joint_states", heard.append, 10)
end = time.monotonic() + 120
while not heard and time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.1)
print("heard", len(heard[0].effort), "torques", flush=True)
rclpy.shutdown()
"""


class Workspace:
    """A colcon workspace with this package alone, built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prefix = folder / "install" / NAME
        self.libraries = self.prefix / "lib" / NAME
        (folder / "src").mkdir()
        (folder / "src" / NAME).symlink_to(ROOT)
        self.log = self.colcon("build", "--executor", "sequential")

    def colcon(self, *arguments: str) -> str:
        """What a colcon command prints; it must succeed."""
        command = [sys.executable, "-c", "import sys; from colcon_core.command import main; sys.exit(main())"]
        environment = {**os.environ, "COLCON_HOME": str(self.folder / "home")}
        return ran([*command, *arguments], cwd=self.folder, env=environment, timeout=FIRST_START).stdout

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """A command in a shell that has sourced the workspace; it prints to `output`."""
        line = f". {shlex.quote(str(self.folder))}/install/local_setup.sh && exec {shlex.join(command)}"
        command, environment = ("/bin/sh", "-c", line), os.environ | isolated(self.folder / "log")
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=output, stderr=output)

    def run(self, *command: str) -> str:
        """What a command prints that ends by itself; it must succeed."""
        before = len(self.output)
        process = self.start(*command)
        try:
            assert process.wait(FIRST_START) == 0, self.output
        finally:
            process.kill()
        return self.output[before:]

    @property
    def output(self) -> str:
        """What all commands have printed."""
        file = self.folder / "output"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("workspace"))


def test_everything_lies_where_ros_looks_for_it(workspace):
    """Built as plain Python, the package would not become known to ROS."""
    assert workspace.colcon("list").split() == [NAME, f"src/{NAME}", "(ros.ament_python)"]
    share = workspace.prefix / "share" / NAME
    for name in ("launch", "config"):
        files = {file.name for file in (ROOT / name).iterdir() if file.is_file()}
        assert {file.name for file in (share / name).iterdir()} == files
    assert (share / "package.xml").read_bytes() == (ROOT / "package.xml").read_bytes()
    assert (workspace.prefix / "share/ament_index/resource_index/packages" / NAME).is_file()
    assert {file.name for file in workspace.libraries.iterdir()} == EXECUTABLES
    assert all(os.access(file, os.X_OK) for file in workspace.libraries.iterdir())


def test_the_installed_command_is_on_the_path(workspace):
    """As README.md says after `source install/setup.bash`."""
    found = workspace.run("sh", "-c", "command -v panda-dynamics; panda-dynamics inertia fr3 --json").splitlines()
    assert found[0] == str(workspace.prefix / "bin" / "panda-dynamics")
    assert len(json.loads(found[1])["joint"]) == 7  # robots are data files, which an installation may lack


def test_an_installed_node_publishes_and_ends_when_interrupted(workspace):
    """All nodes are started by the same program; this one needs no kernels, which would be compiled anew."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    bag = write_joint_states(workspace.folder / "bag", samples(100))
    words = ("--ros-args", "-p", f"bag:={bag}", "-p", "loop:=true")
    node = workspace.start(str(workspace.libraries / "bag_player"), *words)
    try:
        assert "heard 7 torques" in workspace.run(sys.executable, "-c", LISTENER)
        node.send_signal(signal.SIGINT)
        assert node.wait(FIRST_START) == 0, workspace.output
    finally:
        node.kill()
    assert "Traceback" not in workspace.output
