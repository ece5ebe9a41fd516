# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics`: gravity, Coriolis and external torques, pose and contacts of every joint state."""

import math

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.estimation import ArmMonitor, ArmRows, contact_wrench
from panda_dynamics_ros.estimation.validation import SampleGate
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.contact_output import ContactOutput, PayloadInput, declare_contact_options
from panda_dynamics_ros.nodes.encoded_messages import NumberPublisher
from panda_dynamics_ros.nodes.interface import diagnose, fixed
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput, Sample, columns_of
from panda_dynamics_ros.nodes.markers import RobotMarkers
from panda_dynamics_ros.nodes.runner import run_node
from panda_dynamics_ros.pose import unit_quaternion
from panda_dynamics_ros.warm_up import warm_up_beside


class DynamicsNode(Node):
    """Publishes what the arm's model says about each joint state, with its stamp.

    alone: whether the payload comes over `payload_topic`; otherwise a payload estimator shares `monitor` (`suite`).
    options: those of its `ArmMonitor` that its parameters give.
    """

    def __init__(self, alone: bool = True) -> None:
        super().__init__("panda_dynamics")
        words = "Low-pass bandwidth of the external torques, Hz."
        bandwidth = fixed(self, "external_torque_bandwidth_hz", 10.0, words, 0.01, 500.0)
        # External torques wait for a third of the delay of their own low-pass, so that several samples are one block.
        gather_s = min(0.05, 1.0 / (3.0 * math.tau * bandwidth))  # s: what waits has to fit into the queue
        samples = self.samples = JointStateInput(self, self._estimate, gather_s, self._answer)
        self.options = {"external_torque_bandwidth_hz": bandwidth, "contact": declare_contact_options(self)}
        self.monitor, self._gate = ArmMonitor(samples.robot, **self.options), SampleGate(samples.robot)
        samples.is_estimating = warm_up_beside("dynamics" if alone else "suite", self.get_logger().info).is_set

        def torques(numbers: FloatArray) -> JointState:
            return conversions.torque_message(Time(), samples.joint_names, numbers)

        def pose(numbers: FloatArray) -> PoseStamped:
            return conversions.stamped_message(PoseStamped, Time(), samples.base_frame, numbers)

        self._gravity, self._coriolis, self._external = (
            NumberPublisher(self, JointState, f"~/{kind}_torques", torques, samples.robot.n)
            for kind in ("gravity", "coriolis", "external")
        )
        self._pose = NumberPublisher(self, PoseStamped, "~/current_pose", pose, 7)
        self._o_t_ee = NumberPublisher(self, Float64MultiArray, "~/o_t_ee", conversions.o_t_ee_message, 16)
        self._contact = ContactOutput(self, samples, lambda: self.monitor.contact_detector.largest_ratio)
        self._payload = PayloadInput(self, samples, lambda body: self.monitor.carry(body)) if alone else None
        self.markers = RobotMarkers(self, samples, self._payload.topic if self._payload else "")
        self._diagnose = diagnose(self, lambda: (samples.diagnostic(), self._contact.diagnostic(self._payload)))

    def _answer(self, sample: Sample) -> None:
        """Publish what needs no estimator, and what controllers wait for: gravity and Coriolis torques and the pose."""
        # They depend on q and dq: beyond the arm's limits these are refused. The gate has no sample to compare with.
        self._gate.examine(sample.stamp, np.array((sample.q, sample.dq, np.zeros(len(sample.q)))))
        state = robot_state(self.monitor.robot, sample.q, sample.dq)
        self._gravity.publish(sample.header_stamp, state.gravity_torques)
        self._coriolis.publish(sample.header_stamp, state.coriolis_torques)
        T = state.T_base_ee  # position, and quaternion (x, y, z, w)
        self._pose.publish(sample.header_stamp, np.array([*T[:3, 3].tolist(), *unit_quaternion(T[:3, :3])]))
        self._o_t_ee.publish(sample.header_stamp, state.T_base_ee.T)

    def _estimate(self, samples: list[Sample]) -> None:
        self.publish(samples, self.monitor.update_rows(*columns_of(samples), payload=False))

    def publish(self, samples: list[Sample], rows: ArmRows) -> None:
        """Publish the estimators' results for samples that were answered before."""
        contacts = dict(rows.contacts)
        wrenches: list[FloatArray | None] = [None] * len(samples)  # those that nobody needs would take a tenth of all
        if contacts or self._contact.lasts or self._contact.wrenches.handle.get_subscription_count():
            q = np.array([sample.q for sample in samples])
            wrenches = [*contact_wrench(self.monitor.robot, q, rows.external_torques, rows.unexplained).wrench]
        for k, (sample, wrench) in enumerate(zip(samples, wrenches, strict=True)):
            self._external.publish(sample.header_stamp, rows.external_torques[k])
            self._contact.publish(sample, wrench, contacts.get(k))
            if k in contacts:
                self._diagnose()
            self.markers.update(sample, wrench if self._contact.lasts else None)


if __name__ == "__main__":
    raise SystemExit(run_node(DynamicsNode, kernels="torques_and_pose"))
