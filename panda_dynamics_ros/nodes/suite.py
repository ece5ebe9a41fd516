# SPDX-License-Identifier: Apache-2.0
"""Both nodes, `panda_dynamics` and `payload_estimator`, in one process that computes what they share once.

One subscription and one `ArmMonitor` serve both. `dynamics` is given each payload directly, from the next sample on,
as in `replay`; so it has no `payload_topic`, and the input's parameters are those of `panda_dynamics`.
"""

import sys
from collections.abc import Iterator
from functools import partial

from panda_dynamics_ros.dynamics.robot_state import RobotState
from panda_dynamics_ros.estimation import ArmOutput, WrenchEstimator
from panda_dynamics_ros.nodes import dynamics, payload_estimator
from panda_dynamics_ros.nodes.joint_state_input import Sample, columns_of
from panda_dynamics_ros.nodes.runner import run_node


class Suite:
    """Both nodes on one pipeline."""

    def __init__(self) -> None:
        self.dynamics = dynamics.DynamicsNode(alone=False)
        self.estimator = payload_estimator.PayloadEstimatorNode(self.dynamics.samples, **self.dynamics.options)
        self._monitor = self.dynamics.monitor = self.estimator.monitor
        self._wrenches = WrenchEstimator(self._monitor.robot)
        self.dynamics.samples.estimate = self._estimate
        self.dynamics.markers.payload = self.estimator.markers.message
        self.nodes = self.dynamics, self.estimator

    def _estimate(self, samples: list[Sample], states: list[RobotState]) -> None:
        if not self.estimator.enabled:
            self.dynamics.estimate(samples, states)
            return
        # A block takes a fourth of the time that its samples take one by one.
        alone = len(samples) == 1
        outputs = [self._monitor.update(*samples[0][1:], states[0])] if alone else self._update_block(samples, states)
        for sample, output in zip(samples, outputs, strict=True):
            if output.is_due:
                self.estimator.publish(sample.header_stamp, output.estimate)
            self.dynamics.publish(sample, output)

    def _update_block(self, samples: list[Sample], states: list[RobotState]) -> Iterator[ArmOutput]:
        contact, estimate = self._monitor.contact_detector.contact, self._monitor.payload_estimator.estimate
        rows = self._monitor.update_rows(*columns_of(samples))
        estimates = {k: (each, is_due) for k, each, is_due in rows.estimates}
        contacts = dict(rows.contacts)
        for k, (sample, state) in enumerate(zip(samples, states, strict=True)):
            estimate, is_due = estimates.get(k, (estimate, False))
            contact, external = contacts.get(k, contact), rows.external_torques[k]
            wrench = self._wrenches.estimate(sample.q, external, rows.unexplained[k])
            yield ArmOutput(
                sample.stamp, state.gravity_torques, state.coriolis_torques, state.T_base_ee, external, wrench,
                contact, k in contacts, estimate, is_due, rows.residual[k],
            )  # fmt: skip


main = partial(run_node, lambda: Suite().nodes, kernels="suite")


if __name__ == "__main__":
    sys.exit(main())
