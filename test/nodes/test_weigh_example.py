# SPDX-License-Identifier: Apache-2.0
"""The example that weighs on a robot, beside the simulated arm: what it sends, refuses, records and finds."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from launched import installed, launched, module_of
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from waiting import FIRST_START, ran

import panda_dynamics_ros as pdr
from nodes.robot_stream import ARM as NAMES
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.simulation.motion_search import READY
from panda_dynamics_ros.simulation.motions import FourierMotion, at_rest, write_trajectory

trajectory_msgs = pytest.importorskip("trajectory_msgs.msg", reason="trajectory_msgs is not installed")
pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")

FILE = Path(__file__).resolve().parents[2] / "examples" / "weigh_on_robot.py"
MASS = 0.7


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Four seconds from and to rest in the ready posture, shorter than what `weigh --plan` writes."""
    rng = np.random.default_rng(0)
    sine = at_rest(np.zeros((7, 5)), 0.25 * rng.normal(size=(7, 5)))[1]
    motion = FourierMotion(np.array(READY), np.zeros((7, 5)), sine, 4.0)
    motion = FourierMotion(2.0 * np.array(READY) - motion(0.0)[0], np.zeros((7, 5)), sine, 4.0)
    times: FloatArray = np.arange(201.0) * 0.02
    return write_trajectory(NAMES, times, motion(times), tmp_path_factory.mktemp("plan") / "trajectory.yaml")


@pytest.fixture(scope="module")
def module():
    return module_of(FILE)


def assert_weighed(folder: Path, most: float = 0.02) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert abs(summary["mass"] - MASS) < 4.0 * summary["std"][0]
    assert summary["std"][0] < most  # kg
    assert (folder / "weigh.png").is_file()
    assert len(pdr.load_dataset(folder / "run2_with").stamp) > 3000


@pytest.mark.slow
def test_it_weighs_beside_the_simulated_arm(probe, nodes, plan, tmp_path):
    nodes.start("simulated_panda", payload_mass_kg=MASS, follow_trajectories=True)
    states: list[JointState] = probe.listen(JointState, f"{nodes.namespace}/joint_states")
    probe.until(lambda: states, "the simulated arm")
    parameters = {"trajectory": plan, "output": tmp_path, "order": "AB", "simulated": "true"}
    command = [sys.executable, str(FILE), "--ros-args", "-r", f"__ns:={nodes.namespace}"]
    command += ["-r", "weigh_on_robot/joint_trajectory:=simulated_panda/joint_trajectory"]
    command += [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    done = ran(command, env=nodes.environment, timeout=FIRST_START)
    assert "run 2 of 2: the simulated arm carries its payload" in done.stderr
    assert_weighed(tmp_path)


def test_the_launch_file_does_all_of_it(prefix, plan, tmp_path):
    given = {"trajectory": plan, "results": tmp_path / "result", "order": "AB", "payload_mass": MASS}
    # Of all that says what the arm is, both nodes have to know: it hangs on a wall, its joints are left_fr3_joint1, ...
    file = tmp_path / "parameters.yaml"
    file.write_text("/**:\n  ros__parameters: {robot: fr3, end_effector: hand}\n")
    given |= {"params_file": file, "mounting": "1.5708 0 0", "arm_prefix": "left"}
    with launched(prefix, installed(prefix, "weigh"), **given) as weigh:
        weigh.ended()
    assert weigh.process.returncode == 0, weigh.text
    assert "[weigh_on_robot-1] weighed with fr3+hand, 2 runs" in weigh.text
    assert_weighed(tmp_path / "result", 0.025)  # on a wall gravity turns with other joints: 20.4 g


def test_the_launch_file_wants_a_plan_first(prefix):
    with launched(prefix, installed(prefix, "weigh"), trajectory="/nowhere.yaml") as weigh:
        weigh.ended()
    assert weigh.process.returncode == 1
    assert "trajectory: expected a file of `panda-dynamics weigh --plan`, got none" in weigh.text


@pytest.fixture
def example(probe, module, plan, monkeypatch, tmp_path):
    """The example's node in this process, on a robot."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weigh_output").mkdir()
    (tmp_path / "weigh_output" / "trajectory.yaml").symlink_to(plan)
    node = module.WeighOnRobot()
    yield node
    node.destroy_node()


def joint_state(q: np.ndarray, dq: float = 0.0) -> JointState:
    message = JointState(name=list(NAMES), position=list(q), velocity=[dq] * 7, effort=[1.0] * 7)
    message.header.stamp = conversions.time_message(1.7e9)
    return message


def test_the_arm_does_not_move_unless_it_is_where_the_motion_starts(example):
    def answer() -> str:
        response = example.on_next(Trigger.Request(), Trigger.Response())
        assert not response.success
        assert not example.running
        return str(response.message)

    assert answer() == "no joint states have come for 0.5 s"
    example.on_sample(joint_state(np.array(READY) + 0.1 * np.eye(7)[2]))
    assert "joint 3 is 0.100 rad away" in answer()
    example.on_sample(joint_state(np.array(READY), dq=0.1))
    assert answer() == "the arm moves"
    example.on_sample(joint_state(np.array(READY)))
    assert answer() == "no controller listens on /weigh_on_robot/joint_trajectory"
    example.arrived -= 1.0
    assert answer() == "no joint states have come for 0.5 s"


@pytest.mark.parametrize("what_happens", ["the arm stands", "joint states stop"])
def test_a_run_that_failed_is_made_again(example, what_happens):
    example.on_sample(joint_state(np.array(READY)))
    example.start()
    last = joint_state(np.array(READY))
    last.header.stamp = conversions.time_message(1.7e9 + example.planned.times[-1] + 1.0)
    example.on_sample(last)
    example.arrived -= 1.0 if what_happens == "joint states stop" else 0.0
    example.on_timer()
    assert (example.running, example.recorded) == (False, [])


@pytest.mark.parametrize("content", [b"t,q1\n0,1\n", b"\xff\xd8", b"points: 3\n", b"joint_names: [a]\npoints: [{}]\n"])
def test_a_file_that_is_no_trajectory_is_refused(module, tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ArgumentError, match="trajectory: expected a file of `panda-dynamics weigh --plan`"):
        module.read_trajectory(tmp_path / "other")


def test_a_trajectory_message_is_read_by_joint_names(module, plan):
    message = module.read_trajectory(plan)
    in_order = conversions.joint_trajectory(message, NAMES)
    message.joint_names = message.joint_names[::-1]
    for point in message.points:
        for field in ("positions", "velocities", "accelerations"):
            setattr(point, field, getattr(point, field)[::-1])
    reversed_order = conversions.joint_trajectory(message, NAMES)
    np.testing.assert_array_equal(reversed_order.q, in_order.q)
    np.testing.assert_array_equal(reversed_order.ddq, in_order.ddq)
    with pytest.raises(ArgumentError, match="joint_names: expected left_1, got panda_joint7"):
        conversions.joint_trajectory(message, ("left_1",))
    message.points[3].accelerations = []
    with pytest.raises(ArgumentError, match="points: expected 7 positions, velocities, accelerations each"):
        conversions.joint_trajectory(message, NAMES)
