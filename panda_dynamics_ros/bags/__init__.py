# SPDX-License-Identifier: Apache-2.0
"""Reading and writing rosbag2 recordings with no ROS 2 installed, through `rosbags` from PyPI."""

from panda_dynamics_ros.bags.joint_states import (
    JointStateSample,
    JointStateStream,
    RecordingWarning,
    joint_state_topics,
    read_joint_states,
)
from panda_dynamics_ros.bags.writing import write_joint_states

__all__ = [
    "JointStateSample",
    "JointStateStream",
    "RecordingWarning",
    "joint_state_topics",
    "read_joint_states",
    "write_joint_states",
]
