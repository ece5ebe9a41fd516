# SPDX-License-Identifier: Apache-2.0
"""How the nodes declare parameters, those of the arm among them, and open topics.

Parameters have descriptions, units in their names, and ranges. History, depth and reliability of every topic can be
overridden by parameters (docs/topics.md).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription
from std_msgs.msg import Header, String

from panda_dynamics_ros import RobotModel, load_robot
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes.conversions import exact_time_message
from panda_dynamics_ros.robot.description import EFFORT_KINDS, MEASURED
from panda_dynamics_ros.untrusted import printable

# Best effort matches any publisher; 1000 samples last through a pause of the process of 1 s at 1 kHz. Where several
# processes share a processor, pauses of 0.7 s were seen.
INPUT_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT_DESCRIPTION = "robot_description"
# A default with a value: `ros2 param dump` shows nothing of a node that has a parameter without one.
UNSET = [0.0]
OF_ARM: dict[str, tuple[Any, str]] = {
    "end_effector": ("none", "End effector that is part of the arm, not payload: none, hand, or a YAML file."),
    "base": ("", "Link of a URDF or MJCF file where the chain begins; empty: its root."),
    "tip": ("", "Link of a URDF or MJCF file where the chain ends; empty: the flange or the last link."),
    "friction": ("published", "Joint friction: published, or none for a simulator without it."),
    "mounting": (UNSET, "Roll, pitch and yaw of the base, rad; [0.0, 3.1416, 0.0]: upside down; [0.0]: as described."),
    "gravity": (UNSET, "Gravity in the frame of mounting, m/s^2, such as [0.0, 0.0, -9.81]; [0.0]: the description's."),
}
EFFORTS = f"What the joint states have as effort: {', '.join(EFFORT_KINDS)}; empty: the description's, or {MEASURED}."
ROTORS = "Rotor inertia at each joint, kg m^2, for efforts other than measured; [0.0]: the description's."
OF_EFFORT: dict[str, tuple[Any, str]] = {
    "effort": ("", EFFORTS),
    "motor_constants": (UNSET, "For effort current: N m/A of each joint; [0.0]: the description's."),
    "rotor_inertia": (UNSET, ROTORS),
}
_OVERRIDABLE = QoSOverridingOptions.with_default_policies()
declared: list[tuple[str, Any, str]] = []  # name, default and description of each parameter, for the help


def now(node: Node) -> int:
    """The node's clock, ns; 0 also where somebody publishes a negative /clock."""
    return max(0, int(node.get_clock().handle.get_now().nanoseconds))  # rclpy's own now() takes 4 us


def shortened(text: str, length: int = 300) -> str:
    """Text of others, such as names in a message, as a terminal may show it, at a length that fits a log line."""
    return printable(text if len(text) <= length else f"{text[:length]}.. ({len(text)} characters)")


def fixed(
    node: Node, name: str, default: Any, description: str, low: float | None = None, high: float | None = None,
    read_only: bool = True,
) -> Any:  # fmt: skip
    """Declare a parameter that is read once, at start-up; returns its value. A number may have a range."""
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    if low is not None and high is not None:
        if isinstance(default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high))]
    declared.append((name, default, description))
    value = node.declare_parameter(name, default, descriptor).value
    return list(value) if isinstance(default, list) else value


changeable = partial(fixed, read_only=False)
"""The same for a parameter that may change at run time."""


def publisher(node: Node, message_type: type, topic: str, qos: QoSProfile | int = 10) -> Publisher:
    """A publisher of the node; `qos` may be the depth alone, and is then reliable and volatile."""
    return node.create_publisher(message_type, topic, qos, qos_overriding_options=_OVERRIDABLE)


def subscribe(
    node: Node, message_type: type, topic: str, handle: Callable[[Any], None], qos: QoSProfile, raw: bool = False
) -> Subscription:
    """Call `handle` with each message of the topic, or with its bytes if `raw`."""
    return node.create_subscription(message_type, topic, handle, qos, qos_overriding_options=_OVERRIDABLE, raw=raw)


def every(node: Node, period: float, handle: Callable[[], None]) -> None:
    """Call `handle` each `period` s of the steady clock; the node's own stands still where nobody publishes /clock."""
    node.create_timer(period, handle, clock=Clock(clock_type=ClockType.STEADY_TIME))


def diagnose(node: Node, statuses: Callable[[], Sequence[DiagnosticStatus]]) -> Callable[[], None]:
    """Publish the `statuses()` of a node on /diagnostics each second, and whenever what is returned is called."""
    diagnostics = publisher(node, DiagnosticArray, "/diagnostics")

    def publish() -> None:
        diagnostics.publish(DiagnosticArray(header=Header(stamp=exact_time_message(now(node))), status=statuses()))

    every(node, 1.0, publish)
    return publish


def serve(
    node: Node, kind: type, name: str, handle: Callable[[Any], tuple[bool, str]], server: Node | None = None
) -> None:
    """Offer a node's service `~/<name>`: `handle` answers requests with success and words, which the log has, too.

    `server` is another node, of the same process, whose executor is to serve it.
    """

    def answer(request: Any, response: Any) -> Any:
        response.success, response.message = handle(request)
        words = f"{name}: {response.message}"
        if response.success:  # rclpy wants a line of code for each severity
            node.get_logger().info(words)
        else:
            node.get_logger().warning(words)
        return response

    (server or node).create_service(kind, node.resolve_service_name(f"~/{name}"), answer)


def declare_arm(node: Node, with_effort: bool = True) -> RobotModel:
    """Declare the arm's parameters, which are those of `load_robot`, and load the arm.

    `robot:=robot_description` takes the URDF of the parameter of this name or, where it is empty, waits for the topic.

    with_effort: whether the node reads efforts, so that it matters what they are.
    Raises ArgumentError, RobotDescriptionError: see `load_robot`; the message names what was expected.
    """
    what = "The arm: panda, panda_ledezma, fr3, the path of a YAML, URDF or MJCF file, or robot_description."
    source = fixed(node, "robot", "panda", what)
    what = "URDF of the arm, for robot:=robot_description; empty: that of the topic robot_description."
    text = fixed(node, ROBOT_DESCRIPTION, "", what)
    table = OF_ARM | OF_EFFORT if with_effort else OF_ARM
    given = {name: fixed(node, name, default, what) for name, (default, what) in table.items()}
    if source == ROBOT_DESCRIPTION:
        source = text or _description_of_topic(node)
    stated = {name: value for name, value in given.items() if value not in ("", table[name][0])}
    try:
        return load_robot(source, **stated)
    except ArgumentError as error:
        known = "robot: expected one of "
        raise ArgumentError(str(error).replace(known, f"{known}{ROBOT_DESCRIPTION}, ")) from error


def _description_of_topic(node: Node) -> str:
    """The first text on `robot_description`; whoever publishes it may start later."""
    received: list[str] = []
    subscription = subscribe(node, String, ROBOT_DESCRIPTION, lambda message: received.append(message.data), LATCHED)
    topic = subscription.topic_name
    instead = f"or set the parameter {ROBOT_DESCRIPTION} to the URDF, or robot to a file"
    words = f"waiting for the URDF on {topic}: start robot_state_publisher in this namespace, {instead}"
    while not received:
        rclpy.spin_once(node, timeout_sec=0.1)
        node.get_logger().warning(words, throttle_duration_sec=5.0, skip_first=True)
    node.destroy_subscription(subscription)
    node.get_logger().info(f"the arm is that of {topic} ({len(received[0])} characters)")
    return received[0]
