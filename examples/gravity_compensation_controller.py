#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A controller that lets the arm float with whatever it carries, on the torques that `panda_dynamics` publishes.

    python3 examples/gravity_compensation_controller.py --ros-args -r joint_states:=franka/joint_states \\
        -r gravity_compensation/commands:=joint_group_effort_controller/commands

It sends std_msgs/Float64MultiArray, N m from base to flange, at 1 kHz: what JointGroupEffortController of
ros2_control takes as `~/commands`. Which torques to add depends on who else adds them: docs/controller.md.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from geometry_msgs.msg import InertiaStamped
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import panda_dynamics_ros as pdr
from panda_dynamics_ros.nodes.interface import declare_arm, fixed
from panda_dynamics_ros.nodes.runner import run_node
from panda_dynamics_ros.robot.joint_mapping import OTHER_JOINTS, JointMapping

Torques = NDArray[np.float64]
PERIOD = 0.001  # s
# The newest sample is the only one that counts.
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def limited(wanted: Torques, before: Torques, step: float) -> Torques:
    """The torques (n,), N m, nearest to `wanted` that differ from those `before` by `step` at most, each."""
    return before + np.clip(wanted - before, -step, step)


class GravityCompensation(Node):
    """Sends gravity (unless the robot adds it itself), Coriolis and payload torques.

    While these are stale it sends what holds the arm still. Torques of one sample belong together: a gravity torque
    waits for the Coriolis torque with its stamp.
    """

    def __init__(self) -> None:
        super().__init__("gravity_compensation")
        self.robot = declare_arm(self, with_effort=False)
        self.robot_adds_gravity = fixed(
            self, "robot_adds_gravity", True, "The robot adds the arm's gravity itself, as a real Franka does."
        )
        self.payload_scale = fixed(
            self, "payload_scale", 1.0, "Part of the payload that is added; 0 where set_load was called.", 0.0, 1.0
        )
        self.stale_timeout = fixed(
            self, "stale_timeout_s", 0.02, "Silence after which torques are stale, s.", 0.002, 1.0
        )
        # libfranka stops the arm beyond 1000 N m/s (rate_limiting.h, kMaxTorqueRate).
        rate = fixed(self, "torque_rate_nm_per_s", 500.0, "Largest rate of a torque, N m/s.", 1.0, 1000.0)
        self.step = rate * PERIOD
        self.payload = pdr.InertialParameters.zero()
        self.gravity, self.coriolis = JointState(), JointState()
        self.mapping: JointMapping | None = None
        self.state: tuple[Torques, Torques] | None = None  # q, dq
        self.wanted, self.held = np.zeros((2, self.robot.n))
        self.command: Torques | None = None  # until torques come, nothing is commanded
        self.arrived = 0.0  # s, when torques came last
        self.create_subscription(JointState, "joint_states", self.on_sample, LATEST)
        self.create_subscription(JointState, "panda_dynamics/gravity_torques", self.on_gravity, LATEST)
        self.create_subscription(JointState, "panda_dynamics/coriolis_torques", self.on_coriolis, LATEST)
        self.create_subscription(InertiaStamped, "payload_estimator/payload", self.on_payload, LATCHED)
        self.commands = self.create_publisher(Float64MultiArray, "~/commands", 1)
        # A control loop keeps its own time, whatever /clock does.
        self.create_timer(PERIOD, self.on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def on_sample(self, message: JointState) -> None:
        """Remember where the arm is, for the payload; the names to look for are those of the torques."""
        if self.mapping is None:
            return
        try:
            q, dq, _ = self.mapping.extract(message.name, message.position, message.velocity, message.effort)
        except pdr.PandaDynamicsError as error:  # panda_dynamics leaves such a sample out, too
            if getattr(error, "reason", "") != OTHER_JOINTS:  # a gripper's message is no sample
                self.get_logger().warning(f"sample left out: {error}", throttle_duration_sec=5.0)
            return
        self.state = q, dq

    def on_gravity(self, message: JointState) -> None:
        """The first half of a sample's torques."""
        self.gravity = message
        self.combine()

    def on_coriolis(self, message: JointState) -> None:
        """The second half."""
        self.coriolis = message
        self.combine()

    def on_payload(self, message: InertiaStamped) -> None:
        """What the arm carries, in the flange frame."""
        i = message.inertia
        inertia = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]])
        self.payload = pdr.InertialParameters(i.m, np.array([i.com.x, i.com.y, i.com.z]), inertia)

    def combine(self) -> None:
        """Torques to send, once gravity and Coriolis of one sample are here."""
        if not self.gravity.name or not self.coriolis.name or self.gravity.header.stamp != self.coriolis.header.stamp:
            return
        self.mapping = self.mapping or JointMapping(self.gravity.name)
        if self.state is None:
            return
        q, dq = self.state
        own = np.zeros(self.robot.n) if self.robot_adds_gravity else np.array(self.gravity.effort)
        load = self.payload_scale * self.payload.vector
        still = np.zeros(self.robot.n)
        self.held = own + self.robot.payload_regressor(q, still, still) @ load
        moving = self.robot.payload_regressor(q, dq, still) @ load
        self.wanted = own + np.array(self.coriolis.effort) + moving
        self.arrived = time.monotonic()
        if self.command is None:
            self.command = own  # what has held the arm so far

    def on_timer(self) -> None:
        """One command; while torques are stale, those that held the arm still where it was last seen."""
        if self.command is None:
            return
        age = time.monotonic() - self.arrived
        stale = age > self.stale_timeout
        if stale:
            self.get_logger().error(f"no torques for {age:.2f} s: does panda_dynamics run?", throttle_duration_sec=1.0)
        self.command = limited(self.held if stale else self.wanted, self.command, self.step)
        self.commands.publish(Float64MultiArray(data=self.command.tolist()))


if __name__ == "__main__":
    sys.exit(run_node(GravityCompensation))
