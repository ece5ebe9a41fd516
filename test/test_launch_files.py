# SPDX-License-Identifier: Apache-2.0
"""The launch files: read everywhere, executed with real nodes where ROS 2's launch system is installed."""

import ast
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import urdf_texts
import yaml
from bag_files import samples
from launched import installed, launched

from panda_dynamics_ros.recordings import write_joint_states

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
# What each file declares beside the arguments that all have.
SHARED = [
    "robot", "end_effector", "base", "tip", "friction", "mounting", "gravity",
    "effort", "namespace", "arm_prefix", "joint_states_topic", "payload_topic", "base_frame",
    "params_file", "use_sim_time", "one_process", "respawn", "rviz", "launch_prefix", "log_level",
]  # fmt: skip
ARGUMENTS = {"dynamics": [], "demo": ["payload_mass", "seed"], "fleet": ["arms"]}
ARGUMENTS["replay"] = ["bag", "topic", "rate", "loop"]
ARGUMENTS["franka"] = ["robot_ip", "binding"]
ARGUMENTS["weigh"] = ["simulated", "trajectory", "trajectory_topic", "order", "results", "payload_mass", "seed"]


def tree_of(name: str) -> ast.Module:
    return ast.parse((ROOT / "launch" / f"{name}.launch.py").read_text(encoding="utf-8"))


def calls(tree: ast.Module, function: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield node


def constant(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)


def test_there_are_these_launch_files_and_they_compile():
    assert [file.name.removesuffix(".launch.py") for file in FILES] == sorted(ARGUMENTS)
    for file in FILES:
        assert "generate_launch_description" in compile(file.read_text(encoding="utf-8"), file, "exec").co_names


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_those_that_users_know_and_are_described(name):
    declared = list(calls(tree_of(name), "argument"))
    assert [constant(call.args[0]) for call in declared] == ARGUMENTS[name]
    for call in declared:
        assert len(constant(call.args[1])) > 10
    assert list(calls(tree_of(name), "description"))  # which adds those of all


def test_lists_have_an_example_beside_an_empty_default():
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    from panda_dynamics_ros.nodes.launching import SHARED as declared

    lists = [each.description for each in declared if each.name in ("mounting", "gravity")]
    assert [bool(re.search(r"\[0\.0, .*\].*; empty: ", words)) for words in lists] == [True, True]


def test_no_argument_has_a_name_that_launch_files_of_others_use():
    """An argument of a launch file that includes one of these reaches it, too."""
    assert not {"prefix", "name", "executable", "package", "output"} & {
        *SHARED,
        *(name for names in ARGUMENTS.values() for name in names),
    }


def test_the_parameter_file_reaches_nodes_in_every_namespace_and_says_what_they_do_without_it():
    content = yaml.safe_load((ROOT / "config" / "parameters.yaml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")  # a test compares it with what nodes declare
    for key, value in content.items():
        pattern, _, name = key.rpartition("/")
        assert pattern == "/**"
        (section,) = re.findall(rf"^## \w+, node `{name}`$(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
        defaults = dict(re.findall(r"^\| `(\w+)` \| [\w ]+ \| `?(.*?)`? \|", section, re.MULTILINE))
        for parameter, number in value["ros__parameters"].items():
            assert yaml.safe_load(defaults[parameter]) == number, f"{name}: {parameter}"


def test_the_demo_runs_and_ends_when_interrupted(prefix):
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    arguments = {"namespace": "left", "payload_mass": "0.8"}
    with launched(prefix, installed(prefix, "demo"), **arguments) as demo:
        demo.until(r"left\.panda_dynamics\]: listening to joints panda_joint1")
        demo.until(r"left\.payload_estimator\]: listening to joints panda_joint1")
        demo.until(r"left\.simulated_panda\]: picked up 0\.80 kg")  # after the 8 s of parameters.yaml
        demo.until(
            r"left\.panda_dynamics\]: payloads come on /left/payload_estimator/payload: they do not count as external"
        )
    assert demo.process.returncode == 0, demo.text
    assert demo.finished_cleanly() == {"dynamics", "payload_estimator", "simulated_panda"}, demo.text
    assert "Traceback" not in demo.text


def test_a_recording_is_replayed_to_its_end(prefix, tmp_path):
    """All nodes end with the recording; the left arm's joints are those found."""
    write_joint_states(tmp_path / "recording", samples(3000, names=[f"left_fr3_joint{i + 1}" for i in range(7)]))
    with launched(prefix, installed(prefix, "replay"), bag=tmp_path / "recording", robot="fr3") as replay:
        replay.until(r"listening to joints left_fr3_joint1")
        replay.ended()
    assert replay.process.returncode == 0, replay.text
    assert "the recording has been played" in replay.text
    assert replay.finished_cleanly() == {"bag_player", "dynamics", "payload_estimator"}, replay.text
    assert "last estimate: " in replay.text


def test_a_live_robot_may_use_other_topics_parameters_and_namespaces(prefix, tmp_path):
    parameters = tmp_path / "wrong.yaml"
    parameters.write_text("/**/payload_estimator:\n  ros__parameters:\n    mass_std_kg: -1.0\n", encoding="utf-8")
    given = {"namespace": "right", "params_file": parameters, "launch_prefix": "nice -n 1"}
    with launched(prefix, installed(prefix, "dynamics"), **given) as live:
        live.ended()
    assert live.process.returncode == 1, live.text
    assert re.search(r"error: .*mass_std_kg.*-1", live.text)  # so the file arrived, and in a namespace
    assert re.search(
        r"process has died .*exit code 2, cmd 'nice -n 1 \S+/payload_estimator "
        r".*__ns:=/right.*joint_states:=franka/joint_",
        live.text,
    )
    assert live.finished_cleanly() == {"nice"}, live.text  # the other node, by what it was started with


@pytest.mark.parametrize(
    ("stem", "arguments", "words"),
    [
        ("dynamics", {"params_file": "/nowhere.yaml"}, "params_file: expected a YAML file, got /nowhere.yaml"),
        ("dynamics", {"rviz": "true"}, "rviz2 is not installed"),
        ("dynamics", {"mounting": "upside down"}, "mounting: expected numbers such as 0 0 1.57, got 'upside down'"),
        ("dynamics", {"rviz": "true", "log_level": "warn"}, "expected base_frame, its fixed frame"),
        ("dynamics", {"one_process": "true", "payload_topic": "/mine"}, "payload_topic: expected one_process:=false"),
        ("demo", {"seed": "1.5"}, "seed: expected an integer, got '1.5'"),
        ("replay", {"bag": "/nowhere.mcap", "rate": "fast"}, "rate: expected a number, got 'fast'"),
    ],
)
def test_what_cannot_be_is_noticed_before_a_process_runs(stem, arguments, words, prefix):
    """A process that ran already would be left behind."""
    if "base_frame" in words:  # RViz is there
        (prefix / "share" / "ament_index" / "resource_index" / "packages" / "rviz2").touch()
    with launched(prefix, installed(prefix, stem), **arguments) as live:
        live.ended()
    assert live.process.returncode == 1
    assert words in live.text
    assert "process started" not in live.text


ARM = """
/**/panda_dynamics:
  ros__parameters: {robot: fr3, arm_prefix: left}
/**/payload_estimator:
  ros__parameters: {robot: fr3, arm_prefix: left}
/**/simulated_panda:
  ros__parameters: {robot: fr3, arm_prefix: left, payload_mass_kg: 0.7, pick_at_s: 0.5}
"""


def test_an_argument_that_is_not_given_leaves_the_parameter_file_alone(prefix, tmp_path):
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    (tmp_path / "arm.yaml").write_text(ARM, encoding="utf-8")
    with launched(prefix, installed(prefix, "demo"), params_file=tmp_path / "arm.yaml") as demo:
        demo.until(r"\[panda_dynamics\]: listening to joints left_fr3_joint1")
        demo.until(r"\[payload_estimator\]: listening to joints left_fr3_joint1")
        demo.until(r"\[simulated_panda\]: picked up 0\.70 kg")


def test_a_node_that_was_killed_goes_on_with_its_payload(prefix):
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    with launched(prefix, installed(prefix, "demo"), namespace="killed") as demo:
        demo.until(r"killed\.payload_estimator\]: detected a pick")
        demo.until_mass(0.9)
        (pid,) = re.findall(r"\[payload_estimator-\d+\]: process started with pid \[(\d+)\]", demo.text)
        os.kill(int(pid), signal.SIGKILL)
        demo.until(r"restored a payload of (0\.9|1\.0)\d\d kg", died=True)
        demo.until(r"listening to joints panda_joint1.*\n(.*\n)*.*listening to joints panda_joint1", died=True)
    assert demo.process.returncode == 0, demo.text
    assert [*(prefix / "tmp").glob("panda_payload_*")] == []


def test_both_nodes_run_in_one_process(prefix):
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    given = {"one_process": "True", "namespace": "one", "end_effector": "hand", "arm_prefix": "left"}
    with launched(prefix, installed(prefix, "demo"), **given) as demo:
        demo.until(r"one\.panda_dynamics\]: listening to joints left_panda_joint1")
        demo.until(r"one\.payload_estimator\]: detected a pick")
        demo.until_mass(0.9)
    assert demo.finished_cleanly() == {"suite", "simulated_panda"}, demo.text
    (mass,) = re.findall(r"last estimate: .*, (\S+) \+/- ", demo.text)
    assert float(mass) == pytest.approx(1.0, abs=0.15)  # with the hand it is the simulator's that counts for none


@pytest.fixture
def rviz(prefix):
    """A program in the place of RViz, which the wheels do not have: what it was started with goes to this file."""
    program = prefix / "lib" / "rviz2" / "rviz2"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$*" > "$0.started"\n', encoding="utf-8")
    program.chmod(0o755)
    (prefix / "share" / "ament_index" / "resource_index" / "packages" / "rviz2").touch()
    return program.with_name("rviz2.started")


@pytest.mark.parametrize(
    ("stem", "arguments", "frame"),
    [
        ("fr3_", {"robot": "fr3"}, "fr3_link0"),
        ("left_fr3_", {"robot": "fr3", "arm_prefix": "left"}, "left_fr3_link0"),
        ("fer_", {}, "fer_link0"),  # as the robots of franka_ros2 call their joints
        ("fer_", {"base_frame": "table"}, "table"),
    ],
)
def test_rviz_opens_in_the_frame_that_the_nodes_use(stem, arguments, frame, prefix, rviz, tmp_path):
    write_joint_states(tmp_path / "bag", samples(100, names=[f"{stem}joint{i + 1}" for i in range(7)]))
    with launched(
        prefix, installed(prefix, "replay"), bag=tmp_path / "bag", loop="true", rviz="true", **arguments
    ) as replay:
        for node in ("panda_dynamics", "payload_estimator"):
            replay.until(rf"\[{node}\]: listening to joints {stem}joint1, .*; base is {frame}\n")
        replay.until(r"\[rviz2-\d+\]: process has finished cleanly")
    layout = prefix / "share" / "panda_dynamics_ros" / "config" / "panda_dynamics.rviz"
    assert rviz.read_text(encoding="utf-8").startswith(f"-d {layout} -f {frame} ")


def test_a_recording_that_cannot_be_played_is_an_error(prefix):
    with launched(prefix, installed(prefix, "replay"), bag="/nowhere/bag.mcap") as replay:
        replay.ended()
    assert replay.process.returncode == 1, replay.text
    assert "error: /nowhere/bag.mcap: expected a rosbag2 recording" in replay.text
    assert "the recording was not played: bag_player ended with exit code 2" in replay.text
    assert "Traceback" not in replay.text


TWO_ARMS = """
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import PushRosNamespace
from launch_ros.substitutions import FindPackageShare

def demo(**arguments):
    file = PathJoinSubstitution([FindPackageShare("panda_dynamics_ros"), "launch", "demo.launch.py"])
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments=arguments.items())

def generate_launch_description():
    return LaunchDescription([
        GroupAction([demo(namespace="left", robot="fr3", joint_states_topic="arm/joint_states")]),
        GroupAction([PushRosNamespace("cell"), demo(namespace="right")]),
    ])
"""


def test_two_arms_in_two_namespaces_of_another_launch_file(prefix, tmp_path):
    """Each with its own arguments: what the first was given does not reach the second."""
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    file = tmp_path / "two_arms.launch.py"
    file.write_text(TWO_ARMS, encoding="utf-8")
    with launched(prefix, file) as arms:
        for namespace, joint in {"left": "fr3_joint1", r"cell\.right": "panda_joint1"}.items():
            for node in ("panda_dynamics", "payload_estimator"):
                arms.until(rf"\[{namespace}\.{node}\]: listening to joints {joint}")
    assert arms.process.returncode == 0, arms.text
    assert len(re.findall("process has finished cleanly", arms.text)) == 6, arms.text
    assert "Traceback" not in arms.text


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
    assert cell.finished_cleanly() >= {"dynamics", "payload_estimator", "simulated_panda"}, cell.text


@pytest.mark.parametrize(
    ("arguments", "nodes", "words"),
    [
        ({"effort": "current"}, 2, r"error: motor_constants: expected 7 numbers"),
        ({"robot": "ARM", "tip": "left_finger"}, 3, r"error: .*tip: expected one of the links .*got 'left_finger'"),
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


def test_a_fleet_has_a_process_for_each_arm(prefix, tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("arms:\n- {namespace: left, robot: fr3, mounting: [0, 0, 0.5]}\n- {namespace: right}\n")
    with launched(prefix, installed(prefix, "fleet"), arms=fleet, robot="panda") as arms:
        for namespace in ("left", "right"):
            for node in ("panda_dynamics", "payload_estimator"):
                arms.until(rf"\[{namespace}\.{node}\]: ready")
    assert arms.process.returncode == 0, arms.text
    assert len(re.findall("process has finished cleanly", arms.text)) == 2, arms.text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("arms: []", "namespaces"),
        ("arms:\n- {robot: fr3}", "namespaces"),
        ("arms:\n- {namespace: a}\n- {namespace: /a/}", "namespaces"),
        ("arms:\n- {namespace: a, colour: red}", "unknown colour"),
        ("- a", "list indices"),
        ("arms:\n- {namespace: a}\n- {namespace: b, mounting: up}", "'up'"),
    ],
)
def test_a_wrong_fleet_is_refused(text, named, prefix, tmp_path):
    (tmp_path / "fleet.yaml").write_text(text)
    with launched(prefix, installed(prefix, "fleet"), arms=tmp_path / "fleet.yaml") as fleet:
        fleet.ended()
    assert fleet.process.returncode == 1
    assert re.search(f"(arms: expected YAML with a list `arms` .*|mounting: .*), got .*{named}", fleet.text)
    assert "process started" not in fleet.text
