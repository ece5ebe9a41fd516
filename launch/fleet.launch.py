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

diagnostic_aggregator has to be installed for the latter. With rviz:=true each arm has a display; RViz draws the
arms whose base frames TF connects with that of the first.

Arguments of the command are those of all arms that do not state them; one_process is true unless an arm says false.
"""

from launch import LaunchDescription
from launch.actions import GroupAction, OpaqueFunction, SetLaunchConfiguration

from panda_dynamics_ros.nodes.launching import (
    SHARED,
    aggregator,
    argument,
    estimators,
    fleet_arms,
    start_rviz,
    value_of,
)

ARGUMENTS = [argument("arms", "YAML file with the list of arms.", None)]


def start_arm(context):
    return estimators(context)


def start(context):
    arms = fleet_arms(value_of(context, "arms"), {argument.name for argument in SHARED})
    namespaces = [arm["namespace"] for arm in arms]
    rviz = start_rviz(context, namespaces)  # first: what is missing is noticed before any process runs
    groups = []
    for arm in arms:
        # Where nobody states otherwise, one process serves an arm: it computes what both nodes share once.
        settings = {"one_process": "true", **arm}
        own = [SetLaunchConfiguration(name, value) for name, value in settings.items()]
        groups.append(GroupAction([*own, OpaqueFunction(function=start_arm)], scoped=True, forwarding=True))
    return [*groups, *aggregator(namespaces), *rviz]


def generate_launch_description():
    return LaunchDescription([*ARGUMENTS, *SHARED, OpaqueFunction(function=start)])
