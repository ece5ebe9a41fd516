# SPDX-License-Identifier: Apache-2.0
"""A Panda (FER) or FR3 by its IP address, with both nodes on it, and no other driver.

ros2 launch panda_dynamics_ros franka.launch.py robot_ip:=172.16.0.2 robot:=panda end_effector:=hand

It reads the robot through a Python binding of libfranka (pip install 'panda_dynamics_ros[fr3]' or '[panda]'). A robot
takes one connection, so nothing else can be connected to it meanwhile.
"""

from panda_dynamics_ros.nodes.launching import argument, description, estimators, given, package_node

ARGUMENTS = [
    argument("robot_ip", "Address or host name of the robot.", None),
    argument("binding", "Python binding of libfranka: pylibfranka, panda-python; empty: any."),
]


def start(context):
    parameters = given(context, {"robot_ip": str, "binding": str, "robot": str, "arm_prefix": str})
    robot = package_node(context, "franka_state", "franka_state", parameters)
    return [*estimators(context), robot]


def generate_launch_description():
    return description(start, ARGUMENTS)
