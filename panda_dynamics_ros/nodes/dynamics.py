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

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.estimation import MomentumObserver
from panda_dynamics_ros.nodes import conversions, parameters
from panda_dynamics_ros.nodes.contact_output import ContactOutput, rehearse_contacts
from panda_dynamics_ros.nodes.encoded_message import EncodedMessage
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput
from panda_dynamics_ros.nodes.robot_markers import RobotMarkers
from panda_dynamics_ros.nodes.runner import run_node
from panda_dynamics_ros.nodes.topics import publisher


class Answers(NamedTuple):
    """What the node publishes with every sample, but for stamps and numbers."""

    torques: EncodedMessage
    pose: EncodedMessage
    o_t_ee: EncodedMessage

    @classmethod
    def of(cls, samples: JointStateInput) -> Answers:
        """With the names that the input has found."""
        names, frame = samples.joint_names, samples.base_frame
        return cls(
            EncodedMessage(lambda stamp, torques: conversions.torque_message(stamp, names, torques), len(names)),
            EncodedMessage(lambda stamp, numbers: conversions.pose_message(stamp, frame, numbers), 7),
            EncodedMessage(lambda stamp, columns: conversions.o_t_ee_message(columns), 16),
        )


class DynamicsNode(Node):
    """Publishes, with the stamp of each joint state, what the arm's model says about it."""

    def __init__(self) -> None:
        super().__init__("panda_dynamics")
        bandwidth = parameters.fixed(
            self, "external_torque_bandwidth_hz", 10.0, "Low-pass bandwidth of the external torques, Hz.", 0.01, 500.0
        )
        self._input = JointStateInput(self, self._on_sample)
        self._observer = MomentumObserver(self._input.robot, bandwidth)
        self._gravity = publisher(self, JointState, "~/gravity_torques")
        self._coriolis = publisher(self, JointState, "~/coriolis_torques")
        self._external = publisher(self, JointState, "~/external_torques")
        self._pose = publisher(self, PoseStamped, "~/current_pose")
        self._o_t_ee = publisher(self, Float64MultiArray, "~/o_t_ee")
        self._encoded: Answers | None = None
        self._contact = ContactOutput(self, self._input, self._observer)
        self._markers = RobotMarkers(self, self._input)
        self._diagnostics = publisher(self, DiagnosticArray, "/diagnostics")
        self.create_timer(1.0, self._publish_diagnostics)

    def _on_sample(self, header_stamp: Time, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        torques, poses, o_t_ee = self._encoded = self._encoded or Answers.of(self._input)
        state = robot_state(self._input.robot, q, dq)
        self._gravity.publish(torques.at(header_stamp, state.gravity_torques))
        self._coriolis.publish(torques.at(header_stamp, state.coriolis_torques))
        external = self._observer.update(stamp, q, dq, tau)
        self._external.publish(torques.at(header_stamp, external))
        self._pose.publish(poses.at(header_stamp, conversions.pose_numbers(state.T_base_ee)))
        self._o_t_ee.publish(o_t_ee.at(header_stamp, state.T_base_ee.T))
        if self._contact.take(header_stamp, stamp, q, dq, tau, external):
            self._publish_diagnostics()
        self._markers.remember(header_stamp, q, self._contact.felt)

    def _publish_diagnostics(self) -> None:
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        message.status = [self._input.diagnostic(), self._contact.diagnostic()]
        self._diagnostics.publish(message)


def _warm_up() -> None:
    """Compile, or load what was compiled before, while nothing waits for an answer yet."""
    robot = load_robot("panda")
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    robot_state(robot, middle, 0.0 * middle)
    MomentumObserver(robot).update(0.0, middle, 0.0 * middle, 0.0 * middle)
    rehearse_contacts(robot, middle)


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    return run_node(DynamicsNode, args, prepare=_warm_up)


if __name__ == "__main__":
    sys.exit(main())
