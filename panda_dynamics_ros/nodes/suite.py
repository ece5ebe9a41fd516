# SPDX-License-Identifier: Apache-2.0
"""Both nodes, `panda_dynamics` and `payload_estimator`, in one process that computes what they share once.

One subscription and one `ArmMonitor` serve both. `dynamics` is given each payload directly, from the next sample on,
as in `replay`; so it has no `payload_topic`, and the input's parameters are those of `panda_dynamics`.
"""

from functools import partial

from panda_dynamics_ros.nodes import dynamics, payload_estimator
from panda_dynamics_ros.nodes.joint_state_input import Sample, columns_of
from panda_dynamics_ros.nodes.runner import run_node


class Suite:
    """Both nodes on one pipeline."""

    def __init__(self) -> None:
        self.dynamics = dynamics.DynamicsNode(alone=False)
        self.estimator = payload_estimator.PayloadEstimatorNode(self.dynamics.samples, **self.dynamics.options)
        self.dynamics.monitor = self.estimator.monitor
        self.dynamics.samples.estimate = self._estimate
        self.dynamics.markers.payload = self.estimator.markers.message
        self.nodes = self.dynamics, self.estimator

    def _estimate(self, samples: list[Sample]) -> None:
        rows = self.dynamics.monitor.update_rows(*columns_of(samples), payload=self.estimator.enabled)
        self.estimator.publish(samples, rows)
        self.dynamics.publish(samples, rows)


main = partial(run_node, lambda: Suite().nodes, kernels="answers")


if __name__ == "__main__":
    raise SystemExit(main())
