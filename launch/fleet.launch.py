# SPDX-License-Identifier: Apache-2.0
"""Several live robots, with one process for each arm, and the diagnostics of all of them on /diagnostics_agg.

ros2 launch panda_dynamics_ros fleet.launch.py arms:=fleet.yaml

The file lists the arms; each has a namespace, and any argument of dynamics.launch.py that is its own:

    arms:
      - namespace: left
        robot: fr3
      - namespace: right
        robot: /home/me/right_arm.yaml
        end_effector: hand

diagnostic_aggregator has to be installed for the latter. With rviz:=true each arm has an RViz.

Arguments of the command are those of all arms that do not state them; one_process is true unless an arm says false.
"""

from pathlib import Path

import yaml
from ament_index_python import has_resource
from launch.actions import GroupAction, LogInfo, SetLaunchConfiguration
from launch_ros.actions import Node

from panda_dynamics_ros.nodes.launching import SHARED, argument, description, estimators, value_of

ARGUMENTS = [argument("arms", "YAML file with the list of arms.", None)]
STALE = 3.0  # s without diagnostics of an arm


def start(context):
    path = value_of(context, "arms")
    wanted = "arms: expected YAML with a list `arms` of namespace: NAME and arguments of dynamics.launch.py"
    try:
        arms = yaml.safe_load(Path(path).expanduser().read_text(encoding="utf-8"))["arms"]
        settings = [{name: as_argument(value) for name, value in arm.items()} for arm in arms]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
        raise RuntimeError(f"{wanted}, got {path}: {error}") from error
    if unknown := {name for arm in settings for name in arm} - {argument.name for argument in SHARED}:
        raise RuntimeError(f"{wanted}, got unknown {', '.join(map(str, unknown))} in {path}")
    namespaces = [arm.get("namespace", "").strip("/") for arm in settings]
    if not namespaces or not all(namespaces) or len(set(namespaces)) < len(namespaces):
        raise RuntimeError(f"{wanted}, got the namespaces {namespaces} in {path}")
    pushed = context.launch_configurations.get("ros_namespace", "")
    return [*(group(context, arm) for arm in settings), aggregator(namespaces, pushed)]


def as_argument(value):
    """A value of YAML as it would be typed on the command line."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def group(context, arm):
    """The nodes of one arm; where nobody states otherwise in one process, which computes what both share once.

    What is wrong with an arm is told before the nodes of another start.
    """
    own, of_all = {"one_process": "true", **arm}, dict(context.launch_configurations)
    context.launch_configurations.update(own)
    nodes = estimators(context)
    context.launch_configurations.clear()
    context.launch_configurations.update(of_all)
    return GroupAction([*(SetLaunchConfiguration(*each) for each in own.items()), *nodes], scoped=True, forwarding=True)


def aggregator(arms, pushed):
    """ROS's diagnostic_aggregator, which gathers on /diagnostics_agg what the nodes of each namespace say."""
    if not has_resource("packages", "diagnostic_aggregator"):
        return LogInfo(msg="no /diagnostics_agg: diagnostic_aggregator is not installed")
    kind = {"type": "diagnostic_aggregator/GenericAnalyzer", "timeout": STALE}
    starts = [f"{pushed}/{arm}/pa".lstrip("/") for arm in arms]  # of both nodes, not of an arm in a namespace below
    analyzers = {f"arm{k}": {**kind, "path": arms[k], "startswith": [start]} for k, start in enumerate(starts)}
    parameters = [{"path": "Arms", **analyzers}]
    return Node(package="diagnostic_aggregator", executable="aggregator_node", parameters=parameters)


def generate_launch_description():
    return description(start, ARGUMENTS)
