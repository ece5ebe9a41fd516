# SPDX-License-Identifier: Apache-2.0
"""Gravity of an arm on a moving base, from a topic: a vector, or an IMU."""

from __future__ import annotations

import math

from geometry_msgs.msg import Vector3, Vector3Stamped
from rclpy.node import Node
from sensor_msgs.msg import Imu

from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError, SampleError
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.nodes.interface import INPUT_QOS, fixed, now, subscribe
from panda_dynamics_ros.robot import MovingBase

SOURCES = ("constant", "vector", "imu")
NO_GRAVITY = "no gravity"
OLD = 1.0  # s without a message, after which diagnostics warn
USUAL = (7.0, 13.0)  # m/s^2: on Earth, on a base that accelerates by 3 m/s^2


class GravityInput:
    """Lets the gravity of `robot` follow a topic, if asked to.

    `gravity_source` vector: topic `gravity`, geometry_msgs/Vector3Stamped, gravity in the frame of `mounting`. imu:
    topic `imu`, sensor_msgs/Imu, whose linear acceleration is minus gravity where the base does not accelerate, and
    both in one where it does; `mounting` is then that of the arm's base in the IMU's frame.

    Attributes
    ----------
    robot: the arm, to be used in place of the one given.
    """

    def __init__(self, node: Node, robot: RobotModel) -> None:
        self._node, self.robot, self._topic = node, robot, ""
        self._arrival = self._size = math.nan
        source = fixed(
            node,
            "gravity_source",
            SOURCES[0],
            "Gravity of a moving base: constant, or the topic gravity (vector: Vector3Stamped) or imu (Imu).",
        )
        if source not in SOURCES:
            raise ArgumentError(f"gravity_source: expected {', '.join(SOURCES)}, got {source!r}")
        if source == SOURCES[0]:
            return
        self._base = MovingBase(robot, _mounting(node))
        self.robot = self._base.robot
        if source == "vector":
            subscription = subscribe(node, Vector3Stamped, "gravity", self._on_vector, INPUT_QOS)
        else:
            subscription = subscribe(node, Imu, "imu", self._on_imu, INPUT_QOS)
        self._topic = subscription.topic_name

    def check(self) -> None:
        """Raise a SampleError as long as the first message is awaited: joint states cannot be used before."""
        if self._topic and math.isnan(self._arrival):
            raise SampleError(
                f"gravity: expected a message on {self._topic} first, got none (gravity_topic)",
                NO_GRAVITY,
            )

    @property
    def problem(self) -> str:
        """One sentence where the topic is silent or its vectors are no gravity; else empty."""
        if not self._topic or math.isnan(self._arrival):
            return ""  # `check` says so
        if (age := 1e-9 * now(self._node) - self._arrival) > OLD:
            return f"no gravity on {self._topic} for {age:.1f} s: the last one is used"
        if not USUAL[0] < self._size < USUAL[1]:
            return f"gravity on {self._topic} is {self._size:.3g} m/s^2: expected about 9.8, is it in m/s^2?"
        return ""

    def _on_vector(self, message: Vector3Stamped) -> None:
        self._follow(message.vector, 1.0)

    def _on_imu(self, message: Imu) -> None:
        self._follow(message.linear_acceleration, -1.0)

    def _follow(self, vector: Vector3, sign: float) -> None:
        try:
            self._base.set_gravity((sign * vector.x, sign * vector.y, sign * vector.z))
        except PandaDynamicsError as error:
            self._node.get_logger().warning(f"{self._topic}: message left out: {error}", throttle_duration_sec=5.0)
            return
        self._arrival, self._size = 1e-9 * now(self._node), math.hypot(vector.x, vector.y, vector.z)


def _mounting(node: Node) -> list[float]:
    """The parameter of this name, which may not be set."""
    return list(node.get_parameter_or("mounting").value or (0.0, 0.0, 0.0))
