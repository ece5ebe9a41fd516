# SPDX-License-Identifier: Apache-2.0
"""Parameters describe themselves, as docs/parameters.md shows, and take effect."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import ReliabilityPolicy

from nodes.payload_stream import PayloadStream
from nodes.probe import Probe
from nodes.processes import PATH
from nodes.robot_stream import Script, nanoseconds_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8").splitlines()
CHANGEABLE = {"publish_period_s", "stale_timeout_s", "enabled"}
NEVER = {"pick_at_s", "release_at_s"}  # where negative


def test_the_page_is_what_the_nodes_declare():
    """In a process of its own: the nodes' names and parameters are those of a user."""
    pytest.importorskip("mujoco", reason="the simulated Panda declares its parameters only with MuJoCo")
    command = [sys.executable, str(ROOT / "docs" / "parameters_page.py")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PATH}, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == PAGE, "write it anew: python docs/parameters_page.py > docs/parameters.md"


def test_every_parameter_describes_itself():
    """Descriptions, ranges, units of physical quantities; what cannot change is read-only."""
    rows = [line.strip("| ").split(" | ") for line in PAGE if line.startswith("| `")]
    assert len(rows) > 60
    for quoted, kind, _, limits, unit, changes, description in rows:
        name = quoted.strip("`")
        assert description.endswith("."), name
        assert (changes == "at run time") == (name in CHANGEABLE), name
        assert limits or kind not in ("double", "integer") or name in NEVER, name
        assert unit or kind != "double", name


def test_the_period_changes_at_run_time(probe, nodes, panda):
    script, stream = Script(panda, 0.8), PayloadStream(probe, nodes)
    stream.greet(script)
    period = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=0.03)
    request = SetParameters.Request(parameters=[Parameter(name="publish_period_s", value=period)])
    (result,) = probe.call(SetParameters, f"{stream.node}/set_parameters", request).results
    assert result.successful
    stream.payloads.clear()
    stream.fresh = 41_000_000
    stream.feed(script, 0, len(script))
    stamps = [nanoseconds_of(payload.header.stamp) for payload in stream.payloads]
    steps = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert len(steps) >= 10
    # The next update after 30 ms; they are 10 ms apart, or 11 where the doubles of two stamps are a little closer.
    assert all(30_000_000 <= step <= 41_000_000 for step in steps), steps


def test_qos_overrides_take_effect(probe, fresh):
    """As `--ros-args -p qos_overrides...`, also of covariance and markers."""
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


def offered(probe: Probe, topic: str, node: str) -> set[ReliabilityPolicy]:
    """The reliability that a node offers on a topic."""
    return {
        info.qos_profile.reliability
        for info in probe.node.get_publishers_info_by_topic(topic)
        if f"{info.node_namespace}/{info.node_name}" == node
    }
