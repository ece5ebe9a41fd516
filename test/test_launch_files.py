# SPDX-License-Identifier: Apache-2.0
"""The launch files: read everywhere, executed with real nodes where ROS 2's launch system is installed."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from bag_files import samples
from launched import START, installed, launched

from panda_dynamics_ros.recordings import write_joint_states

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
# What each file declares; demo and replay include dynamics, and have its arguments, too.
ARGUMENTS = {
    "dynamics": [
        "robot", "end_effector", "namespace", "arm_prefix", "joint_states_topic", "payload_topic", "base_frame",
        "params_file", "use_sim_time", "rviz", "prefix", "log_level",
    ],
    "demo": ["payload_mass", "seed"],
    "replay": ["bag", "rate", "loop"],
}  # fmt: skip
NODES = ("dynamics", "payload_estimator", "simulated_panda", "bag_player")


def tree_of(name: str) -> ast.Module:
    return ast.parse((ROOT / "launch" / f"{name}.launch.py").read_text(encoding="utf-8"))


def calls(tree: ast.Module, function: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield node


def constant(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)


# ---- without ROS 2 ---------------------------------------------------------------------------------------------


def test_there_are_three_launch_files_that_compile() -> None:
    assert [file.name.removesuffix(".launch.py") for file in FILES] == sorted(ARGUMENTS)
    for file in FILES:
        code = compile(file.read_text(encoding="utf-8"), file, "exec")
        assert "generate_launch_description" in code.co_names


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_those_that_users_know_and_are_described(name: str) -> None:
    declared = list(calls(tree_of(name), "DeclareLaunchArgument"))
    assert [constant(call.args[0]) for call in declared] == ARGUMENTS[name]
    for call in declared:
        assert "description" in {keyword.arg for keyword in call.keywords}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_configuration_is_a_declared_argument(name: str) -> None:
    used = {constant(call.args[0]) for call in calls(tree_of(name), "LaunchConfiguration")}
    assert used
    assert used <= {*ARGUMENTS[name], *ARGUMENTS["dynamics"]}


@pytest.mark.parametrize("name", ["demo", "replay"])
def test_files_that_use_the_arguments_of_another_include_it_first(name: str) -> None:
    """It is the inclusion that declares them."""
    text = (ROOT / "launch" / f"{name}.launch.py").read_text(encoding="utf-8")
    assert re.search(r"nodes = IncludeLaunchDescription\([^=]+\"dynamics.launch.py\"", text)
    assert "LaunchDescription([*ARGUMENTS, nodes, " in text


def test_parameter_files_reach_nodes_in_every_namespace() -> None:
    """And name only parameters that the nodes have."""
    content = yaml.safe_load((ROOT / "config" / "parameters.yaml").read_text(encoding="utf-8"))
    modules = {"panda_dynamics": "dynamics"}
    for key, value in content.items():
        pattern, _, name = key.rpartition("/")
        assert pattern == "/**"
        nodes = ROOT / "panda_dynamics_ros" / "nodes"
        source = (nodes / f"{modules.get(name, name)}.py").read_text()
        shared = re.findall(r"from panda_dynamics_ros\.nodes\.(\w+) import", source)
        source += "".join((nodes / f"{file}.py").read_text() for file in shared)
        for parameter in value["ros__parameters"]:
            assert f'"{parameter}"' in source, f"{name} has no parameter {parameter}"


# ---- with ROS 2's launch system ----------------------------------------------------------------------------------


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """The package as colcon installs it: executables, launch files, parameters, markers; code is where it is."""
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    prefix = tmp_path / "install"
    share, libraries = prefix / "share" / "panda_dynamics_ros", prefix / "lib" / "panda_dynamics_ros"
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / "panda_dynamics_ros"
    for folder in (share, libraries, marker.parent):
        folder.mkdir(parents=True)
    marker.touch()
    for name in ("launch", "config", "package.xml"):
        (share / name).symlink_to(ROOT / name)
    for node in NODES:
        script = libraries / node
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
            f"from panda_dynamics_ros.nodes.{node} import main\nsys.exit(main())\n"
        )
        script.chmod(0o755)
    return prefix


@pytest.mark.ros
def test_the_demo_runs_and_ends_when_interrupted(prefix: Path) -> None:
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    arguments = {"namespace": "left", "payload_mass": "0.8", "payload_topic": "payload_estimator/payload"}
    with launched(prefix, installed(prefix, "demo"), **arguments) as demo:
        demo.until(r"left\.panda_dynamics\]: listening to joints panda_joint1")
        demo.until(r"left\.payload_estimator\]: listening to joints panda_joint1")
        demo.until(r"left\.simulated_panda\]: picked up 0\.80 kg")  # after the 8 s of parameters.yaml
        demo.until(r"left\.panda_dynamics\]: a payload is known, .* kg: it does not count as external")
    assert demo.process.returncode == 0, demo.text
    assert demo.finished_cleanly() == {"dynamics", "payload_estimator", "simulated_panda"}
    assert "Traceback" not in demo.text


@pytest.mark.ros
def test_a_recording_is_replayed_to_its_end(prefix: Path, tmp_path: Path) -> None:
    """All nodes end with the recording; the left arm's joints are those found."""
    names = [f"left_fr3_joint{i + 1}" for i in range(7)]
    write_joint_states(tmp_path / "recording", samples(3000, names=names))
    with launched(prefix, installed(prefix, "replay"), bag=tmp_path / "recording", robot="fr3") as replay:
        replay.until(r"listening to joints left_fr3_joint1")
        replay.process.wait(START)
    assert replay.process.returncode == 0, replay.text
    assert "the recording has been played" in replay.text
    assert replay.finished_cleanly() == {"bag_player", "dynamics", "payload_estimator"}


@pytest.mark.ros
def test_a_live_robot_may_use_other_topics_parameters_and_namespaces(prefix: Path, tmp_path: Path) -> None:
    parameters = tmp_path / "wrong.yaml"
    parameters.write_text("/**/payload_estimator:\n  ros__parameters:\n    memory_s: -1.0\n", encoding="utf-8")
    given = {"namespace": "right", "params_file": parameters, "prefix": "nice -n 1"}
    with launched(prefix, installed(prefix, "dynamics"), **given) as live:
        live.until(r"error: .*memory_s.*-1")  # so the file arrived, and in a namespace
        live.until(
            r"process has died .*exit code 1, cmd 'nice -n 1 \S+/payload_estimator "
            r".*__ns:=/right.*joint_states:=franka/joint_"
        )
    assert live.finished_cleanly() == {"nice"}  # the other node, by what it was started with


@pytest.fixture
def rviz(prefix: Path) -> Path:
    """A program in the place of RViz, which the wheels do not have: what it was started with goes to this file."""
    program = prefix / "lib" / "rviz2" / "rviz2"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$*" > "$0.started"\n', encoding="utf-8")
    program.chmod(0o755)
    (prefix / "share" / "ament_index" / "resource_index" / "packages" / "rviz2").touch()
    return program.with_name("rviz2.started")


@pytest.mark.ros
@pytest.mark.parametrize(
    ("stem", "arguments", "frame"),
    [
        ("fr3_", {"robot": "fr3"}, "fr3_link0"),
        ("left_fr3_", {"robot": "fr3", "arm_prefix": "left"}, "left_fr3_link0"),
        ("fer_", {"base_frame": "table"}, "table"),
    ],
)
def test_rviz_opens_in_the_frame_that_the_nodes_use(
    stem: str, arguments: dict[str, str], frame: str, prefix: Path, rviz: Path, tmp_path: Path
) -> None:
    write_joint_states(tmp_path / "bag", samples(100, names=[f"{stem}joint{i + 1}" for i in range(7)]))
    with launched(prefix, installed(prefix, "replay"), bag=tmp_path / "bag", rviz="true", **arguments) as replay:
        for node in ("panda_dynamics", "payload_estimator"):
            replay.until(rf"\[{node}\]: listening to joints {stem}joint1, .*; base is {frame}\n")
    layout = prefix / "share" / "panda_dynamics_ros" / "config" / "panda_dynamics.rviz"
    assert rviz.read_text(encoding="utf-8").startswith(f"-d {layout} -f {frame} ")


@pytest.mark.ros
def test_a_recording_that_cannot_be_played_is_an_error(prefix: Path) -> None:
    with launched(prefix, installed(prefix, "replay"), bag="/nowhere/bag.mcap") as replay:
        replay.process.wait(START)
    assert replay.process.returncode == 1, replay.text
    assert "error: /nowhere/bag.mcap: expected a rosbag2 recording" in replay.text
    assert "the recording was not played: bag_player ended with exit code 1" in replay.text
    assert "Traceback" not in replay.text


@pytest.mark.ros
@pytest.mark.parametrize("name", ARGUMENTS)
def test_launch_shows_the_same_arguments_for_all_files(
    name: str, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `ros2 launch --show-args` does; the inclusion is found in the installed package."""
    from launch.launch_description_sources import get_launch_description_from_any_launch_file

    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(prefix), os.environ.get("AMENT_PREFIX_PATH", "")]))
    shown = get_launch_description_from_any_launch_file(str(installed(prefix, name))).get_launch_arguments()
    assert [each.name for each in shown] == list(dict.fromkeys([*ARGUMENTS[name], *ARGUMENTS["dynamics"]]))
    assert all(len(each.description) > 10 for each in shown)


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


@pytest.mark.ros
def test_two_arms_in_two_namespaces_of_another_launch_file(prefix: Path, tmp_path: Path) -> None:
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
