# SPDX-License-Identifier: Apache-2.0
"""Recordings of an arm: rosbag2 files and tables, read and written without ROS."""

from panda_dynamics_ros.recordings.bag_writing import write_joint_states
from panda_dynamics_ros.recordings.bags import JointStateSample, JointStateStream, RecordingWarning, read_joint_states
from panda_dynamics_ros.recordings.dataset import load_dataset

__all__ = [
    "JointStateSample",
    "JointStateStream",
    "RecordingWarning",
    "load_dataset",
    "read_joint_states",
    "write_joint_states",
]
