# SPDX-License-Identifier: Apache-2.0
"""What the launch files say about the arm: `robot_description`, base and tip, mounting, end effector."""

import re

import pytest
import urdf_texts
from launched import installed, installed_package, launched

pytestmark = pytest.mark.ros

DESCRIPTION = urdf_texts.panda().replace("to_link", "panda_joint")
CELL = '''
import sys
from launch import LaunchDescription
from launch.actions import ExecuteProcess, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

PUBLISH = """
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("robot_state_publisher", namespace="cell")
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_publisher(String, "robot_description", latched).publish(String(data=open(FILE).read()))
rclpy.spin(node)
"""

def generate_launch_description():
    file = PathJoinSubstitution([FindPackageShare("panda_dynamics_ros"), "launch", "NAME.launch.py"])
    arguments = dict(namespace="cell", robot="robot_description", tip="link8", friction="none", mounting="3.1416, 0, 0")
    return LaunchDescription([
        ExecuteProcess(cmd=[sys.executable, "-c", PUBLISH]),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments=arguments.items()),
    ])
'''


@pytest.fixture
def prefix(tmp_path):
    """The package as colcon installs it."""
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    return installed_package(tmp_path / "install")


def test_a_description_that_is_published_is_that_of_all_nodes(prefix, tmp_path):
    """As beside a robot_state_publisher; the simulated arm hangs from the ceiling, too, or a contact would be found."""
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    (tmp_path / "arm.urdf").write_text(DESCRIPTION)
    file = tmp_path / "cell.launch.py"
    file.write_text(CELL.replace("FILE", repr(str(tmp_path / "arm.urdf"))).replace("NAME", "demo"))
    with launched(prefix, file) as cell:
        for node in ("panda_dynamics", "payload_estimator", "simulated_panda"):
            cell.until(rf"cell\.{node}\]: the arm is that of /cell/robot_description \({len(DESCRIPTION)} characters\)")
        cell.until(r"cell\.payload_estimator\]: listening to joints panda_joint1, .*; base is link0")
        cell.until(r"detected a pick")
        cell.until_mass(0.9)
    (mass,) = re.findall(r"last estimate: .*, (\S+) \+/- ", cell.text)
    assert float(mass) == pytest.approx(1.0, abs=0.15)
    assert cell.finished_cleanly() >= {"dynamics", "payload_estimator", "simulated_panda"}


@pytest.mark.parametrize(
    ("arguments", "nodes", "words"),
    [
        ({"mounting": "[0.0 1.0]"}, 3, r"error: mounting: expected shape \(3,\), got \(2,\)"),
        ({"end_effector": "claw"}, 3, r"error: end_effector: expected one of none, .*got 'claw'"),
        ({"effort": "current"}, 2, r"error: motor_constants: expected 7 numbers"),
        (
            {"robot": "ARM", "tip": "left_finger"},
            3,
            r"error: .*tip: expected one of the links .*got 'left_finger'",
        ),
    ],
)
def test_an_argument_reaches_every_node(arguments, nodes, words, prefix, tmp_path):
    """Each refuses it."""
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    (tmp_path / "arm.urdf").write_text(DESCRIPTION)
    given = {key: value.replace("ARM", str(tmp_path / "arm.urdf")) for key, value in arguments.items()}
    with launched(prefix, installed(prefix, "demo"), **given) as demo:
        demo.ended()
    assert demo.process.returncode == 1, demo.text
    # The first that fails ends the others, which may be on their way to the same error.
    assert 1 <= len(re.findall(words, demo.text)) <= nodes, demo.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mounting": "upside down"}, "mounting: expected numbers such as 0 0 1.57, got 'upside down'"),
        ({"rviz": "true", "log_level": "warn"}, "expected base_frame, its fixed frame"),
    ],
)
def test_what_does_not_fit_is_noticed_before_a_process_runs(arguments, words, prefix):
    program = prefix / "share" / "ament_index" / "resource_index" / "packages" / "rviz2"
    program.touch()
    with launched(prefix, installed(prefix, "dynamics"), **arguments) as live:
        live.ended()
    assert live.process.returncode == 1
    assert words in live.text
    assert "process started" not in live.text
