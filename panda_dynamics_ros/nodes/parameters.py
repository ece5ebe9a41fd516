# SPDX-License-Identifier: Apache-2.0
"""Node parameters with descriptions, units and ranges."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node


def fixed(node: Node, name: str, default: Any, description: str) -> Any:
    """Declare a parameter that is read once, at start-up; returns its value."""
    return node.declare_parameter(name, default, ParameterDescriptor(description=description, read_only=True)).value


def in_range(node: Node, name: str, default: float, description: str, low: float, high: float) -> float:
    """Declare a number that may change at run time within [low, high]; returns its value."""
    span = FloatingPointRange(from_value=low, to_value=high)
    descriptor = ParameterDescriptor(description=description, floating_point_range=[span])
    return float(node.declare_parameter(name, default, descriptor).value)


def switch(node: Node, name: str, default: bool, description: str) -> bool:
    """Declare an on/off parameter that may change at run time; returns its value."""
    return bool(node.declare_parameter(name, default, ParameterDescriptor(description=description)).value)
