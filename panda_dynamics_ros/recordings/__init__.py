# SPDX-License-Identifier: Apache-2.0
"""Recordings of an arm: rosbag2 files and tables, read and written without ROS."""

from panda_dynamics_ros.recordings.bag_writing import write_joint_states as write_joint_states
from panda_dynamics_ros.recordings.bags import JointStateSample as JointStateSample
from panda_dynamics_ros.recordings.bags import JointStateStream as JointStateStream
from panda_dynamics_ros.recordings.bags import RecordingWarning as RecordingWarning
from panda_dynamics_ros.recordings.bags import read_joint_states as read_joint_states
from panda_dynamics_ros.recordings.dataset import load_dataset as load_dataset
