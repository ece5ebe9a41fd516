# SPDX-License-Identifier: Apache-2.0
"""Both nodes, `panda_dynamics` and `payload_estimator`, in one process that computes what they share once.

One subscription and one `ArmMonitor` serve both. `dynamics` is given each payload directly, from the next sample on,
as in `replay`; so it has no `payload_topic`, and the input's parameters are those of `panda_dynamics`.
"""

from panda_dynamics_ros.nodes.dynamics import DynamicsNode
from panda_dynamics_ros.nodes.joint_state_input import Sample, columns_of
from panda_dynamics_ros.nodes.payload_estimator import PayloadEstimatorNode
from panda_dynamics_ros.nodes.runner import run_node


def make_nodes() -> tuple[DynamicsNode, PayloadEstimatorNode]:
    """Both nodes, `panda_dynamics` and `payload_estimator`, on one pipeline."""
    dynamics = DynamicsNode(alone=False)
    estimator = PayloadEstimatorNode(dynamics.samples, **dynamics.options)

    def estimate(samples: list[Sample]) -> None:
        rows = estimator.monitor.update_rows(*columns_of(samples), payload=estimator.enabled)
        estimator.publish(samples, rows)
        dynamics.publish(samples, rows)

    dynamics.monitor, dynamics.samples.estimate = estimator.monitor, estimate
    dynamics.markers.payload = estimator.markers.message
    return dynamics, estimator


if __name__ == "__main__":
    raise SystemExit(run_node(make_nodes, kernels="torques_and_pose"))
