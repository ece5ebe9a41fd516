# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics`: gravity, Coriolis and external torques, pose and contacts of every joint state."""

from __future__ import annotations

import sys
from typing import NamedTuple

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.robot_state import RobotState, robot_state
from panda_dynamics_ros.estimation import ArmMonitor
from panda_dynamics_ros.estimation.arm_output import ArmOutput, DynamicsOutput
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.contact_output import ContactOutput, PayloadInput, declare_contact_options
from panda_dynamics_ros.nodes.encoded_messages import EncodedMessage
from panda_dynamics_ros.nodes.interface import fixed, now, publisher
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput
from panda_dynamics_ros.nodes.markers import RobotMarkers
from panda_dynamics_ros.nodes.runner import run_node


class EncodedOutputs(NamedTuple):
    """The messages that go out with every sample, encoded but for stamps and numbers."""

    torques: EncodedMessage
    pose: EncodedMessage
    o_t_ee: EncodedMessage

    @classmethod
    def of(cls, samples: JointStateInput) -> EncodedOutputs:
        """With the joint names and frames that the input has found."""
        names, frame = samples.joint_names, samples.base_frame
        return cls(
            EncodedMessage(lambda stamp, torques: conversions.torque_message(stamp, names, torques), len(names)),
            EncodedMessage(lambda stamp, numbers: conversions.pose_message(stamp, frame, numbers), 7),
            EncodedMessage(lambda stamp, columns: conversions.o_t_ee_message(columns), 16),
        )


class DynamicsNode(Node):
    """Publishes what the arm's model says about each joint state, with its stamp.

    Parameters
    ----------
    alone: whether the payload comes over `payload_topic`; otherwise a payload estimator shares `monitor` (`suite`).

    Attributes
    ----------
    samples: the input.
    options: those of its `ArmMonitor` that its parameters give.
    monitor: the pipeline.
    """

    def __init__(self, alone: bool = True) -> None:
        super().__init__("panda_dynamics")
        bandwidth = fixed(
            self, "external_torque_bandwidth_hz", 10.0, "Low-pass bandwidth of the external torques, Hz.", 0.01, 500.0
        )
        self.samples = JointStateInput(self, self._on_sample)
        self.options = {"external_torque_bandwidth_hz": bandwidth, "contact": declare_contact_options(self)}
        self.monitor = ArmMonitor(self.samples.robot, **self.options)
        self._gravity = publisher(self, JointState, "~/gravity_torques")
        self._coriolis = publisher(self, JointState, "~/coriolis_torques")
        self._external = publisher(self, JointState, "~/external_torques")
        self._pose = publisher(self, PoseStamped, "~/current_pose")
        self._o_t_ee = publisher(self, Float64MultiArray, "~/o_t_ee")
        self._encoded: EncodedOutputs | None = None
        self._contact = ContactOutput(self, self.samples)
        self._payload = PayloadInput(self, self.samples, lambda body: self.monitor.carry(body)) if alone else None
        self._markers = RobotMarkers(self, self.samples)
        self._diagnostics = publisher(self, DiagnosticArray, "/diagnostics")
        self.create_timer(1.0, self._publish_diagnostics)

    def _on_sample(self, header_stamp: Time, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        state = self.publish_model(header_stamp, q, dq)
        self.publish(header_stamp, q, self.monitor.update_dynamics(stamp, q, dq, tau, state))

    def publish_model(self, header_stamp: Time, q: FloatArray, dq: FloatArray) -> RobotState:
        """Publish gravity torques, Coriolis torques and pose at q and dq (n,), before the estimators compute.

        Controllers wait for them, and the estimators of a sample take ten times as long.
        """
        torques, poses, _ = self._encoded = self._encoded or EncodedOutputs.of(self.samples)
        state = robot_state(self.monitor.robot, q, dq)
        self._gravity.publish(torques.at(header_stamp, state.gravity_torques))
        self._coriolis.publish(torques.at(header_stamp, state.coriolis_torques))
        self._pose.publish(poses.at(header_stamp, conversions.pose_numbers(state.T_base_ee)))
        return state

    def publish(self, header_stamp: Time, q: FloatArray, output: DynamicsOutput | ArmOutput) -> None:
        """Publish the estimators' results for a sample with joint positions q (n,), rad, after `publish_model`."""
        assert self._encoded is not None
        self._external.publish(self._encoded.torques.at(header_stamp, output.external_torques))
        self._o_t_ee.publish(self._encoded.o_t_ee.at(header_stamp, output.T_base_ee.T))
        self._contact.publish(header_stamp, q, output, self.monitor.contact_detector.ratio)
        if output.contact_changed:
            self._publish_diagnostics()
        touched = output.contact is not None and output.contact.lasts
        self._markers.update(header_stamp, q, output.wrench.wrench if touched else None)

    def _publish_diagnostics(self) -> None:
        statuses = self.samples.diagnostic(), self._contact.diagnostic(self._payload)
        self._diagnostics.publish(conversions.diagnostic_array(now(self), statuses))


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    return run_node(DynamicsNode, args, kernels="dynamics")


if __name__ == "__main__":
    sys.exit(main())
