# SPDX-License-Identifier: Apache-2.0
"""Node `bag_player`: publishes a recording's joint states, for machines without rosbag2."""

from __future__ import annotations

import math
import sys
import time

from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes import conversions, parameters
from panda_dynamics_ros.nodes.runner import run_node
from panda_dynamics_ros.nodes.topics import publisher
from panda_dynamics_ros.recordings.joint_states import JointStateSample, read_joint_states

BURST = 10  # messages at most in one go: subscribers' queues are short
PERIOD = 0.001  # s
CLOCK_PERIOD = 10_000_000  # ns, of /clock
SUBSCRIBER_PATIENCE = 240.0  # s, then it is played to whoever listens; a first start of the nodes compiles kernels


class BagPlayerNode(Node):
    """Plays a recording at `rate` times real time, with the stamps that were recorded, and then ends."""

    def __init__(self) -> None:
        super().__init__("bag_player")
        path = parameters.fixed(self, "bag", "", "A rosbag2 recording: .db3, .mcap or its folder.")
        topic = parameters.fixed(self, "topic", "", "The recorded topic; empty: the one with joint states.")
        self._rate = parameters.fixed(self, "rate", 1.0, "Speed of playing, times real time.", 1e-3, 1e3)
        self._loop = parameters.fixed(self, "loop", False, "Start again at the end.")
        with_clock = parameters.fixed(
            self, "clock", False, "Publish the stamps on /clock, for nodes with use_sim_time."
        )
        self._awaited = parameters.fixed(
            self,
            "wait_for_subscribers",
            1,
            f"Subscribers to joint_states that the player waits for, {SUBSCRIBER_PATIENCE:g} s at most.",
            0,
            100,
        )
        delay = parameters.fixed(
            self, "start_delay_s", 1.0, "From the last of these subscribers to the first message, s.", 0.0, 60.0
        )
        if not path:
            raise ArgumentError("bag: expected the path of a recording, got nothing (bag:=PATH)")
        self._samples = list(read_joint_states(path, topic or None))
        if not self._samples:
            raise ArgumentError(f"bag: expected joint states in {path}, got none")
        self.done = False
        self._next = 0
        self._delay = delay
        self._began = math.inf
        self._patience = time.monotonic() + SUBSCRIBER_PATIENCE
        self._publisher = publisher(self, JointState, "joint_states", 50)
        self._clock_publisher = publisher(self, ClockMessage, "/clock") if with_clock else None
        self._clock_shown = 0
        # Not by the node's clock, which may be the one that is published here.
        self.create_timer(PERIOD, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f"playing {len(self._samples)} messages of {path} at {self._rate:g} times real time")

    def _on_timer(self) -> None:
        if math.isinf(self._began):
            self._wait_for_subscribers()
            return
        played = (time.monotonic() - self._began) * self._rate
        first = self._samples[0].stamp
        for _ in range(BURST):
            if self._next == len(self._samples):
                self._at_the_end()
                return
            if self._samples[self._next].stamp - first > played:
                return
            self._publish(self._samples[self._next])
            self._next += 1

    def _publish(self, sample: JointStateSample) -> None:
        """The clock first: who gets the sample knows what time it is."""
        message = _message(sample)
        if self._clock_publisher is not None and not 0 <= sample.stamp_ns - self._clock_shown < CLOCK_PERIOD:
            self._clock_shown = sample.stamp_ns
            self._clock_publisher.publish(ClockMessage(clock=message.header.stamp))
        self._publisher.publish(message)

    def _wait_for_subscribers(self) -> None:
        """Discovery takes as long as the machine is busy: what is played before it is over would be lost."""
        there, late = self._publisher.get_subscription_count(), time.monotonic() > self._patience
        if there < self._awaited and late:
            self.get_logger().warning(f"waited in vain for {self._awaited} subscribers: playing to {there}")
        if there >= self._awaited or late:
            self._began = time.monotonic() + self._delay

    def _at_the_end(self) -> None:
        if self._loop:
            self._next, self._began = 0, time.monotonic()
        elif not self.done:
            self._publisher.wait_for_all_acked(Duration(seconds=1))
            self.done = True
            self.get_logger().info("the recording has been played")


def _message(sample: JointStateSample) -> JointState:
    message = JointState(name=list(sample.names))
    message.header.stamp = conversions.exact_time_message(sample.stamp_ns)
    message.position = conversions.doubles(sample.position)
    message.velocity = conversions.doubles(sample.velocity)
    message.effort = conversions.doubles(sample.effort)
    return message


def main(args: list[str] | None = None) -> int:
    """Run the node until the recording has been played; returns the exit code."""
    return run_node(BagPlayerNode, args)


if __name__ == "__main__":
    sys.exit(main())
