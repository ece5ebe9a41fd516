# SPDX-License-Identifier: Apache-2.0
"""The example of a controller: what it sends, how fast, what it does when the torques stop, and an arm held by it."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from geometry_msgs.msg import InertiaStamped
from launched import module_of
from motion import PAYLOAD
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from waiting import PATIENCE, ran

import panda_dynamics_ros as pdr
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import LATCHED

FILE = Path(__file__).resolve().parents[2] / "examples" / "gravity_compensation_controller.py"
STEP = 0.5  # N m: 500 N m/s at 1 kHz
# The same kernels on the same doubles; the payload's torque is a product of two arrays.
EXACT = 1e-12


class Controlled:
    """A `dynamics` node and the controller of an arm on a wall, on joint states of this test."""

    def __init__(self, probe: Probe, nodes: Nodes, folder: Path) -> None:
        self.probe, self.robot = probe, pdr.load_robot("panda", mounting=(1.5, 0.0, 0.0))
        self.script = Script(self.robot, 2.0, PAYLOAD)
        nodes.start("dynamics", mounting=[1.5, 0.0, 0.0])
        self.states: Publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
        self.payload = probe.node.create_publisher(
            InertiaStamped, f"{nodes.namespace}/payload_estimator/payload", LATCHED
        )
        command = [sys.executable, str(FILE), "--ros-args", "-r", f"__ns:={nodes.namespace}"]
        command += ["-p", "robot_adds_gravity:=false", "-p", "mounting:=[1.5, 0.0, 0.0]"]
        self.log = folder / "controller.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env=nodes.environment, start_new_session=True
            )
        self.commands = probe.listen(Float64MultiArray, f"{nodes.namespace}/gravity_compensation/commands")
        probe.until(lambda: self.states.get_subscription_count() == 2, "both readers of the joint states")
        self.sent = 0

    def repeat(self, k: int) -> None:
        """Sample k of the motion, with a stamp of now: as fast as a test may, slower than the queue is long."""
        message = self.script.message(k)
        message.header.stamp = conversions.time_message(2e9 + 0.001 * self.sent)
        self.sent += 1
        self.states.publish(message)
        self.probe.spin(0.005)

    def settle(self, k: int, expected: np.ndarray) -> None:
        """Sample k, again and again, until the command is as expected."""

        def settled() -> bool:
            self.repeat(k)
            return bool(self.commands) and np.allclose(self.commands[-1].data, expected, rtol=0.0, atol=EXACT)

        self.probe.until(settled, f"the command {expected}")

    def torques(self, k: int, payload: pdr.InertialParameters | None = None) -> np.ndarray:
        """Gravity and Coriolis torques of sample k."""
        robot = self.robot if payload is None else self.robot.with_payload(payload)
        q, dq = self.script.motion.q[k], self.script.motion.dq[k]
        return robot.gravity_torques(q) + robot.coriolis_torques(q, dq)


@pytest.fixture(scope="module")
def controlled(probe, nodes, tmp_path_factory):
    controlled = Controlled(probe, nodes, tmp_path_factory.mktemp("controller"))
    try:
        yield controlled
    finally:
        if controlled.process.poll() is None:
            controlled.process.terminate()
        assert controlled.process.wait(PATIENCE) == 0, controlled.log.read_text()


@pytest.fixture
def controller(probe):
    """The example's node in this process."""
    node = module_of(FILE).GravityCompensation()
    yield node
    node.destroy_node()


def test_it_sends_gravity_and_coriolis_torques_of_one_sample(controlled):
    for k in (200, 1500):
        controlled.settle(k, controlled.torques(k))


def test_a_payload_is_carried(controlled):
    controlled.payload.publish(conversions.inertia_message(conversions.time_message(0.0), "panda_link8", PAYLOAD))
    controlled.settle(700, controlled.torques(700, PAYLOAD))


def test_no_torque_jumps(controlled):
    """Two samples between which torques differ by more than a step; a command may be lost, which is no jump."""
    controlled.settle(0, controlled.torques(0, PAYLOAD))
    controlled.commands.clear()
    controlled.settle(1000, controlled.torques(1000, PAYLOAD))
    sent = np.array([message.data for message in controlled.commands])
    assert np.abs(sent[-1] - sent[0]).max() > 4.0 * STEP
    steps = [np.abs(after - before).max() for before, after in itertools.pairwise(sent)]
    assert max(steps) <= STEP + EXACT
    assert max(steps) > 0.9 * STEP


def test_when_torques_stop_the_arm_is_held_and_the_log_says_why(controlled):
    """Coriolis torques belong to a motion that nobody sees any more."""
    controlled.settle(1200, controlled.torques(1200, PAYLOAD))
    held = controlled.robot.with_payload(PAYLOAD).gravity_torques(controlled.script.motion.q[1200])
    assert np.abs(held - controlled.torques(1200, PAYLOAD)).max() > 0.01
    controlled.probe.until(
        lambda: np.allclose(controlled.commands[-1].data, held, rtol=0.0, atol=EXACT), "the torques of the arm at rest"
    )
    controlled.probe.until(lambda: "does panda_dynamics run?" in controlled.log.read_text(), "the log")


def tell(node: Any, robot: pdr.RobotModel, stamp: float, q: np.ndarray, dq: np.ndarray, late: float = 0.0) -> None:
    """A sample and its torques; those of Coriolis may be those of a sample that is `late`, s."""
    names = list(robot.joint_names)
    node.on_sample(JointState(name=names, position=q, velocity=dq, effort=np.ones(7)))
    for heard, torques, after in (
        (node.on_gravity, robot.gravity_torques(q), 0.0),
        (node.on_coriolis, robot.coriolis_torques(q, dq), late),
    ):
        heard(conversions.torque_message(conversions.time_message(stamp + after), names, torques))


def test_torques_of_different_samples_are_not_mixed(controller, panda):
    """In this process: over DDS nobody decides which message comes first."""
    q, dq = np.full(7, 0.5), np.ones(7)
    tell(controller, panda, 1.0, q, dq)  # makes the joints' names known
    tell(controller, panda, 2.0, q, dq, late=0.001)
    assert controller.command is None
    tell(controller, panda, 3.0, q, dq)
    np.testing.assert_array_equal(controller.command, np.zeros(7))  # from there, step by step
    # The robot adds gravity itself.
    np.testing.assert_allclose(controller.wanted, panda.coriolis_torques(q, dq), rtol=0.0, atol=EXACT)


def test_an_arm_in_mujoco_stays_where_it_is(controller, panda):
    """Gravity and payload at work, closed over MuJoCo's own dynamics for half a second; without them it falls."""
    mujoco = pytest.importorskip("mujoco", reason="the arm to be held is MuJoCo's")
    from panda_dynamics_ros.simulation.plant import mujoco_model, write_body

    start = 0.5 * (panda.limits.lower + panda.limits.upper)
    controller.robot_adds_gravity = False
    controller.on_payload(conversions.inertia_message(conversions.time_message(0.0), "panda_link8", PAYLOAD))
    tell(controller, panda, 1.0, start, np.zeros(7))
    moved = {}
    for held in (True, False):
        write_body(model := mujoco_model(panda), "payload", PAYLOAD)
        data = mujoco.MjData(model)
        data.qpos[:] = start
        for k in range(500):
            tell(controller, panda, 2.0 + 0.001 * k, data.qpos.copy(), data.qvel.copy())
            data.qfrc_applied[:] = controller.wanted if held else 0.0
            mujoco.mj_step(model, data)
        moved[held] = np.abs(data.qpos - start).max()
    assert moved[False] > 0.3  # rad
    # Both engines agree to rounding, 1e-12 N m, which an arm that floats integrates twice.
    assert moved[True] < 1e-9


def test_the_example_in_cpp_compiles(tmp_path):
    """Where ROS 2's C++ library is installed: the wheels from PyPI do not have it."""
    try:
        get_package_prefix("rclcpp")
    except (PackageNotFoundError, OSError):  # OSError: there is no ROS 2 workspace at all
        pytest.skip("rclcpp is not installed")
    source = Path(__file__).resolve().parents[2] / "examples" / "torque_listener_cpp"
    for command in (["cmake", "-S", source, "-B", tmp_path], ["cmake", "--build", tmp_path]):
        done = ran(command)
    assert "warning" not in done.stdout + done.stderr
