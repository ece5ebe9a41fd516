# SPDX-License-Identifier: Apache-2.0
"""One look at many arms: what their nodes say in /diagnostics, gathered by arm on /diagnostics_agg.

Names are those of ROS's diagnostic_aggregator, so that rqt_robot_monitor shows them: `/Arms`, `/Arms/left`,
`/Arms/left/panda_dynamics: joint states`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import fixed, now, publisher, subscribe
from panda_dynamics_ros.nodes.runner import run_node

GROUP = "/Arms"
WORDS = {
    DiagnosticStatus.OK: "fine",
    DiagnosticStatus.WARN: "warn",
    DiagnosticStatus.ERROR: "have errors",
    DiagnosticStatus.STALE: "are silent",
}
"""In the order of their severity, as diagnostic_aggregator has it."""


class FleetMonitorNode(Node):
    """Keeps the last status of each name, and publishes all of them once a second."""

    def __init__(self) -> None:
        super().__init__("fleet_monitor")
        text = "Namespaces of the arms; one that is silent counts as stale."
        self._arms = [arm.strip("/") for arm in fixed(self, "arms", [""], text) if arm.strip("/")]
        if len(set(self._arms)) != len(self._arms) or not self._arms:
            raise ArgumentError(f"arms: expected namespaces, each once, got {self._arms}")
        text = "Silence after which a status counts as stale."
        self._timeout_ns = round(1e9 * fixed(self, "stale_timeout_s", 3.0, text, 0.1, 3600.0))
        self._heard: dict[str, dict[str, tuple[int, DiagnosticStatus]]] = {arm: {} for arm in self._arms}
        self._publisher = publisher(self, DiagnosticArray, "/diagnostics_agg")
        subscribe(self, DiagnosticArray, "/diagnostics", self.hear, QoSProfile(depth=10 * len(self._arms)))
        self.create_timer(1.0, self._publish)

    def hear(self, message: DiagnosticArray) -> None:
        """Keep what nodes of the arms say of themselves; other names are somebody else's."""
        for status in message.status:
            for arm, heard in self._heard.items():
                name = status.name.lstrip("/")
                if name.startswith(f"{arm}/"):
                    heard[name.removeprefix(f"{arm}/")] = (now(self), status)

    def statuses(self) -> list[DiagnosticStatus]:
        """One of all arms, one of each, and those that were heard, below it."""
        arms, below = [], []
        for arm, heard in self._heard.items():
            current = [self._current(f"{GROUP}/{arm}/{name}", *entry) for name, entry in sorted(heard.items())]
            level = _worst([status.level for status in current]) if current else DiagnosticStatus.STALE
            bad = [status for status in current if status.level == level != DiagnosticStatus.OK]
            said = "; ".join(f"{status.name.rpartition('/')[2]}: {status.message}" for status in bad)
            summary = (said or "fine") if current else "nothing heard"
            arms.append(conversions.status_message(level, f"{GROUP}/{arm}", summary, {}, arm))
            below += current
        counts = {words: sum(arm.level == level for arm in arms) for level, words in WORDS.items()}
        summary = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
        whole = conversions.status_message(_worst([arm.level for arm in arms]), GROUP, summary, {**counts}, "")
        return [whole, *arms, *below]

    def _current(self, name: str, heard_ns: int, status: DiagnosticStatus) -> DiagnosticStatus:
        silent = now(self) - heard_ns > self._timeout_ns
        level = DiagnosticStatus.STALE if silent else status.level
        return DiagnosticStatus(
            level=level, name=name, message=status.message, hardware_id=status.hardware_id, values=status.values
        )

    def _publish(self) -> None:
        self._publisher.publish(conversions.diagnostic_array(now(self), self.statuses()))


def _worst(levels: Sequence[bytes]) -> bytes:
    return max(levels, key=list(WORDS).index)


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    return run_node(FleetMonitorNode, args)


if __name__ == "__main__":
    sys.exit(main())
