# SPDX-License-Identifier: Apache-2.0
"""Node `bag_player`: publishes a recording's joint states, for machines without rosbag2."""

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
from panda_dynamics_ros.recordings.bags import JointStateSample, read_joint_states

NAP = 0.02  # s, after which callbacks have their turn
CLOCK_PERIOD = 10_000_000  # ns, of /clock
START_DELAY = 1.0  # s, from the last of the awaited subscribers to the first message
LONGEST_PAUSE = 10.0  # s; a longer jump of the recorded stamps, either way, is not waited for


class BagPlayerNode(Node):
    """Plays a recording at `rate` times real time, with the stamps that were recorded, and then ends.

    The file is read while it is played: a recording of any length takes the same memory.
    """

    def __init__(self) -> None:
        super().__init__("bag_player")
        self._path = fixed(self, "bag", "", "A rosbag2 recording: .db3, .mcap or its folder.")
        self._topic = fixed(self, "topic", "", "The recorded topic; empty: the one with joint states.")
        self._rate = fixed(self, "rate", 1.0, "Speed of playing, times real time.", 1e-3, 1e3)
        self._loop = fixed(self, "loop", False, "Start again at the end.")
        with_clock = fixed(self, "clock", False, "Publish the stamps on /clock, for nodes with use_sim_time.")
        self._wanted = fixed(self, "wait_for_subscribers", 1, "Subscribers to joint_states to wait for.", 0, 100)
        if not self._path:
            raise ArgumentError("bag: expected the path of a recording, got nothing (bag:=PATH)")
        self._open = partial(read_joint_states, self._path, self._topic or None)
        self._stream = self._open()
        self._publisher = publisher(self, JointState, "joint_states", 50)
        self._clock_publisher = publisher(self, ClockMessage, "/clock") if with_clock else None
        self._clock_stamp = 0
        self._steps = self._play()
        self.done = False

    def wait_for_input(self) -> None:
        """Go on playing until callbacks have their turn (`run_node`)."""
        self.done = next(self._steps, True)

    def _play(self) -> Iterator[bool]:
        """Publish each sample once it is due; yields False after each, and at least each `NAP`."""
        self.get_logger().info(f"waiting for {self._wanted} subscribers to {self._publisher.topic_name}")
        # Discovery takes as long as the machine is busy: what is played before it is over would be lost.
        while self._publisher.get_subscription_count() < self._wanted:
            time.sleep(NAP)
            yield False
        self.get_logger().info(f"playing {self._stream.topic} of {self._path} at {self._rate:g} times real time")
        due, played = time.monotonic() + START_DELAY, 0
        while True:
            before = None
            for sample in self._stream:
                step = 0.0 if before is None else sample.stamp - before
                if abs(step) > LONGEST_PAUSE:
                    words = f"the recorded stamps jump by {step:.1f} s: not waited for"
                    self.get_logger().warning(words, throttle_duration_sec=5.0)
                else:
                    due += step / self._rate
                before, played = sample.stamp, played + 1
                while (wait := due - time.monotonic()) > NAP:
                    time.sleep(NAP)
                    yield False
                time.sleep(max(wait, 0.0))
                self._publish(sample)
                yield False
            if before is None or not self._loop:
                break
            self._stream, due = self._open(), time.monotonic()
        self._publisher.wait_for_all_acked(Duration(seconds=1))
        self.get_logger().info(f"the recording has been played: {played} messages")

    def _publish(self, sample: JointStateSample) -> None:
        """Publish the clock first: a subscriber that gets the sample then has its time."""
        stamp = conversions.exact_time_message(sample.stamp_ns)
        rows = sample.position, sample.velocity, sample.effort
        if self._clock_publisher is not None and not 0 <= sample.stamp_ns - self._clock_stamp < CLOCK_PERIOD:
            self._clock_stamp = sample.stamp_ns
            self._clock_publisher.publish(ClockMessage(clock=stamp))
        self._publisher.publish(conversions.state_message(stamp, list(sample.names), *rows))


if __name__ == "__main__":
    raise SystemExit(run_node(BagPlayerNode))
