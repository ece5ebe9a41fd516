# SPDX-License-Identifier: Apache-2.0
"""What the nodes would have published over a recording, topic by topic."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.bag_writing import BLOCK, Messages, Nanoseconds, OfferedTopic, write_topics
from panda_dynamics_ros.reporting.replay import Replay
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joint_mapping import link_name

MULTI_ARRAY = "std_msgs/msg/Float64MultiArray"
TORQUES = ("gravity_torques", "coriolis_torques", "external_torques")
TOPICS = (
    OfferedTopic("/joint_states", rosbag2.JOINT_STATE),
    *(OfferedTopic(f"/panda_dynamics/{name}", rosbag2.JOINT_STATE) for name in TORQUES),
    OfferedTopic("/panda_dynamics/current_pose", "geometry_msgs/msg/PoseStamped"),
    OfferedTopic("/panda_dynamics/o_t_ee", MULTI_ARRAY),
    OfferedTopic("/panda_dynamics/contact_wrench", "geometry_msgs/msg/WrenchStamped"),
    OfferedTopic("/payload_estimator/payload", "geometry_msgs/msg/InertiaStamped", latched=True),
    OfferedTopic("/payload_estimator/payload_covariance", MULTI_ARRAY),
)


def write_replay(
    path: str | Path, data: JointDataset, result: Replay, robot: RobotDescription, *, overwrite: bool = False
) -> Path:
    """Write what the nodes would have published over `data`, and the arm's joint states with it, as a rosbag2 folder.

    Stamps are those of the samples, to the nanosecond; messages count as sent at their stamps. `result` is the replay
    of `data`; the other parameters, the returned file and the errors are those of `write_joint_states`.
    """
    return write_topics(path, TOPICS, _blocks(data, result, robot), overwrite=overwrite)


def _blocks(data: JointDataset, result: Replay, robot: RobotDescription) -> Iterator[list[Messages]]:
    """Messages in the order of `TOPICS`: of each sample, then of each estimate that was published."""
    names = {"name": list(data.names)}
    base, flange = ({"frame_id": link_name(data.names, k, robot)} for k in (0, 8))
    stamp_ns = data.stamp_ns
    for start in range(0, len(stamp_ns), BLOCK):
        part = slice(start, start + BLOCK)
        at, T = stamp_ns[part], result.pose[part]
        first, last = np.searchsorted(result.published, [part.start, part.stop])
        published, estimates = stamp_ns[result.published[first:last]], result.estimates[first:last]
        bodies = np.array([[each.mass, *each.com, *six_from_symmetric(each.inertia)] for each in estimates])
        covariances = np.array([estimate.covariance for estimate in estimates])
        yield [
            Messages(at, {"position": data.q[part], "velocity": data.dq[part], "effort": data.tau[part]}, names),
            *(Messages(at, {"effort": getattr(result, name)[part]}, names) for name in TORQUES),
            Messages(at, {"position": T[:, :3, 3], "orientation": matrix_to_quaternion(T[:, :3, :3])}, base),
            _matrices(at, np.swapaxes(T, -1, -2), ("column", "row")),
            Messages(at, {"wrench": result.contact_wrench[part]}, base),
            Messages(published, {"inertia": bodies.reshape(-1, 10)}, flange),
            _matrices(published, covariances.reshape(-1, 10, 10), ("row", "column")),
        ]


def _matrices(stamp_ns: Nanoseconds, values: FloatArray, labels: tuple[str, str]) -> Messages:
    """std_msgs/Float64MultiArray of matrices (N, k, k), as they lie in memory."""
    size = values.shape[1]
    make = rosbag2.typestore().types["std_msgs/msg/MultiArrayDimension"]
    dimensions = [make(label, size, stride) for label, stride in zip(labels, (size * size, size), strict=True)]
    return Messages(stamp_ns, {"data": values.reshape(len(values), size * size)}, {"dim": dimensions})
