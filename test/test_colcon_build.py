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
from ros_domain import own_domain
from waiting import FIRST_START, until

ROOT = Path(__file__).resolve().parents[1]
NAME = "panda_dynamics_ros"
EXECUTABLES = {
    "dynamics",
    "payload_estimator",
    "suite",
    "franka_state",
    "simulated_panda",
    "bag_player",
    "panda-dynamics",
}

pytest.importorskip("colcon_ros", reason="colcon is not installed (extra colcon)")

# Publishes joint states at 50 Hz until the node, which is ready, has answered.
LISTENER = """
import time, rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("listener")
heard = []
publisher = node.create_publisher(JointState, "joint_states", 10)
node.create_subscription(JointState, "panda_dynamics/gravity_torques", heard.append, 10)
message = JointState(name=[f"panda_joint{i + 1}" for i in range(7)], velocity=[0.0] * 7, effort=[1.0] * 7)
message.position = [0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8]
for k in range(50 * 120):
    message.header.stamp.sec, message.header.stamp.nanosec = 1000 + k // 50, k % 50 * 20_000_000
    publisher.publish(message)
    rclpy.spin_once(node, timeout_sec=0.02)
    if heard:
        break
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
        done = subprocess.run(
            [*command, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=FIRST_START,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """A command in a shell that has sourced the workspace; it prints to `output`."""
        line = f". {shlex.quote(str(self.folder))}/install/local_setup.sh && exec {shlex.join(command)}"
        environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(own_domain()),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_LOG_DIR": str(self.folder / "log"),
            "NUMBA_DISABLE_JIT": "1",  # numba's cache is of one folder: all kernels would be compiled anew
        }
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                ["/bin/sh", "-c", line], cwd=self.folder, env=environment, stdout=output, stderr=output
            )

    def run(self, *command: str) -> str:
        """What a command prints that ends by itself; it must succeed."""
        before = len(self.output)
        process = self.start(*command)
        try:
            assert process.wait(FIRST_START) == 0, self.output
        finally:
            process.kill()
        return self.output[before:]

    def wait_for(self, words: str, process: subprocess.Popen[bytes]) -> None:
        """Until a process that goes on has printed the words."""

        def printed() -> bool:
            ended = process.poll() is not None  # before its last words are read
            assert words in self.output or not ended, f"ended before {words!r}:\n{self.output}"
            return words in self.output

        until(printed, lambda: f"{words!r} in:\n{self.output}", FIRST_START)

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


def test_an_installed_node_answers_and_ends_when_interrupted(workspace):
    """All nodes are started by the same program; without compiled kernels each takes ten seconds."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    node = workspace.start(str(workspace.libraries / "dynamics"))
    try:
        workspace.wait_for("[panda_dynamics]: ready", node)
        assert "heard 7 torques" in workspace.run(sys.executable, "-c", LISTENER)
        node.send_signal(signal.SIGINT)
        assert node.wait(FIRST_START) == 0, workspace.output
    finally:
        node.kill()
    assert "Traceback" not in workspace.output
