# SPDX-License-Identifier: Apache-2.0
"""The parameters that describe the arm, the same for every node, and the arm that they give."""

from __future__ import annotations

import time

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from panda_dynamics_ros import RobotModel, load_robot
from panda_dynamics_ros.nodes.interface import LATCHED, fixed, subscribe
from panda_dynamics_ros.robot.effort import KINDS, MEASURED

ROBOT_DESCRIPTION = "robot_description"
REMINDER = 5.0  # s between two warnings that no description has come


TEXTS = {
    "end_effector": ("none", "End effector that is part of the arm, not payload: none, hand, or a YAML file."),
    "base": ("", "Link of a URDF or MJCF file where the chain begins; empty: its root."),
    "tip": ("", "Link of such a file where the chain ends; empty: the flange or the last link."),
    "friction": ("published", "Joint friction: published, or none, of simulators without any."),
}
# A default with a value: `ros2 param dump` shows nothing of a node that has a parameter without one.
UNSET = [0.0]
NUMBERS = {
    "mounting": "Roll, pitch and yaw of the base, rad; [0.0]: upright.",
    "gravity": "Gravity in the frame of mounting, m/s^2; [0.0]: the description's.",
}
OF_EFFORT = {
    "motor_constants": "Of effort current: N m/A, for each joint; [0.0]: the description's.",
    "rotor_inertia": "At each joint, kg m^2, which efforts other than measured contain; [0.0]: the description's.",
}


def declare_arm(node: Node, with_effort: bool = True) -> RobotModel:
    """Declare the arm's parameters, which are those of `load_robot`, and load the arm.

    `robot:=robot_description` takes the URDF of the parameter of this name or, where it is empty, waits for the topic.

    Parameters
    ----------
    with_effort: whether the node reads efforts, so that it matters what they are.

    Raises
    ------
    ArgumentError, RobotDescriptionError: see `load_robot`; the message names what was expected.
    """
    what = "The arm: panda, panda_ledezma, fr3, the path of a YAML, URDF or MJCF file, or robot_description."
    source = fixed(node, "robot", "panda", what)
    what = "URDF of the arm, for robot:=robot_description; empty: that of the topic robot_description."
    text = fixed(node, ROBOT_DESCRIPTION, "", what)
    given = {name: fixed(node, name, default, what) for name, (default, what) in TEXTS.items()}
    given |= {name: list(fixed(node, name, UNSET, what)) for name, what in NUMBERS.items()}
    if with_effort:
        what = f"What the joint states have as effort: {', '.join(KINDS)}; empty: the description's, or {MEASURED}."
        given["effort"] = fixed(node, "effort", "", what)
        given |= {name: list(fixed(node, name, UNSET, what)) for name, what in OF_EFFORT.items()}
    if source == ROBOT_DESCRIPTION:
        source = text or _description_of_topic(node)
    return load_robot(source, **{name: value for name, value in given.items() if value not in ("", UNSET)})


def _description_of_topic(node: Node) -> str:
    """The first text on `robot_description`; whoever publishes it may start later."""
    received: list[str] = []
    subscription = subscribe(node, String, ROBOT_DESCRIPTION, lambda message: received.append(message.data), LATCHED)
    topic, executor, warned = subscription.topic_name, SingleThreadedExecutor(), time.monotonic()
    executor.add_node(node)
    while not received:
        executor.spin_once(timeout_sec=0.1)
        if time.monotonic() - warned > REMINDER:
            warned = time.monotonic()
            node.get_logger().warning(
                f"waiting for the URDF on {topic}: start robot_state_publisher in this namespace, or set the parameter "
                f"{ROBOT_DESCRIPTION} to the URDF, or robot to a file"
            )
    executor.remove_node(node)
    node.destroy_subscription(subscription)
    node.get_logger().info(f"the arm is that of {topic} ({len(received[0])} characters)")
    return received[0]
