# SPDX-License-Identifier: Apache-2.0
"""Arrays written as messages of several topics, read back by `rosbags` itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from bag_files import ARM, TYPES, both_storages
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader

from panda_dynamics_ros import PandaDynamicsError
from panda_dynamics_ros.recordings import messages
from panda_dynamics_ros.recordings.bag_writing import Messages, OfferedTopic, write_topics
from panda_dynamics_ros.recordings.messages import Rows

START = 1_700_000_000_123_456_789
COUNT = 50
STAMPS = START + np.arange(COUNT) * 1_000_000


def decoded(rows: Rows, kind: str) -> list[Any]:
    return [TYPES.deserialize_cdr(row.tobytes(), kind) for row in rows]


def stamps(read: Sequence[Any]) -> list[int]:
    return [message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in read]


def test_joint_states_with_all_fields(rng: np.random.Generator) -> None:
    q, dq, tau = rng.normal(size=(3, COUNT, 7))
    read = decoded(messages.joint_states(ARM, STAMPS, q, dq, tau), messages.JOINT_STATE)
    assert stamps(read) == STAMPS.tolist()
    assert {tuple(message.name) for message in read} == {ARM}
    for field, values in (("position", q), ("velocity", dq), ("effort", tau)):
        np.testing.assert_array_equal([getattr(message, field) for message in read], values)


def test_poses(rng: np.random.Generator) -> None:
    position, orientation = rng.normal(size=(COUNT, 3)), rng.normal(size=(COUNT, 4))
    read = decoded(messages.poses("panda_link0", STAMPS, position, orientation), messages.POSE)
    assert stamps(read) == STAMPS.tolist()
    assert {message.header.frame_id for message in read} == {"panda_link0"}
    p, o = read[7].pose.position, read[7].pose.orientation
    assert [p.x, p.y, p.z, o.x, o.y, o.z, o.w] == [*position[7], *orientation[7]]


def test_inertias(rng: np.random.Generator) -> None:
    mass, com, six = rng.normal(size=COUNT), rng.normal(size=(COUNT, 3)), rng.normal(size=(COUNT, 6))
    read = decoded(messages.inertias("panda_link8", STAMPS, mass, com, six), messages.INERTIA)
    assert stamps(read) == STAMPS.tolist()
    i = read[9].inertia
    assert [i.m, i.com.x, i.com.y, i.com.z] == [mass[9], *com[9]]
    assert [i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz] == six[9].tolist()


def test_wrenches(rng: np.random.Generator) -> None:
    wrench = rng.normal(size=(COUNT, 6))
    read = decoded(messages.wrenches("panda_link0", STAMPS, wrench), messages.WRENCH)
    assert stamps(read) == STAMPS.tolist()
    f, t = read[3].wrench.force, read[3].wrench.torque
    assert [f.x, f.y, f.z, t.x, t.y, t.z] == wrench[3].tolist()


def test_multi_arrays(rng: np.random.Generator) -> None:
    values = rng.normal(size=(COUNT, 4, 4))
    rows = messages.multi_arrays((("column", 4, 16), ("row", 4, 4)), np.swapaxes(values, 1, 2))
    read = decoded(rows, messages.MULTI_ARRAY)
    np.testing.assert_array_equal([message.data for message in read], [value.ravel(order="F") for value in values])
    layout = read[0].layout
    assert [(dim.label, dim.size, dim.stride) for dim in layout.dim] == [("column", 4, 16), ("row", 4, 4)]


@pytest.mark.parametrize("stamp", [-1, 2**31 * 10**9])
def test_stamps_that_no_message_can_carry_are_refused(stamp: int) -> None:
    with pytest.raises(PandaDynamicsError, match=r"^stamp: expected times from 0 to 2\^31 s, got"):
        messages.joint_states(ARM, np.array([START, stamp]), effort=np.zeros((2, 7)))


@both_storages
def test_topics_are_merged_in_order_of_time_with_their_qos(storage: str, tmp_path: Path) -> None:
    topics = [OfferedTopic("/fast", messages.JOINT_STATE), OfferedTopic("/slow", messages.MULTI_ARRAY, latched=True)]
    slow = STAMPS[::10]

    def block(part: slice) -> list[Messages]:
        fast = messages.joint_states(ARM, STAMPS[part], effort=np.ones((COUNT, 7))[part])
        values = messages.multi_arrays((("x", 2, 2),), np.ones((len(slow[part]), 2)))
        return [Messages(STAMPS[part], fast), Messages(slow[part], values)]

    # The second block has no message of the slow topic left.
    file = write_topics(tmp_path / "bag", topics, [block(slice(0, 25)), block(slice(25, None))], storage)
    assert file.is_file()
    with Reader(tmp_path / "bag") as reader:
        read = [(connection.topic, time) for connection, time, _ in reader.messages()]
        offers = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}  # type: ignore[union-attr]
    assert Counter(topic for topic, _ in read) == {"/fast": COUNT, "/slow": len(slow)}
    times = [time for _, time in read]
    assert times == sorted(times)
    assert [time for topic, time in read if topic == "/fast"] == STAMPS.tolist()
    assert offers["/slow"].durability == QosDurability.TRANSIENT_LOCAL
    assert offers["/fast"].durability == QosDurability.VOLATILE
    assert {offer.reliability for offer in offers.values()} == {QosReliability.RELIABLE}
    # What rosbag2 itself reads: the policies of rmw as numbers, in a string of YAML (metadata version 8).
    metadata = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert metadata["version"] == 8
    (slow_offer,) = yaml.safe_load(metadata["topics_with_message_count"][1]["topic_metadata"]["offered_qos_profiles"])
    assert (slow_offer["history"], slow_offer["depth"], slow_offer["reliability"], slow_offer["durability"]) == (1,) * 4
