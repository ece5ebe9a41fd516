# SPDX-License-Identifier: Apache-2.0
"""The tests' own node. It serves its callbacks while a test waits, in the test's thread: nothing runs in between."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.client import Client
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from waiting import FIRST_START

from panda_dynamics_ros.nodes.runner import make_executor

DEEP = QoSProfile(depth=1000)  # reliable, volatile: what a subscriber gets who asks for nothing special
HEARD = 0.2  # s, in which a service hears of a client that has heard of it

Ready = Callable[[dict[str, str]], object]


class Probe:
    """Publishes, listens and calls."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("probe")
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self._diagnostics: dict[str, list[DiagnosticStatus]] = {}
        self._clients: dict[str, Client] = {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, DEEP)

    def spin(self, duration: float) -> None:
        """Serve callbacks for so many seconds."""
        end = time.monotonic() + duration
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=min(left, 0.05))

    def until(self, condition: Callable[[], object], what: str, patience: float = FIRST_START) -> None:
        """Serve callbacks until the condition holds; fails with `what` was waited for."""
        end = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < end, f"waited {patience:.0f} s in vain for {what}"
            self._executor.spin_once(timeout_sec=0.05)

    def listen(self, message_type: type, topic: str, qos: QoSProfile = DEEP) -> list[Any]:
        """A list that receives the topic's messages, from the moment on that its publisher is known."""
        messages: list[Any] = []
        self.node.create_subscription(message_type, topic, messages.append, qos)
        self.until(lambda: self.node.count_publishers(topic), f"a publisher of {topic}")
        return messages

    def publisher(self, message_type: type, topic: str, subscribers: int = 1, qos: QoSProfile = DEEP) -> Publisher:
        """A publisher that so many nodes listen to."""
        publisher: Publisher = self.node.create_publisher(message_type, topic, qos)
        self.until(lambda: publisher.get_subscription_count() >= subscribers, f"{subscribers} subscribers of {topic}")
        return publisher

    def call(self, service_type: Any, name: str, request: Any = None, again: float = math.inf) -> Any:
        """The answer of a service; s after which a question that changes nothing is asked again."""
        client = self._client(service_type, name)
        self.until(client.service_is_ready, f"the service {name}")
        futures: list[Any] = []
        asked = -math.inf

        def answered() -> bool:
            nonlocal asked
            if time.monotonic() > asked + again or not futures:
                futures.append(client.call_async(request or service_type.Request()))
                asked = time.monotonic()
            return any(future.done() for future in futures)

        self.until(answered, f"an answer of {name}")
        return next(future for future in futures if future.done()).result()

    def _client(self, service_type: Any, name: str) -> Client:
        """One for all calls: a service drops its answer while it has not heard of the client, which is never told."""
        if name not in self._clients:
            client = self._clients[name] = self.node.create_client(service_type, name)
            self.until(client.service_is_ready, f"the service {name}")
            self.spin(HEARD)
        return self._clients[name]

    def diagnostic(self, name: str, ready: Ready = bool) -> DiagnosticStatus:
        """A status of this name that is sent from now on and whose values are `ready`."""
        return self.diagnostics({name: ready})[name]

    def diagnostics(self, wanted: Mapping[str, Ready]) -> dict[str, DiagnosticStatus]:
        """One of each name, sent from now on and `ready`; of what a node sends at once, all of the same time."""
        self._diagnostics.clear()
        found: dict[str, DiagnosticStatus] = {}

        def complete() -> bool:
            for name in wanted:
                fitting = [status for status in self._diagnostics.get(name, ()) if wanted[name](values_of(status))]
                if fitting:
                    found[name] = fitting[-1]
            return len(found) == len(wanted)

        self.until(complete, f"diagnostics of {', '.join(wanted)} that fit")
        return found

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._diagnostics.setdefault(status.name, []).append(status)


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """The values of a status by their keys."""
    return {pair.key: pair.value for pair in status.values}
