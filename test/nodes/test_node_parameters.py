# SPDX-License-Identifier: Apache-2.0
"""Parameters describe themselves, keep their ranges, and those that cannot change say so."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from rcl_interfaces.msg import Parameter, ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.qos import ReliabilityPolicy

from nodes.payload_stream import PayloadStream
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script, nanoseconds_of
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.nodes.runner import CANNOT_START

READ_ONLY = {"robot", "arm_prefix", "joint_names", "F_T_EE", "base_frame", "flange_frame"}
CHANGEABLE = {"publish_period_s", "stale_timeout_s", "enabled"}
NUMBERS = (ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_INTEGER)
UNIT = re.compile(r"_(s|hz|kg|m|kgm2|nm|n|rad|deg|sigma)$")
RATIOS = {"rate", "contact_threshold"}


@pytest.fixture(scope="module")
def stream(probe: Probe, nodes: Nodes) -> PayloadStream:
    return PayloadStream(probe, nodes)


def assert_explained(descriptors: dict[str, ParameterDescriptor]) -> None:
    """Descriptions, ranges, units in the names of physical quantities; what cannot change is read-only."""
    for name, descriptor in descriptors.items():
        assert descriptor.description.endswith("."), name
        assert descriptor.read_only == (name not in CHANGEABLE), name
        may_be_negative = name in ("pick_at_s", "release_at_s")  # negative: never
        if descriptor.type in NUMBERS and not may_be_negative:
            assert descriptor.floating_point_range or descriptor.integer_range, name
        if descriptor.type == ParameterType.PARAMETER_DOUBLE and name not in RATIOS:
            assert UNIT.search(name), name


def set_parameter(probe: Probe, node: str, name: str, value: float) -> Any:
    parameter = Parameter(name=name, value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value))
    request = SetParameters.Request(parameters=[parameter])
    (result,) = probe.call(SetParameters, f"{node}/set_parameters", request).results
    return result


@pytest.mark.parametrize("module", ["payload_estimator", "dynamics", "simulated_panda"])
def test_every_parameter_describes_itself_and_has_a_value(
    module: str, stream: PayloadStream, probe: Probe, nodes: Nodes
) -> None:
    if module not in nodes.running():
        nodes.start(module, "-r", "joint_states:=elsewhere/joint_states")
    node = f"{nodes.namespace}/{'panda_dynamics' if module == 'dynamics' else module}"
    descriptors = probe.described(node)
    assert len(descriptors) > 5
    assert_explained(descriptors)
    assert module == "simulated_panda" or set(descriptors) >= READ_ONLY
    # As `ros2 param dump` asks for them, all at once: where one has none, rclpy answers with none at all.
    names = probe.call(ListParameters, f"{node}/list_parameters", again=5.0).result.names
    values = probe.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names), again=5.0).values
    assert len(values) == len(names)


def test_the_period_changes_at_run_time(stream: PayloadStream, probe: Probe, panda: RobotModel) -> None:
    script = Script(panda, 0.8)
    stream.greet(script)
    assert set_parameter(probe, stream.node, "publish_period_s", 0.03).successful
    stream.payloads.clear()
    stream.fresh = 41_000_000
    stream.feed(script, 0, len(script))
    stamps = [nanoseconds_of(payload.header.stamp) for payload in stream.payloads]
    steps = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert len(steps) >= 10
    # The next update after 30 ms; they are 10 ms apart, or 11 where the doubles of two stamps are a little closer.
    assert all(30_000_000 <= step <= 41_000_000 for step in steps), steps


# ---- quality of service ------------------------------------------------------------------------------------------


def test_qos_overrides_take_effect(probe: Probe, fresh: Nodes) -> None:
    """As `--ros-args -p qos_overrides...`, also of covariance and markers; and one that is none is an error."""
    node = f"{fresh.namespace}/payload_estimator"
    topics = [f"{node}/payload", f"{node}/payload_covariance", f"{node}/payload_markers", "/diagnostics"]
    overrides = {f"qos_overrides.{topic}.publisher.reliability": "best_effort" for topic in topics}
    heard = f"{fresh.namespace}/joint_states"
    fresh.start("payload_estimator", **overrides, **{f"qos_overrides.{heard}.subscription.reliability": "reliable"})
    for topic in topics:
        probe.until(lambda topic=topic: offered(probe, topic, node), f"a publisher of {topic}")  # type: ignore[misc]
        assert offered(probe, topic, node) == {ReliabilityPolicy.BEST_EFFORT}
    (subscription,) = probe.node.get_subscriptions_info_by_topic(heard)
    assert subscription.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert set(fresh.stop().values()) == {0}
    fresh.start("payload_estimator", **{f"qos_overrides.{topics[1]}.publisher.reliability": "sometimes"})
    assert fresh.wait("payload_estimator") == CANNOT_START
    last = fresh.log("payload_estimator").splitlines()[-1]
    assert last.startswith("error: ")
    assert "sometimes" in last


def offered(probe: Probe, topic: str, node: str) -> set[ReliabilityPolicy]:
    """The reliability that a node offers on a topic."""
    return {
        info.qos_profile.reliability
        for info in probe.node.get_publishers_info_by_topic(topic)
        if f"{info.node_namespace}/{info.node_name}" == node
    }
