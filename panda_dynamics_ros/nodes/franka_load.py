# SPDX-License-Identifier: Apache-2.0
"""Hands an estimate to the robot: Franka's set_load service, where its messages are installed.

It is the one call by which this package changes a real robot: the controller compensates the load from then on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.estimation.payload.payload_file import franka_load
from panda_dynamics_ros.nodes.interface import fixed

ANSWER_PATIENCE = 5.0  # s
LARGEST_MASS_STD = 0.1  # kg: the controller compensates 1 N of weight more or less by itself
SAME = 1e-3  # kg, m: what was sent, in single precision
FRANKA_MAX_LOAD = 3.0  # kg, Panda and FR3 data sheets


def unfit_for_load(estimate: PayloadEstimate) -> str:
    """What an estimate lacks to be sent to a robot, in words; empty where nothing."""
    if estimate.problem:
        return f"the estimate is not plausible ({estimate.problem})"
    if not estimate.is_carried:
        return f"no payload is found ({estimate.mass:.3f} +/- {estimate.mass_margin:.3f} kg)"
    if estimate.mass > FRANKA_MAX_LOAD:
        return f"{estimate.mass:.2f} kg are more than the arm carries ({FRANKA_MAX_LOAD:g} kg)"
    if estimate.std[0] > LARGEST_MASS_STD:
        return f"the mass has not converged (standard deviation {estimate.std[0]:.3f} kg, at most {LARGEST_MASS_STD:g})"
    if not estimate.com_is_known:
        return "the centre of mass is not known: move the wrist"
    missing = [
        name for name, known in zip(("mass", "x", "y", "z"), estimate.identifiable[:4], strict=True) if not known
    ]
    if missing:
        return f"not identifiable yet: {', '.join(missing)} (move the wrist)"
    if not estimate.payload.is_physical():
        return "the estimate is no body that can exist"
    return ""


class FrankaLoadClient:
    """Calls set_load, waits for the answer, and reads back what the robot then reports."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._service = fixed(
            node, "set_load_service", "service_server/set_load", "Franka's service that ~/apply_load calls."
        )
        self._state_topic = fixed(
            node,
            "robot_state_topic",
            "franka_robot_state_broadcaster/robot_state",
            "Franka's state, from which ~/apply_load reads back the load.",
        )
        self._client: Client | None = None

    async def apply(self, estimate: PayloadEstimate) -> tuple[bool, str]:
        """Send the estimate; whether the robot took it, and in words."""
        load = franka_load(estimate)
        try:
            from franka_msgs.srv import SetLoad
        except ImportError:
            return False, f"franka_msgs is not installed here: install franka_ros2, or set the load by hand with {load}"
        if self._client is None:
            self._client = self._node.create_client(SetLoad, self._service)
        if not self._client.service_is_ready():
            return False, f"nobody offers the service {self._service}: is franka_ros2 running?"
        answer = await self._within(self._client.call_async(SetLoad.Request(**load)), ANSWER_PATIENCE)
        if answer is None:
            return False, f"{self._client.srv_name} did not answer within {ANSWER_PATIENCE:g} s: {load}"
        if not answer.success:
            return False, f"the robot refused the load: {answer.error or 'no reason given'}; sent was {load}"
        return True, f"the robot took the load {load}; {await self._read_back(estimate)}"

    async def _read_back(self, estimate: PayloadEstimate) -> str:
        """What the robot's own state says of its load, in words."""
        try:
            from franka_msgs.msg import FrankaRobotState
        except ImportError:
            return "not read back (this franka_msgs has no FrankaRobotState)"
        received: Future = Future()

        def take(message: Any) -> None:
            if not received.done():
                received.set_result(message.inertia_load.inertia)

        subscription = self._node.create_subscription(FrankaRobotState, self._state_topic, take, 1)
        try:
            inertia = await self._within(received, ANSWER_PATIENCE)
        finally:
            self._node.destroy_subscription(subscription)
        if inertia is None:
            return f"not read back: nothing came on {subscription.topic_name}"
        same = np.allclose(
            [inertia.m, inertia.com.x, inertia.com.y, inertia.com.z], [estimate.mass, *estimate.com], atol=1e-3
        )
        words = f"{inertia.m:.3f} kg at ({inertia.com.x:.4f}, {inertia.com.y:.4f}, {inertia.com.z:.4f}) m"
        return f"it reports {words}" if same else f"BUT IT REPORTS {words}"

    async def _within(self, future: Future, patience: float) -> Any:
        """The result of a future; None if it does not come in time."""
        timer = self._node.create_timer(patience, lambda: None if future.done() else future.set_result(None))
        try:
            return await future
        finally:
            self._node.destroy_timer(timer)
