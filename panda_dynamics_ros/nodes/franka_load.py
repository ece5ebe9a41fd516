# SPDX-License-Identifier: Apache-2.0
"""Hands an estimate to the robot: Franka's set_load service, where its messages are installed.

It is the one call by which this package changes a real robot: the controller compensates the load from then on.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from panda_dynamics_ros.estimation import ArmMonitor, PayloadEstimate
from panda_dynamics_ros.estimation.payload_file import franka_load
from panda_dynamics_ros.nodes.interface import fixed, serve

DISCOVERY_PATIENCE, ANSWER_PATIENCE = 0.5, 1.0  # s
LARGEST_MASS_STD = 0.1  # kg: the controller compensates 1 N of weight more or less by itself
FRANKA_MAX_LOAD = 3.0  # kg, Panda and FR3 data sheets


def unfit_for_load(estimate: PayloadEstimate, is_touched: bool = False) -> str:
    """What an estimate lacks to be sent to a robot, in words; empty where nothing."""
    if estimate.problem:
        return f"the estimate is not plausible ({estimate.problem})"
    if estimate.is_undecided:
        return "what has come may be a weight or a steady push: move the arm"
    if is_touched:
        return "a contact lasts"
    if not estimate.is_carried:
        return f"no payload is found ({estimate.mass:.3f} +/- {estimate.mass_margin:.3f} kg)"
    if estimate.mass > FRANKA_MAX_LOAD:
        return f"{estimate.mass:.2f} kg are more than the arm carries ({FRANKA_MAX_LOAD:g} kg)"
    if estimate.std[0] > LARGEST_MASS_STD:
        return f"the mass has not converged (standard deviation {estimate.std[0]:.3f} kg, at most {LARGEST_MASS_STD:g})"
    if not estimate.com_is_known:
        return "the centre of mass is not known: move the wrist"
    if not estimate.identifiable[:4].all():
        missing = np.array(["mass", "x", "y", "z"])[~estimate.identifiable[:4]]
        return f"not identifiable yet: {', '.join(missing)} (move the wrist)"
    if not estimate.payload.is_physical():
        return "the estimate is no body that can exist"
    return ""


class LoadService:
    """`~/apply_load`, served by a node and threads of its own: while the robot is waited for, samples are used."""

    def __init__(self, node: Node, monitor: ArmMonitor, is_current: Callable[[], bool] = lambda: True) -> None:
        self._node, self._monitor, self._is_current = node, monitor, is_current
        what = "Franka's service that ~/apply_load calls."
        self._service = fixed(node, "set_load_service", "service_server/set_load", what)
        # Without parameters; its names are resolved by `node`, which has the remappings.
        self._helper = Node(
            f"{node.get_name()}_load", namespace=node.get_namespace(), context=node.context,
            use_global_arguments=False, start_parameter_services=False, enable_rosout=False,
        )  # fmt: skip
        self._group = ReentrantCallbackGroup()  # of the answers, which come while the service's own callback waits
        serve(node, Trigger, "apply_load", self._on_apply, server=self._helper)
        self._executor = MultiThreadedExecutor(2, context=node.context)
        self._executor.add_node(self._helper)
        self._thread = threading.Thread(target=self._executor.spin, name="load")
        self._thread.start()

    def close(self) -> None:
        """End the threads, once a call that they serve is answered."""
        self._executor.shutdown()
        self._thread.join()
        self._helper.destroy_node()

    def _on_apply(self, _: Trigger.Request) -> tuple[bool, str]:
        """Send the estimate, if it is fit for it; whether the robot took it, and in words."""
        estimate, contact = self._monitor.payload_estimator.estimate, self._monitor.contact_detector.contact
        if not self._is_current():
            return False, "not sent: no samples are used now, so that what is carried may have changed"
        if missing := unfit_for_load(estimate, is_touched=contact is not None and contact.lasts):
            return False, f"not sent: {missing}"
        load = franka_load(estimate)
        try:
            from franka_msgs.srv import SetLoad
        except ImportError:
            by_hand = {name: np.round(value, 6).tolist() for name, value in load.items()}
            missing = "franka_msgs is not installed here: install franka_ros2, or set the load by hand with"
            return False, f"{missing} {by_hand}"
        name = self._node.resolve_service_name(self._service)
        client: Any = self._helper.create_client(SetLoad, name, callback_group=self._group)
        try:
            if not client.wait_for_service(DISCOVERY_PATIENCE):
                return False, f"nobody offers the service {self._service}: is franka_ros2 running?"
            answer = client.call(SetLoad.Request(**load), ANSWER_PATIENCE)
        except TimeoutError:  # of rclpy since Kilted; Jazzy's returns None
            answer = None
        finally:
            self._helper.destroy_client(client)
        if answer is None:
            return False, f"{name} did not answer within {ANSWER_PATIENCE:g} s; sent was {load}"
        if not answer.success:
            return False, f"the robot refused the load: {answer.error or 'no reason given'}; sent was {load}"
        return True, f"the robot took the load {load}"
