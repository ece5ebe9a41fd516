# SPDX-License-Identifier: Apache-2.0
"""Writes docs/parameters.md from what the nodes themselves declare: python docs/parameters_page.py > docs/parameters.md

A test compares the page with what this prints. It needs ROS 2 and MuJoCo, but no other node.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes.bag_player import BagPlayerNode
from panda_dynamics_ros.nodes.dynamics import DynamicsNode
from panda_dynamics_ros.nodes.franka_state import FrankaStateNode
from panda_dynamics_ros.nodes.payload_estimator import PayloadEstimatorNode
from panda_dynamics_ros.nodes.simulated_panda import SimulatedPandaNode
from panda_dynamics_ros.recordings import JointStateSample, write_joint_states


class FrankaState(FrankaStateNode):
    """The node without a robot to connect to: it has declared its parameters when it fails."""

    __module__ = FrankaStateNode.__module__

    def __init__(self) -> None:
        with contextlib.suppress(ArgumentError):
            super().__init__()


NODES = (DynamicsNode, PayloadEstimatorNode, FrankaState, SimulatedPandaNode, BagPlayerNode)
# Those that every node has, or that rclpy describes in its own words.
ROS_OWN = ("use_sim_time", "start_type_description_service", "qos_overrides.")
# Ends of names that tell a unit; others are ratios, counts or words. In the order in which they are tried.
UNITS = {
    "_kgm2": "kg m^2", "_kg": "kg", "_hz": "Hz", "_nm": "N m", "_rad": "rad", "_s": "s", "_m": "m",
}  # fmt: skip
OTHER_UNITS = {
    "contact_threshold": "sigma", "rate": "times real time", "F_T_EE": "m, column-major",
    "gravity": "m/s^2", "mounting": "rad", "motor_constants": "N m/A", "rotor_inertia": "kg m^2",
}  # fmt: skip
ESCAPED = str.maketrans({"|": r"\|", "<": r"\<", "~": r"\~"})  # what Markdown would take for markup
BEGINNING = """\
# Parameters

<!-- Written by `python docs/parameters_page.py > docs/parameters.md`; a test compares. Do not edit by hand. -->

All parameters of the nodes, as `ros2 param describe` shows them, and `ros2 run panda_dynamics_ros NODE --help` before a
node runs. The launch files pass `config/parameters.yaml` to the nodes; use `params_file:=my_parameters.yaml` for your
own file. Most parameters are read once, at the start, and cannot change later (`read-only`). Those marked *at run time*
take effect with `ros2 param set`. A value that is out of range, or of the wrong type, is refused with the reason.

Every node also has `use_sim_time`, and for each topic `qos_overrides.<topic>.publisher.<policy>` or
`qos_overrides.<topic>.subscription.<policy>`, with the topic's full name and `history`, `depth` or `reliability` as the
policy ([topics](topics.md) has an example).
"""


def unit(name: str) -> str:
    """What a parameter is measured in; empty for words, switches and counts."""
    return OTHER_UNITS.get(name) or next((unit for end, unit in UNITS.items() if name.endswith(end)), "")


def type_of(value: Any) -> str:
    """ROS's name of the type of a default."""
    names: dict[type, str] = {bool: "bool", int: "integer", float: "double", str: "string"}
    if type(value) in names:
        return names[type(value)]
    return f"{names[type(next(iter(value)))]} array"


def default_of(value: Any) -> str:
    """A default as one would type it."""
    if isinstance(value, str):
        return f"`{value}`" if value else "empty"
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    if list(value) == [""]:
        return "empty"
    if list(value) == np.eye(4).ravel().tolist():
        return "identity"
    return f"`[{', '.join(map(str, value))}]`"


def range_of(descriptor: ParameterDescriptor) -> str:
    """From .. to, or nothing."""
    ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
    return "".join(f"{limits.from_value:.10g} .. {limits.to_value:.10g}" for limits in ranges)


def table(node: Node) -> Iterator[str]:
    """The node's parameters by their names, in Markdown."""
    yield "| parameter | type | default | range | unit | changes | what it is |"
    yield "|---|---|---|---|---|---|---|"
    for name in sorted(name for name in node.list_parameters([], 0).names if not name.startswith(ROS_OWN)):
        descriptor, value = node.describe_parameter(name), node.get_parameter_or(name).value
        changes = "read-only" if descriptor.read_only else "at run time"
        cells = (f"`{name}`", type_of(value), default_of(value), range_of(descriptor), unit(name), changes)
        yield f"| {' | '.join((*cells, descriptor.description.translate(ESCAPED)))} |"


def page() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / "bag"
        names = load_robot("panda").joint_names
        write_joint_states(bag, [JointStateSample(1.0, names, *np.ones((3, 7)))])
        # The player needs a recording; its path does not belong on the page.
        rclpy.init(args=["--ros-args", "-p", f"bag_player:bag:={bag}", "--log-level", "error"])
        try:
            parts = [BEGINNING]
            for kind in NODES:
                node = kind()
                executable = kind.__module__.rpartition(".")[2]
                lines = "\n".join(table(node)).replace(str(bag), "").replace("``", "empty")
                parts.append(f"## {executable}, node `{node.get_name()}`\n\n{lines}\n")
                node.destroy_node()
        finally:
            rclpy.try_shutdown()
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
