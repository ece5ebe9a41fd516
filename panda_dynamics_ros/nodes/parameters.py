# SPDX-License-Identifier: Apache-2.0
"""Node parameters with descriptions, units and ranges."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node


def fixed(
    node: Node, name: str, default: Any, description: str, low: float | None = None, high: float | None = None
) -> Any:
    """Declare a parameter that is read once, at start-up; returns its value. Numbers may have a range."""
    descriptor = ParameterDescriptor(description=description, read_only=True)
    if low is not None and high is not None:
        _add_range(descriptor, default, low, high)
    return node.declare_parameter(name, default, descriptor).value


def in_range(node: Node, name: str, default: float, description: str, low: float, high: float) -> float:
    """Declare a number that may change at run time within [low, high]; returns its value."""
    descriptor = ParameterDescriptor(description=description)
    _add_range(descriptor, default, low, high)
    return float(node.declare_parameter(name, default, descriptor).value)


def switch(node: Node, name: str, default: bool, description: str) -> bool:
    """Declare an on/off parameter that may change at run time; returns its value."""
    return bool(node.declare_parameter(name, default, ParameterDescriptor(description=description)).value)


def _add_range(descriptor: ParameterDescriptor, default: float, low: float, high: float) -> None:
    if isinstance(default, int):
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    else:
        descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high))]
