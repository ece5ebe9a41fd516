# SPDX-License-Identifier: Apache-2.0
"""The results of a replay as a rosbag2, on the topics and with the types of the nodes."""

from panda_dynamics_ros.replay_bag.topics import TOPICS, write_replay

__all__ = ["TOPICS", "write_replay"]
