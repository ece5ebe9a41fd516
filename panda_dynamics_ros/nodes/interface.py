# SPDX-License-Identifier: Apache-2.0
"""How the nodes declare parameters and open topics.

Parameters have descriptions, units in their names, and ranges. The quality of service of every topic can be overridden
by parameters (docs/topics.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription

from panda_dynamics_ros.untrusted import printable

# Best effort matches any publisher; 200 samples last through a pause of the machine of 0.2 s at 1 kHz.
INPUT_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_OVERRIDABLE = QoSOverridingOptions.with_default_policies()


def diagnostic_name(node: Node) -> str:
    """The node's name in /diagnostics, which all namespaces share."""
    return str(node.get_fully_qualified_name()).lstrip("/")


def now(node: Node) -> int:
    """The node's clock, ns; 0 also where somebody publishes a negative /clock."""
    return max(0, int(node.get_clock().handle.get_now().nanoseconds))  # rclpy's own now() takes 4 us


def shortened(text: str, length: int = 300) -> str:
    """Text of others, such as names in a message, as a terminal may show it, at a length that fits a log line."""
    return printable(text if len(text) <= length else f"{text[:length]}.. ({len(text)} characters)")


def fixed(
    node: Node, name: str, default: Any, description: str, low: float | None = None, high: float | None = None
) -> Any:
    """Declare a parameter that is read once, at start-up; returns its value. Numbers may have a range."""
    return _declare(node, True, name, default, description, low, high)


def changeable(
    node: Node, name: str, default: Any, description: str, low: float | None = None, high: float | None = None
) -> Any:
    """Declare a parameter that may change at run time, a number within [low, high]; returns its value."""
    return _declare(node, False, name, default, description, low, high)


def _declare(
    node: Node, read_only: bool, name: str, default: Any, words: str, low: float | None, high: float | None
) -> Any:
    descriptor = ParameterDescriptor(description=words, read_only=read_only)
    if low is not None and high is not None:
        if isinstance(default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high))]
    return node.declare_parameter(name, default, descriptor).value


def publisher(node: Node, message_type: type, topic: str, qos: QoSProfile | int = 10) -> Publisher:
    """A publisher of the node; `qos` may be the depth alone, and is then reliable and volatile."""
    return node.create_publisher(message_type, topic, qos, qos_overriding_options=_OVERRIDABLE)


def subscribe(
    node: Node, message_type: type, topic: str, handle: Callable[[Any], None], qos: QoSProfile, raw: bool = False
) -> Subscription:
    """Call `handle` with each message of the topic, or with its bytes if `raw`."""
    return node.create_subscription(message_type, topic, handle, qos, qos_overriding_options=_OVERRIDABLE, raw=raw)


def messages_of(subscription: Subscription, most: int) -> Iterator[bytes]:
    """The encoded messages that wait in the queue of a `raw` subscription; its callback is then not called for them."""
    with subscription.handle:
        for _ in range(most):
            taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is None:
                return
            yield taken[0]


def log_answer(logger: RcutilsLogger, service: str, success: bool, words: str) -> None:
    """What a service answered, in the log."""
    if success:  # rclpy wants a line of code for each severity
        logger.info(f"{service}: {words}")
    else:
        logger.warning(f"{service}: {words}")
