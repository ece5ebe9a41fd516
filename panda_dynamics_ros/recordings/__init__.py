# SPDX-License-Identifier: Apache-2.0
"""Recordings of an arm: rosbag2 and CSV files, read and written without ROS, and what the nodes make of them."""

from panda_dynamics_ros.recordings.bag_writing import write_joint_states
from panda_dynamics_ros.recordings.bags import JointStateSample, JointStateStream, RecordingWarning, read_joint_states
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.recordings.replay import Replay, replay

__all__ = [
    "JointStateSample",
    "JointStateStream",
    "RecordingWarning",
    "Replay",
    "load_dataset",
    "read_joint_states",
    "replay",
    "write_joint_states",
]
