# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics`: gravity, Coriolis and external torques, pose and contacts of every joint state."""

import sys
from functools import partial

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.robot_state import RobotState, robot_state
from panda_dynamics_ros.estimation import ArmMonitor, DynamicsOutput
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.contact_output import ContactOutput, PayloadInput, declare_contact_options
from panda_dynamics_ros.nodes.encoded_messages import NumberPublisher
from panda_dynamics_ros.nodes.interface import fixed, now, publisher
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput, Sample
from panda_dynamics_ros.nodes.markers import RobotMarkers
from panda_dynamics_ros.nodes.runner import run_node


class DynamicsNode(Node):
    """Publishes what the arm's model says about each joint state, with its stamp.

    alone: whether the payload comes over `payload_topic`; otherwise a payload estimator shares `monitor` (`suite`).
    options: those of its `ArmMonitor` that its parameters give.
    """

    def __init__(self, alone: bool = True) -> None:
        super().__init__("panda_dynamics")
        bandwidth = fixed(
            self, "external_torque_bandwidth_hz", 10.0, "Low-pass bandwidth of the external torques, Hz.", 0.01, 500.0
        )
        samples = self.samples = JointStateInput(self, self.estimate, self._answer)
        self.options = {"external_torque_bandwidth_hz": bandwidth, "contact": declare_contact_options(self)}
        self.monitor = ArmMonitor(samples.robot, **self.options)

        def torques(stamp: Time, numbers: FloatArray) -> JointState:
            return conversions.torque_message(stamp, samples.joint_names, numbers)

        def pose(stamp: Time, numbers: FloatArray) -> PoseStamped:
            return conversions.stamped_message(PoseStamped, stamp, samples.base_frame, numbers)

        def o_t_ee(_: Time, numbers: FloatArray) -> Float64MultiArray:
            return conversions.o_t_ee_message(numbers)

        self._gravity, self._coriolis, self._external = (
            NumberPublisher(self, JointState, f"~/{kind}_torques", torques, samples.robot.n)
            for kind in ("gravity", "coriolis", "external")
        )
        self._pose = NumberPublisher(self, PoseStamped, "~/current_pose", pose, 7)
        self._o_t_ee = NumberPublisher(self, Float64MultiArray, "~/o_t_ee", o_t_ee, 16)
        self._contact = ContactOutput(self, samples)
        self._payload = PayloadInput(self, samples, lambda body: self.monitor.carry(body)) if alone else None
        self.markers = RobotMarkers(self, samples, self._payload.topic if self._payload else "")
        self._diagnostics = publisher(self, DiagnosticArray, "/diagnostics")
        self.create_timer(1.0, self._publish_diagnostics)

    def _answer(self, sample: Sample) -> RobotState:
        """Publish what needs no estimator, and what controllers wait for: gravity and Coriolis torques and the pose."""
        state = robot_state(self.monitor.robot, sample.q, sample.dq)
        self._gravity.publish(sample.header_stamp, state.gravity_torques)
        self._coriolis.publish(sample.header_stamp, state.coriolis_torques)
        self._pose.publish(sample.header_stamp, conversions.pose_numbers(state.T_base_ee))
        return state

    def estimate(self, samples: list[Sample], states: list[RobotState]) -> None:
        """Publish what needs no payload estimate."""
        for sample, state in zip(samples, states, strict=True):
            self.publish(sample, self.monitor.update_dynamics(*sample[1:], state))

    def publish(self, sample: Sample, output: DynamicsOutput) -> None:
        """Publish the estimators' results for a sample that was answered before."""
        self._external.publish(sample.header_stamp, output.external_torques)
        self._o_t_ee.publish(sample.header_stamp, output.T_base_ee.T)
        self._contact.publish(sample.header_stamp, sample.q, output, self.monitor.contact_detector.ratio)
        if output.contact_changed:
            self._publish_diagnostics()
        touched = output.contact is not None and output.contact.lasts
        self.markers.update(sample, output.wrench.wrench if touched else None)

    def _publish_diagnostics(self) -> None:
        statuses = self.samples.diagnostic(), self._contact.diagnostic(self._payload)
        self._diagnostics.publish(conversions.diagnostic_array(now(self), statuses))


main = partial(run_node, DynamicsNode, kernels="dynamics")


if __name__ == "__main__":
    sys.exit(main())
