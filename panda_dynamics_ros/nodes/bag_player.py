# SPDX-License-Identifier: Apache-2.0
"""Node `bag_player`: publishes a recording's joint states, for machines without rosbag2."""

import math
import sys
import time
from collections.abc import Iterator
from functools import partial

from rclpy.duration import Duration
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import fixed, publisher
from panda_dynamics_ros.nodes.runner import run_node
from panda_dynamics_ros.recordings.bags import JointStateSample, JointStateStream, read_joint_states

NAP = 0.02  # s, after which callbacks have their turn
CLOCK_PERIOD = 10_000_000  # ns, of /clock
START_DELAY = 1.0  # s, from the last of the awaited subscribers to the first message
LONGEST_PAUSE = 10.0  # s; a longer jump of the recorded stamps, either way, is not waited for
SUBSCRIBER_PATIENCE = 240.0  # s, then the player starts anyway; a first start of the nodes compiles kernels


class BagPlayerNode(Node):
    """Plays a recording at `rate` times real time, with the stamps that were recorded, and then ends.

    The file is read while it is played: a recording of any length takes the same memory.
    """

    def __init__(self) -> None:
        super().__init__("bag_player")
        awaited = f"Subscribers to joint_states that the player waits for, {SUBSCRIBER_PATIENCE:g} s at most."
        self._path = fixed(self, "bag", "", "A rosbag2 recording: .db3, .mcap or its folder.")
        self._topic = fixed(self, "topic", "", "The recorded topic; empty: the one with joint states.")
        self._rate = fixed(self, "rate", 1.0, "Speed of playing, times real time.", 1e-3, 1e3)
        self._loop = fixed(self, "loop", False, "Start again at the end.")
        with_clock = fixed(self, "clock", False, "Publish the stamps on /clock, for nodes with use_sim_time.")
        self._wanted = fixed(self, "wait_for_subscribers", 1, awaited, 0, 100)
        if not self._path:
            raise ArgumentError("bag: expected the path of a recording, got nothing (bag:=PATH)")
        self._stream = self._open()
        self._upcoming = self._paced()
        first = next(self._upcoming, None)
        if first is None:
            raise ArgumentError(f"bag: expected joint states in {self._path}, got none")
        self._next = first
        self.done = False
        self._played = 0
        self._began = math.inf
        self._patience = time.monotonic() + SUBSCRIBER_PATIENCE
        self._publisher = publisher(self, JointState, "joint_states", 50)
        self._clock_publisher = publisher(self, ClockMessage, "/clock") if with_clock else None
        self._clock_stamp = 0
        if self._wanted:
            self.get_logger().info(f"waiting for {self._wanted} subscribers to {self._publisher.topic_name}")

    def _open(self) -> JointStateStream:
        return read_joint_states(self._path, self._topic or None)

    def wait_for_input(self) -> None:
        """Publish the next sample once it is due; between two calls, callbacks have their turn (`run_node`)."""
        due, sample = self._next
        wait = self._began + due / self._rate - time.monotonic()
        if wait > NAP:
            time.sleep(NAP)
            if math.isinf(self._began):
                self._wait_for_subscribers()
            return
        time.sleep(max(wait, 0.0))
        self._publish(sample)
        self._played += 1
        following = next(self._upcoming, None)
        if following is None:
            self._publisher.wait_for_all_acked(Duration(seconds=1))
            self.done = True
            self.get_logger().info(f"the recording has been played: {self._played} messages")
        else:
            self._next = following

    def _paced(self) -> Iterator[tuple[float, JointStateSample]]:
        """The samples to play, each with its time, s of the recording since the first, without longer jumps."""
        due = 0.0
        while True:
            before = None
            for sample in self._stream:
                step = 0.0 if before is None else sample.stamp - before
                if abs(step) > LONGEST_PAUSE:
                    words = f"the recorded stamps jump by {step:.1f} s: not waited for"
                    self.get_logger().warning(words, throttle_duration_sec=5.0)
                else:
                    due += step
                before = sample.stamp
                yield due, sample
            if before is None or not self._loop:
                return
            self._stream = self._open()
            self._began = time.monotonic() - due / self._rate  # what opening took is no time of the recording

    def _publish(self, sample: JointStateSample) -> None:
        """Publish the clock first: a subscriber that gets the sample then has its time."""
        stamp = conversions.exact_time_message(sample.stamp_ns)
        rows = sample.position, sample.velocity, sample.effort
        if self._clock_publisher is not None and not 0 <= sample.stamp_ns - self._clock_stamp < CLOCK_PERIOD:
            self._clock_stamp = sample.stamp_ns
            self._clock_publisher.publish(ClockMessage(clock=stamp))
        self._publisher.publish(conversions.state_message(stamp, list(sample.names), *rows))

    def _wait_for_subscribers(self) -> None:
        """Discovery takes as long as the machine is busy: what is played before it is over would be lost."""
        there, late = self._publisher.get_subscription_count(), time.monotonic() > self._patience
        if there < self._wanted and late:
            self.get_logger().warning(f"expected {self._wanted} subscribers, got {there}: playing to these")
        if there >= self._wanted or late:
            self._began = time.monotonic() + START_DELAY
            self.get_logger().info(f"playing {self._stream.topic} of {self._path} at {self._rate:g} times real time")


main = partial(run_node, BagPlayerNode)


if __name__ == "__main__":
    sys.exit(main())
