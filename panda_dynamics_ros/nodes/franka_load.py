# SPDX-License-Identifier: Apache-2.0
"""Hands an estimate to the robot: Franka's set_load service, where its messages are installed."""

from __future__ import annotations

from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from panda_dynamics_ros.errors import MissingDependencyError
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.estimation.payload.payload_file import franka_load


class FrankaLoadClient:
    """Calls set_load without waiting for the answer, which is logged."""

    def __init__(self, node: Node, service: str) -> None:
        self._node, self._service = node, service
        self._client: Client | None = None

    def apply(self, estimate: PayloadEstimate) -> str:
        """Send the estimate; returns what was sent, in words.

        Raises
        ------
        MissingDependencyError: franka_msgs is not installed, or nobody offers the service.
        """
        try:
            from franka_msgs.srv import SetLoad
        except ImportError as error:
            raise MissingDependencyError(
                "franka_msgs is not installed here: install franka_ros2, or set the load by hand with "
                f"{franka_load(estimate)}"
            ) from error
        if self._client is None:
            self._client = self._node.create_client(SetLoad, self._service)
        if not self._client.service_is_ready():
            raise MissingDependencyError(f"nobody offers the service {self._service}: is franka_ros2 running?")
        load = franka_load(estimate)
        future = self._client.call_async(SetLoad.Request(**load))
        future.add_done_callback(self._report)
        return f"sent to {self._service}: {load}"

    def _report(self, answered: Future) -> None:
        self._node.get_logger().info(f"set_load answered: {answered.result()}")
