# SPDX-License-Identifier: Apache-2.0
"""How the nodes open their topics: their quality of service, which users can override by topic (docs/topics.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Best effort matches any publisher; 200 samples ride out a pause of the machine of 0.2 s at 1 kHz.
INPUT_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_OVERRIDABLE = QoSOverridingOptions.with_default_policies()


def publisher(node: Node, message_type: type, topic: str, qos: QoSProfile | int = 10) -> Publisher:
    """A publisher of the node; `qos` may be just the depth, and is then reliable and volatile."""
    return node.create_publisher(message_type, topic, qos, qos_overriding_options=_OVERRIDABLE)


def subscribe(
    node: Node, message_type: type, topic: str, handle: Callable[[Any], None], qos: QoSProfile, raw: bool = False
) -> None:
    """Call `handle` with each message of the topic, or with its bytes if it is to be `raw`."""
    node.create_subscription(message_type, topic, handle, qos, qos_overriding_options=_OVERRIDABLE, raw=raw)
