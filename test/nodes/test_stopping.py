# SPDX-License-Identifier: Apache-2.0
"""Nodes end when asked, however often and whenever, and say in one line why they cannot start."""

import re
import signal
import subprocess
import sys

import pytest
from bag_files import samples
from waiting import PATIENCE, ran

from nodes.processes import Nodes
from panda_dynamics_ros.nodes.runner import CANNOT_START
from panda_dynamics_ros.recordings import write_joint_states

NAMES = {"dynamics": "panda_dynamics", "bag_player": "bag_player"}


def test_nodes_end_with_code_0(probe, tmp_path):
    """By SIGTERM, or by SIGINT twice, as launch sends it: one that answers, and one that publishes by a clock."""
    nodes = Nodes("ended", tmp_path)  # a namespace of its own
    wanted = {(name, nodes.namespace) for name in NAMES.values()}
    parameters = {"bag_player": {"bag": write_joint_states(tmp_path / "bag", samples(100)), "loop": True}}
    processes = []
    with (tmp_path / "log").open("w") as log:
        for module in NAMES:
            command = [sys.executable, "-m", f"panda_dynamics_ros.nodes.{module}"]
            command += nodes.arguments(**parameters.get(module, {}))
            processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=nodes.environment))
    try:
        probe.until(lambda: wanted <= set(probe.node.get_node_names_and_namespaces()), "both nodes")
        for process in processes[::2]:
            process.send_signal(signal.SIGTERM)
        for process in 2 * processes[1::2]:
            process.send_signal(signal.SIGINT)
        codes = [process.wait(PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert codes == [0, 0], (tmp_path / "log").read_text()
    assert "Traceback" not in (tmp_path / "log").read_text()


STARTING = """
import sys, time
from panda_dynamics_ros.nodes import runner
def compile_for_long(*nodes, report):
    print("starting", flush=True)
    time.sleep(1e6)
runner.warm_up = compile_for_long
sys.exit(runner.run_node(None, kernels="dynamics"))
"""


IMPORTING = """
import signal, sys
from panda_dynamics_ros.nodes import start
def import_for_long(module, run_name):
    print("importing", flush=True)
    signal.pause()  # returns from a handler that does not end the process
    raise AssertionError("the signal was swallowed")
start.run_module = import_for_long
sys.argv[0] = "dynamics"
start.main()
"""


BUSY = """
import sys, time
from panda_dynamics_ros.nodes.runner import run_node
from rclpy.node import Node
from std_msgs.msg import Float64
class Busy(Node):
    def __init__(self):
        super().__init__("busy")
        self.sent = self.create_publisher(Float64, "x", 100)
        self.create_subscription(Float64, "x", self.serve, 100)
        self.create_timer(0.1, lambda: self.sent.publish(Float64()))
    def serve(self, message):
        for _ in range(2): self.sent.publish(message)
        time.sleep(0.002)
        print("serving", flush=True)
sys.exit(run_node(Busy))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, IMPORTING), (signal.SIGTERM, STARTING), (signal.SIGINT, BUSY)]
)
def test_a_node_that_is_busy_ends_when_asked(number, code, fresh):
    """While it starts, and compiles; and where each message that it serves is followed by two others."""
    pipe, command = subprocess.PIPE, [sys.executable, "-c", code, "--ros-args", "--log-level", "warn"]
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, env=fresh.environment)
    with process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() in (b"starting\n", b"importing\n", b"serving\n")
            process.send_signal(number)
            assert process.wait(PATIENCE) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("module", "parameters", "words"),
    [
        ("dynamics", {"robot": "pandora"}, "pandora"),
        ("dynamics", {"robot": "arm.urdf.xacro"}, "expand it first: xacro arm.urdf.xacro > robot.urdf"),
        ("dynamics", {"robot": 3}, "robot"),
        ("payload_estimator", {"mass_std_kg": -1.0}, "mass_std_kg"),
        ("payload_estimator", {"qos_overrides./diagnostics.publisher.reliability": "sometimes"}, "sometimes"),
        ("bag_player", {"bag": "/nowhere/bag.mcap"}, "/nowhere/bag.mcap"),
    ],
)
def test_a_node_that_cannot_start_says_why_in_one_line(module, parameters, words, fresh):
    fresh.start(module, **parameters)
    assert fresh.wait(module) == CANNOT_START
    (line,) = (line for line in fresh.log(module).splitlines() if "[INFO]" not in line)  # of compiling
    assert line.startswith("error: ")
    assert words in line


def test_a_parameter_file_that_is_not_yaml_is_one_line_too(fresh, tmp_path):
    """Its nodes must not be started anew for ever, as those that crash are."""
    (tmp_path / "bad.yaml").write_text("/**:\n  ros__parameters:\n    robot: [panda\n", encoding="utf-8")
    fresh.start("dynamics", "--params-file", str(tmp_path / "bad.yaml"))
    assert fresh.wait("dynamics") == CANNOT_START
    assert re.search(r"(^|\n)error: .*bad\.yaml", fresh.log("dynamics"))


ENDING = """
import os, signal, sys
from panda_dynamics_ros.nodes import runner
class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)
runner.spin = lambda *_: None
sys.last = Last()
sys.exit(runner.run_node(lambda: []))
"""


def test_the_second_signal_of_a_ctrl_c_may_come_while_python_ends():
    """Launch repeats the terminal's SIGINT; a node killed by it would count as one that has died."""
    assert ran([sys.executable, "-c", ENDING], timeout=PATIENCE).stderr == ""
