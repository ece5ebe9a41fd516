# SPDX-License-Identifier: Apache-2.0
"""Both nodes, `panda_dynamics` and `payload_estimator`, in one process that computes what they share once.

One subscription and one `ArmMonitor` serve both. `dynamics` is given each payload directly, from the next sample on,
as in `replay`; so it has no `payload_topic`, and the input's parameters are those of `panda_dynamics`.
"""

from __future__ import annotations

import sys

from panda_dynamics_ros.dynamics.robot_state import RobotState
from panda_dynamics_ros.nodes import dynamics, payload_estimator
from panda_dynamics_ros.nodes.joint_state_input import Sample
from panda_dynamics_ros.nodes.runner import run_node


class Suite:
    """Both nodes on one pipeline."""

    def __init__(self) -> None:
        self.dynamics = dynamics.DynamicsNode(alone=False)
        self.estimator = payload_estimator.PayloadEstimatorNode(self.dynamics.samples, **self.dynamics.options)
        self._monitor = self.dynamics.monitor = self.estimator.monitor
        self.dynamics.samples.estimate = self._estimate
        self.dynamics.markers.payload = self.estimator.markers.message

    def _estimate(self, sample: Sample, state: RobotState) -> None:
        if self.estimator.enabled:
            output = self._monitor.update(*sample[1:], state)
            self.estimator.publish(sample.header_stamp, output)
            self.dynamics.publish(sample, output)
        else:
            self.dynamics.publish(sample, self._monitor.update_dynamics(*sample[1:], state))


def _make_nodes() -> tuple[dynamics.DynamicsNode, payload_estimator.PayloadEstimatorNode]:
    suite = Suite()
    return suite.dynamics, suite.estimator


def main(args: list[str] | None = None) -> int:
    """Run the nodes; returns the exit code."""
    return run_node(_make_nodes, args, kernels="suite")


if __name__ == "__main__":
    sys.exit(main())
