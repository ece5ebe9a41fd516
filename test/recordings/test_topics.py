# SPDX-License-Identifier: Apache-2.0
"""Messages of several topics in one recording, read back by `rosbags`; test_replay_bag.py has what is in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from bag_files import ARM, JOINT_STATE, both_storages
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader

from panda_dynamics_ros import PandaDynamicsError
from panda_dynamics_ros.recordings.bag_writing import Messages, OfferedTopic, serialised, write_topics

START = 1_700_000_000_123_456_789
COUNT = 50
INERTIA = "geometry_msgs/msg/InertiaStamped"
STAMPS = START + np.arange(COUNT) * 1_000_000


@pytest.mark.parametrize("stamp", [-1, 2**31 * 10**9])
def test_stamps_that_no_message_can_carry_are_refused(stamp: int) -> None:
    with pytest.raises(PandaDynamicsError, match=r"^stamp: expected times from 0 to 2\^31 s, got"):
        serialised(JOINT_STATE, np.array([START, stamp]), {"effort": np.zeros((2, 7))}, {})


@both_storages
def test_topics_are_merged_in_order_of_time_with_their_qos(storage: str, tmp_path: Path) -> None:
    topics = [OfferedTopic("/fast", JOINT_STATE), OfferedTopic("/slow", INERTIA, latched=True)]
    slow = STAMPS[::10]

    def block(part: slice) -> list[Messages]:
        fast = serialised(JOINT_STATE, STAMPS[part], {"effort": np.ones((COUNT, 7))[part]}, {"name": list(ARM)})
        bodies = serialised(INERTIA, slow[part], {"inertia": np.ones((len(slow[part]), 10))}, {"frame_id": "x"})
        return [Messages(STAMPS[part], fast), Messages(slow[part], bodies)]

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
