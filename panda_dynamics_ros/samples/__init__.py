# SPDX-License-Identifier: Apache-2.0
"""Samples of joint states: names, stamps, arrays, and what a stream of them delivers."""

from panda_dynamics_ros.samples.joint_dataset import JointDataset
from panda_dynamics_ros.samples.joint_mapping import JointMapping, link_name, resolve_joint_names
from panda_dynamics_ros.samples.stamps import StreamMonitor

__all__ = ["JointDataset", "JointMapping", "StreamMonitor", "link_name", "resolve_joint_names"]
