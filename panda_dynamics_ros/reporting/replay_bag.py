# SPDX-License-Identifier: Apache-2.0
"""What the nodes would have published over a recording, topic by topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.recordings import messages
from panda_dynamics_ros.recordings.bag_writing import Messages, OfferedTopic, write_topics
from panda_dynamics_ros.recordings.messages import Nanoseconds
from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joint_mapping import link_name

TOPICS = (
    OfferedTopic("/joint_states", messages.JOINT_STATE),
    OfferedTopic("/panda_dynamics/gravity_torques", messages.JOINT_STATE),
    OfferedTopic("/panda_dynamics/coriolis_torques", messages.JOINT_STATE),
    OfferedTopic("/panda_dynamics/external_torques", messages.JOINT_STATE),
    OfferedTopic("/panda_dynamics/current_pose", messages.POSE),
    OfferedTopic("/panda_dynamics/o_t_ee", messages.MULTI_ARRAY),
    OfferedTopic("/panda_dynamics/contact_wrench", messages.WRENCH),
    OfferedTopic("/payload_estimator/payload", messages.INERTIA, latched=True),
    OfferedTopic("/payload_estimator/payload_covariance", messages.MULTI_ARRAY),
)
BLOCK = 10_000
"""Samples that are converted at once: some 15 MB of messages."""

_O_T_EE = (("column", 4, 16), ("row", 4, 4))
_COVARIANCE = (("row", 10, 100), ("column", 10, 10))


def write_replay(
    path: str | Path,
    data: JointDataset,
    robot: RobotModel,
    result: Replay,
    storage: str = "mcap",
    *,
    overwrite: bool = False,
) -> Path:
    """Write what the nodes would have published over `data`, and the arm's joint states with it.

    Stamps are those of the samples, to the nanosecond; messages count as sent at their stamps.

    Parameters
    ----------
    path: the folder to make.
    data, robot, result: a recording, and its replay with this robot.
    storage: "mcap" or "sqlite3".
    overwrite: whether a recording that is at `path` may be replaced.

    Returns
    -------
    The storage file inside the folder.

    Raises
    ------
    ArgumentError: `path` exists and may not be replaced, or a stamp is not a time from 0 to 2^31 s.
    MissingDependencyError: rosbags is not installed.
    """
    return write_topics(path, TOPICS, _blocks(data, result), storage, overwrite=overwrite)


def _blocks(data: JointDataset, result: Replay) -> Iterator[list[Messages]]:
    stamp_ns = data.stamp_ns
    for start in range(0, len(stamp_ns), BLOCK):
        part = slice(start, start + BLOCK)
        first, last = np.searchsorted(result.published, [part.start, part.stop])
        published, estimates = result.published[first:last], result.estimates[first:last]
        yield [
            *_dynamics(data, part, stamp_ns[part], result),
            *_payload(link_name(data.names, 8), stamp_ns[published], estimates),
        ]


def _dynamics(data: JointDataset, part: slice, stamp_ns: Nanoseconds, result: Replay) -> list[Messages]:
    """Joint states and what the node `dynamics` publishes after each."""
    names, T = data.names, result.pose[part]
    torques = (result.gravity_torques[part], result.coriolis_torques[part], result.external_torques[part])
    rows = [
        messages.joint_states(names, stamp_ns, data.q[part], data.dq[part], data.tau[part]),
        *(messages.joint_states(names, stamp_ns, effort=effort) for effort in torques),
        messages.poses(link_name(names, 0), stamp_ns, T[:, :3, 3], matrix_to_quaternion(T[:, :3, :3])),
        messages.multi_arrays(_O_T_EE, np.swapaxes(T, -1, -2)),  # column by column
        messages.wrenches(link_name(names, 0), stamp_ns, result.contact_wrench[part]),
    ]
    return [Messages(stamp_ns, each) for each in rows]


def _payload(frame: str, stamp_ns: Nanoseconds, estimates: Sequence[PayloadEstimate]) -> list[Messages]:
    """What the node `payload_estimator` publishes."""
    if not estimates:
        return [Messages(stamp_ns, ())] * 2
    mass = np.array([estimate.mass for estimate in estimates])
    com = np.array([estimate.com for estimate in estimates])
    inertia = np.array([six_from_symmetric(estimate.inertia) for estimate in estimates])
    covariance = np.array([estimate.covariance for estimate in estimates])
    rows = (
        messages.inertias(frame, stamp_ns, mass, com, inertia),
        messages.multi_arrays(_COVARIANCE, covariance),
    )
    return [Messages(stamp_ns, each) for each in rows]
