# SPDX-License-Identifier: Apache-2.0
"""What the launch files share: arguments, nodes, and how a launch ends.

An argument that is not given leaves the parameter to `params_file` and, where that does not have it, to the node's own
default; so most arguments are empty by default.
"""

import atexit
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ament_index_python import has_resource
from launch.action import Action
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessIO
from launch.events.process import ProcessExited, ProcessIO
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

from panda_dynamics_ros.nodes.interface import OF_ARM
from panda_dynamics_ros.nodes.runner import CANNOT_START
from panda_dynamics_ros.robot.description import EFFORT_KINDS

PACKAGE = "panda_dynamics_ros"
SWITCH = ["true", "false", "True", "False"]  # Python's words are common in launch files
EXPECTED = {list: "numbers such as 0 0 1.57", float: "a number", int: "an integer", bool: "true or false"}
RESPAWN_DELAY = 1.0  # s
JOINT_STATES = "joint_states", "franka/joint_states"  # of the nodes, and of `franka_state`


def share(*path: str) -> PathJoinSubstitution:
    """A file of the installed package."""
    return PathJoinSubstitution([FindPackageShare(PACKAGE), *path])


def argument(name: str, description: str, default: Any = "", choices: list[str] | None = None) -> DeclareLaunchArgument:
    """A launch argument; a choice that is empty by default leaves the parameter as it is."""
    if choices is not None and default == "":
        choices = ["", *choices]
    return DeclareLaunchArgument(name, default_value=default, choices=choices, description=description)


SHARED = (
    argument("robot", "panda, panda_ledezma, fr3, a file, or robot_description (the topic); empty: as in params_file."),
    *(argument(name, words.replace("[0.0]:", "empty:")) for name, (_, words) in OF_ARM.items()),
    argument("effort", "What effort the joint states have; current needs motor_constants.", choices=list(EFFORT_KINDS)),
    argument("namespace", "Namespace of all nodes (one per arm)."),
    argument("arm_prefix", "Prefix of the joint names where several arms share one topic."),
    argument(
        "joint_states_topic",
        "Joint states with effort at 1 kHz; /joint_states of franka_ros2 is a 30 Hz republication.",
        "franka/joint_states",
    ),
    argument("payload_topic", "Topic of a known payload, which is not external; empty: that of payload_estimator."),
    argument("base_frame", "Frame of poses, wrenches and markers, and RViz's fixed frame; empty: <prefix>link0."),
    argument("params_file", "Parameters of the nodes, YAML.", share("config", "parameters.yaml")),
    argument("use_sim_time", "Take time from /clock.", choices=SWITCH),
    argument("one_process", "Both nodes in one process, which takes less processor time.", "false", SWITCH),
    argument("respawn", "Start a node again that has ended by itself; its payload is kept.", "true", SWITCH),
    argument("rviz", "Open RViz with the package's layout, once joint states come.", "false", SWITCH),
    argument("launch_prefix", "Command before each node's own, such as chrt -f 20 for real-time priority."),
    argument("log_level", "What the nodes log.", "info", ["debug", "info", "warn", "error", "fatal"]),
)  # fmt: skip
"""Arguments of every launch file."""


def description(
    start: Callable[[LaunchContext], list[Action]], arguments: Sequence[DeclareLaunchArgument] = ()
) -> LaunchDescription:
    """What a launch file with these arguments, and those of all, starts."""
    return LaunchDescription([*arguments, *SHARED, OpaqueFunction(function=start)])


def value_of(context: LaunchContext, name: str) -> str:
    """The value of a launch argument."""
    return str(LaunchConfiguration(name).perform(context))


def is_on(context: LaunchContext, name: str) -> bool:
    """Whether a launch argument, one of `SWITCH`, is true."""
    return value_of(context, name).lower() == "true"


def given(context: LaunchContext, kinds: Mapping[str, type], names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Parameters whose launch argument is not empty.

    kinds: the type of each parameter, by its argument's name; a list is one of numbers such as 0 0 1.57 or [0, 0, 1].
    names: the parameter's name where the argument's is another.
    Raises RuntimeError: a value is not of its kind. Told later, it would leave nodes running that had been started.
    """
    return {
        (names or {}).get(name, name): _value(name, text, kind)
        for name, kind in kinds.items()
        if (text := value_of(context, name)) != ""
    }


def _value(name: str, text: str, kind: type) -> Any:
    try:
        if kind is list:
            return [float(word) for word in text.strip("[] ").replace(",", " ").split()]
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError) as error:
        raise RuntimeError(f"{name}: expected {EXPECTED[kind]}, got {text!r}") from error


def package_node(
    context: LaunchContext, executable: str, name: str | None, parameters: Mapping[str, Any], **options: Any
) -> Node:
    """A node of this package, unless `options` name another `package`, with the arguments that all share.

    The launch ends if it cannot start, unless `options` have another `on_exit`.

    Raises RuntimeError: `params_file` does not exist, of which launch itself would only warn.
    """
    joint_states = LaunchConfiguration("joint_states_topic")
    file = Path(value_of(context, "params_file")).expanduser()
    if not file.is_file():
        raise RuntimeError(f"params_file: expected a YAML file, got {file}, which does not exist")
    own = Path(tempfile.mkdtemp(prefix="panda_parameters_"), "own.yaml")
    atexit.register(shutil.rmtree, own.parent, ignore_errors=True)
    # By a pattern that is in no user's file: one that is in both, such as /**, would count where it stood there.
    own.write_text(json.dumps({"/**/*": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
    return Node(
        package=options.pop("package", PACKAGE),
        executable=executable,
        name=name,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        prefix=LaunchConfiguration("launch_prefix"),
        parameters=[str(file), *([str(own)] if parameters else [])],
        remappings=[*((topic, joint_states) for topic in JOINT_STATES), *options.pop("remappings", ())],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
        **{"on_exit": end_if_refused, **options},
    )


def arm_parameters(context: LaunchContext) -> dict[str, Any]:
    """Parameters of every node that knows the arm."""
    return given(context, {"robot": str, "arm_prefix": str, **{name: type(each[0]) for name, each in OF_ARM.items()}})


def estimators(context: LaunchContext) -> list[Action]:
    """The dynamics node and the payload estimator, in two processes or one, and RViz if asked for."""
    shared = arm_parameters(context) | given(context, {"effort": str, "base_frame": str, "use_sim_time": bool})
    payload = given(context, {"payload_topic": str})
    options, resume = dict[str, Any](), dict[str, str]()
    if is_on(context, "respawn"):
        options = {"respawn": True, "respawn_delay": RESPAWN_DELAY}
        # Of this launch alone: there is nothing in it at the first start. At a shutdown nodes still write to it.
        folder = tempfile.mkdtemp(prefix="panda_payload_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        resume = {"resume_path": f"{folder}/payload.yaml"}
    if is_on(context, "one_process"):
        if payload:
            raise RuntimeError("payload_topic: expected one_process:=false, since suite has no such topic")
        nodes = [package_node(context, "suite", None, {**shared, **resume}, **options)]
    else:
        nodes = [
            package_node(context, "dynamics", "panda_dynamics", {**shared, **payload}, **options),
            package_node(context, "payload_estimator", "payload_estimator", {**shared, **resume}, **options),
        ]
    return [*nodes, *_rviz(context, nodes[0])]


def source_parameters(context: LaunchContext) -> dict[str, Any]:
    """Parameters of a source of joint states: whether it publishes /clock, and for how many nodes it waits."""
    clock = {"clock": True} if is_on(context, "use_sim_time") else {}
    return clock | {"wait_for_subscribers": 1 if is_on(context, "one_process") else 2}


def end_if_refused(event: ProcessExited, context: LaunchContext) -> None:
    """The launch ends with an error, and all its nodes with it, if one cannot start as it was asked to."""
    if event.returncode == CANNOT_START and not context.is_shutdown:
        # An exception is the one way to an exit code of `ros2 launch` that a script sees.
        raise RuntimeError(f"{event.process_name} could not start: its error is above")


def _rviz(context: LaunchContext, node: Node) -> list[Action]:
    """RViz, if asked for, as soon as `node` says in which frame the arm is drawn: the joints' names decide that.

    Raises RuntimeError: it is not installed, or no node would say the frame.
    """
    if not is_on(context, "rviz"):
        return []
    if not has_resource("packages", "rviz2"):
        raise RuntimeError("rviz:=true: rviz2 is not installed (apt install ros-<distribution>-rviz2)")
    pushed = context.launch_configurations.get("ros_namespace", "")
    namespace = make_namespace_absolute(prefix_namespace(pushed, value_of(context, "namespace"))) or "/"

    def rviz(frame: str) -> Node:
        arguments = ["-d", share("config", "panda_dynamics.rviz"), "-f", frame]
        return Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=arguments)

    if frame := value_of(context, "base_frame"):
        return [rviz(frame)]
    if value_of(context, "log_level") not in ("debug", "info"):
        raise RuntimeError("rviz:=true without log messages of level info: expected base_frame, its fixed frame")
    said, opened = re.compile(r": listening to joints .*; base is ([\w/.-]+)"), False

    def on_output(event: ProcessIO) -> Action | None:
        nonlocal opened
        if (found := said.search(event.text.decode(errors="replace"))) is None or opened:
            return None
        opened = True
        return rviz(found[1])

    return [RegisterEventHandler(OnProcessIO(target_action=node, on_stdout=on_output, on_stderr=on_output))]
