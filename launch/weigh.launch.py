# SPDX-License-Identifier: Apache-2.0
"""Weighs a payload: beside the simulated arm by itself, on a robot run by run (docs/weigh.md).

panda-dynamics weigh --plan
ros2 launch panda_dynamics_ros weigh.launch.py payload_mass:=0.5

With `simulated:=false` no arm is started; `trajectory_topic` is that of its joint_trajectory_controller. The launch
ends when the payload is weighed. Of the shared arguments it uses those of the arm and its joint states; it starts
neither estimators nor RViz.
"""

import sys
from pathlib import Path

from launch.actions import Shutdown

from panda_dynamics_ros.nodes.launching import (
    SWITCH,
    argument,
    arm_parameters,
    description,
    given,
    is_on,
    package_node,
    share,
    value_of,
)

ARGUMENTS = [
    argument("simulated", "Start the simulated arm and weigh what it carries.", "true", SWITCH),
    argument("trajectory", "File of `panda-dynamics weigh --plan`.", "weigh_output/trajectory.yaml"),
    argument("trajectory_topic", "Where the controller listens; empty: the simulated arm's."),
    argument("order", "Runs without (A) and with (B) the payload.", "ABBA"),
    argument("results", "Folder for the runs and the result.", "weigh_output"),
    argument("payload_mass", "Mass of the simulated payload, kg; empty: as in params_file, else 1 kg."),
    argument("seed", "Seed of the simulated arm's imperfections; empty: as in params_file, else 0."),
]


def start(context):
    simulated = is_on(context, "simulated")
    topic = value_of(context, "trajectory_topic") or "simulated_panda/joint_trajectory"
    if not Path(value_of(context, "trajectory")).expanduser().is_file():
        raise RuntimeError("trajectory: expected a file of `panda-dynamics weigh --plan`, got none; run that first")
    kinds = {"effort": str, "trajectory": str, "order": str, "results": str, "simulated": bool}
    parameters = {**arm_parameters(context), **given(context, kinds, names={"results": "output"})}
    weigh = package_node(
        context,
        sys.executable,
        "weigh_on_robot",
        parameters,
        package=None,
        exec_name="weigh_on_robot",
        arguments=[share("examples", "weigh_on_robot.py")],
        remappings=[("weigh_on_robot/joint_trajectory", topic)],
        on_exit=on_weighed,
    )
    nodes = [weigh]
    if simulated:
        options = given(context, {"seed": int, "payload_mass": float}, names={"payload_mass": "payload_mass_kg"})
        arm = {**arm_parameters(context), **options, "follow_trajectories": True}
        nodes.append(package_node(context, "simulated_panda", "simulated_panda", arm))
    return nodes


def on_weighed(event, context):
    if event.returncode and not context.is_shutdown:
        raise RuntimeError("not weighed: the error is above")
    return Shutdown(reason="weighed")


def generate_launch_description():
    return description(start, ARGUMENTS)
