# SPDX-License-Identifier: Apache-2.0
"""Both nodes, `panda_dynamics` and `payload_estimator`, in one process that computes what they share once.

One subscription and one `ArmMonitor` serve both. `dynamics` is given each payload directly, from the next sample on,
as in `replay`; so it has no `payload_topic`, and the input's parameters are those of `panda_dynamics`.
"""

from __future__ import annotations

import sys

from builtin_interfaces.msg import Time

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.nodes import dynamics, payload_estimator
from panda_dynamics_ros.nodes.runner import run_node


class Suite:
    """Both nodes on one pipeline."""

    def __init__(self) -> None:
        self.dynamics = dynamics.DynamicsNode(alone=False)
        self.estimator = payload_estimator.PayloadEstimatorNode(self.dynamics.samples, **self.dynamics.options)
        self._monitor = self.dynamics.monitor = self.estimator.monitor
        self.dynamics.samples.handle = self._on_sample

    def _on_sample(self, header_stamp: Time, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        state = self.dynamics.publish_model(header_stamp, q, dq)
        if self.estimator.enabled:
            output = self._monitor.update(stamp, q, dq, tau, state)
            self.estimator.publish(header_stamp, output)
            self.dynamics.publish(header_stamp, q, output)
        else:
            self.dynamics.publish(header_stamp, q, self._monitor.update_dynamics(stamp, q, dq, tau, state))
        self.estimator.move_markers(header_stamp, q)


def _make_nodes() -> tuple[dynamics.DynamicsNode, payload_estimator.PayloadEstimatorNode]:
    suite = Suite()
    return suite.dynamics, suite.estimator


def main(args: list[str] | None = None) -> int:
    """Run the nodes; returns the exit code."""
    return run_node(_make_nodes, args, kernels="suite")


if __name__ == "__main__":
    sys.exit(main())
