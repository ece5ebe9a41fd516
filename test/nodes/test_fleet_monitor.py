# SPDX-License-Identifier: Apache-2.0
"""The diagnostics of many arms, gathered by arm."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.parameter import Parameter

from nodes.probe import Probe
from nodes.processes import Nodes
from panda_dynamics_ros.nodes import conversions, fleet_monitor
from panda_dynamics_ros.nodes.fleet_monitor import FleetMonitorNode

OK, WARN, ERROR, STALE = (getattr(DiagnosticStatus, name) for name in ("OK", "WARN", "ERROR", "STALE"))


def array(*said: tuple[bytes, str]) -> DiagnosticArray:
    return DiagnosticArray(status=[conversions.status_message(level, name, name[-4:], {}, "") for level, name in said])


def test_arms_are_gathered(probe: Probe, nodes: Nodes) -> None:
    """A real process; `left_two` is not `left`, and a name that is no arm's is left out."""
    nodes.start("fleet_monitor", arms=["left", "/left_two/", "cell/right"], stale_timeout_s=2.0)
    heard: list[DiagnosticArray] = []
    probe.node.create_subscription(DiagnosticArray, "/diagnostics_agg", heard.append, 10)
    publisher = probe.publisher(DiagnosticArray, "/diagnostics")
    message = array(
        (OK, "left/panda_dynamics: joint states"), (WARN, "left/panda_dynamics: contact"),
        (ERROR, "left_two/payload_estimator: joint states"), (OK, "camera: stream"),
    )  # fmt: skip

    def levels() -> dict[str, bytes]:
        return {status.name: status.level for status in heard[-1].status} if heard else {}

    def complete() -> bool:
        publisher.publish(message)
        return levels().get("/Arms/left") == WARN

    probe.until(complete, "the arms in /diagnostics_agg")
    assert levels() == {
        "/Arms": STALE,
        "/Arms/left": WARN,
        "/Arms/left_two": ERROR,
        "/Arms/cell/right": STALE,
        "/Arms/left/panda_dynamics: contact": WARN,
        "/Arms/left/panda_dynamics: joint states": OK,
        "/Arms/left_two/payload_estimator: joint states": ERROR,
    }
    summaries = {status.name: status.message for status in heard[-1].status}
    assert summaries["/Arms"] == "1 warn, 1 have errors, 1 are silent"
    assert summaries["/Arms/left"] == "panda_dynamics: contact: tact"
    probe.until(lambda: levels()["/Arms/left/panda_dynamics: contact"] == STALE, "silence to be noticed")
    assert levels()["/Arms/left"] == STALE


@pytest.mark.parametrize("arms", [[""], ["left", "left/"]])
def test_a_fleet_has_arms_each_once(arms: list[str], probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_monitor, "fixed", lambda node, name, *_: Parameter(name, value=arms).value)
    with pytest.raises(ValueError, match="expected namespaces, each once"):
        FleetMonitorNode()
