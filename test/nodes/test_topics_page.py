# SPDX-License-Identifier: Apache-2.0
"""docs/topics.md names every topic and service of the nodes, with its type, and no other."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from bag_files import samples
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import Parameter

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.nodes.franka_state import NAME, FrankaStateOutput
from panda_dynamics_ros.recordings import write_joint_states

PAGE = Path(__file__).resolve().parents[2] / "docs" / "topics.md"
# What rclpy gives to every node.
ROS_OWN = re.compile(
    r"/rosout|/parameter_events|/clock|.*_parameters(_atomically)?|.*/get_parameter_types|.*/get_type_description"
)


def type_name(kind: Any) -> str:
    """geometry_msgs.msg._pose_stamped.PoseStamped -> geometry_msgs/PoseStamped."""
    return f"{kind.__module__.partition('.')[0]}/{kind.__name__}"


def interface(node: Any) -> dict[str, str]:
    """Types of a node's topics and services; of `sub `, those that it listens to."""
    found = {f"sub {each.topic_name}": type_name(each.msg_type) for each in node.subscriptions}
    found |= {each.topic_name: type_name(each.msg_type) for each in node.publishers}
    found |= {node.resolve_service_name(each.srv_name): type_name(each.srv_type) for each in node.services}
    return {
        name if name == "/diagnostics" else name.replace("sub /", "sub ").removeprefix("/"): kind
        for name, kind in found.items()
        if not ROS_OWN.fullmatch(name.removeprefix("sub "))
    }


def rows(title: str) -> dict[str, str]:
    """Types by name, of the table below a title of the page."""
    (section,) = re.findall(rf"^## .*{title}.*?$(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    cells = [line.split("|")[1:3] for line in section.splitlines() if "_" in line and line.startswith("| ")]
    return {
        prefix + name: kind.strip()
        for names, kind in cells
        for prefix in ("sub " if names.startswith(" sub ") else "",)
        for name in re.findall(r"`(.+?)`", names)
    }


def test_dynamics(dynamics):
    assert rows("`dynamics`") == interface(dynamics)


def test_payload_estimator(estimator):
    """`apply_load` is a node's beside it, which waits for the robot in threads of its own."""
    assert rows("`payload_estimator`") == interface(estimator) | interface(estimator._load._helper)


def test_franka_state(probe):
    node = Node(NAME)
    FrankaStateOutput(node, load_robot("panda").joint_names)
    found = interface(node)
    node.destroy_node()
    assert rows("`franka_state`") == found


def test_simulated_panda_and_bag_player(probe, nodes, tmp_path):
    """The player as a process of its own: it is nothing without a recording."""
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    from panda_dynamics_ros.nodes.simulated_panda import SimulatedPandaNode

    write_joint_states(tmp_path / "bag", samples(10))
    nodes.start("bag_player", bag=tmp_path / "bag", clock=True)
    published: dict[str, list[str]] = {}

    def known() -> bool:
        with contextlib.suppress(NodeNameNonExistentError):  # heard of, and not yet of what it publishes
            published.update(probe.node.get_publisher_names_and_types_by_node("bag_player", nodes.namespace))
        return "/clock" in published and f"{nodes.namespace}/joint_states" in published

    probe.until(known, "the player's topics")
    plant = SimulatedPandaNode(parameter_overrides=[Parameter("follow_trajectories", value=True)])
    found = interface(plant)
    plant.destroy_node()
    for name, (kind,) in published.items():
        if name == "/clock" or not ROS_OWN.fullmatch(name):
            found[name.removeprefix(f"{nodes.namespace}/")] = kind.replace("/msg/", "/")
    assert rows("`simulated_panda` and `bag_player`") == found
