# SPDX-License-Identifier: Apache-2.0
"""rosbag2 recordings of every kind, written by rosbags and read back."""

import resource
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from bag_files import ARM, assert_same, both_storages, read_whole, samples, split_bag, storage_file, write_bag
from motion import REST, write_csv
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import CompressionMode, Reader

from panda_dynamics_ros import PandaDynamicsError
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.recordings import JointStateSample, RecordingWarning, read_joint_states, write_joint_states
from panda_dynamics_ros.recordings.bag_writing import Messages, OfferedTopic, write_topics
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.recordings.rosbag2 import zstd

JOINT_STATE = "sensor_msgs/msg/JointState"


@both_storages
@pytest.mark.parametrize("what", ["folder", "file", "metadata.yaml", "folder without metadata", "file alone"])
def test_samples_come_back_as_written(tmp_path, storage, what):
    written = samples(50, names=(*ARM[::-1], "panda_finger_joint1"))
    folder = write_bag(tmp_path / "bag", {"/joint_states": written}, storage)
    file = storage_file(folder)
    paths = {
        "folder": lambda: folder,
        "file": lambda: file,
        "metadata.yaml": lambda: folder / "metadata.yaml",
        "folder without metadata": lambda: Path(shutil.move(folder / "metadata.yaml", tmp_path)).parent / "bag",
        "file alone": lambda: Path(shutil.move(file, tmp_path)),
    }
    assert_same(read_whole(paths[what]()), written)


def test_what_is_written_is_a_bag_to_rosbags(tmp_path):
    written = samples(5)
    file = write_joint_states(tmp_path / "bag", written, topic="/arm/joint_states")
    assert file == storage_file(tmp_path / "bag")
    assert_same(read_whole(file), written)
    with Reader(tmp_path / "bag") as reader:
        assert [(x.topic, x.msgtype, x.msgcount) for x in reader.connections] == [
            ("/arm/joint_states", "sensor_msgs/msg/JointState", 5)
        ]
        times = [time for _, time, _ in reader.messages()]
    # Doubles near 1.7e9 s are 240 ns apart.
    np.testing.assert_allclose(np.array(times) - 1_700_000_000 * 10**9, 1e6 * np.arange(5), atol=240.0)


@both_storages
def test_fields_may_be_empty_and_values_odd(tmp_path, storage):
    odd = [
        JointStateSample(1.0, ARM, np.arange(7.0), np.empty(0), np.empty(0)),
        JointStateSample(1.0, (), np.empty(0), np.empty(0), np.empty(0)),
        JointStateSample(0.5, ("ä", "b"), np.array([np.nan, np.inf]), np.zeros(3), np.empty(0)),
    ]
    assert_same(read_whole(write_bag(tmp_path / "bag", {"/joint_states": odd}, storage)), odd)


@both_storages
def test_names_that_a_uri_would_read_otherwise(tmp_path, storage):
    written = samples(3)
    folder = write_bag(tmp_path / "bag", {"/joint_states": written}, storage)
    file = storage_file(folder.rename(tmp_path / "a b?mode=%20#"))
    assert_same(read_whole(file.rename(file.with_name(f"?%20#{file.suffix}"))), written)


@both_storages
def test_split_recordings_are_read_in_order(tmp_path, storage):
    written = samples(12 * 5)
    parts = [written[k : k + 5] for k in range(0, 60, 5)]  # 12 parts: part 10 comes after part 9, not after part 1
    assert_same(read_whole(split_bag(tmp_path / "bag", parts, storage)), written)


@both_storages
@pytest.mark.parametrize("mode", [CompressionMode.STORAGE, CompressionMode.MESSAGE, CompressionMode.FILE])
def test_compressed_recordings(tmp_path, storage, mode):
    if (storage, mode) == ("sqlite3", CompressionMode.STORAGE):
        return  # which there is not
    written = samples(20)
    folder = write_bag(tmp_path / "bag", {"/joint_states": written}, storage, compression=mode)
    assert_same(read_whole(folder), written)
    assert_same(read_whole(storage_file(folder)), written)


def test_a_file_compressed_in_several_frames(tmp_path):
    """As parallel compressors leave it."""
    written = samples(20)
    file = write_joint_states(tmp_path / "bag", written)
    content, frame = file.read_bytes(), zstd().compress
    compressed = file.with_name("bag.mcap.zstd")
    compressed.write_bytes(frame(content[:1000]) + frame(content[1000:2000]) + frame(content[2000:]))
    assert_same(read_whole(compressed), written)


def test_unpacked_files_do_not_outlive_the_reading(tmp_path, monkeypatch):
    folder = write_bag(tmp_path / "bag", {"/joint_states": samples(3)}, compression=CompressionMode.FILE)
    (tmp_path / "unpacked").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "unpacked"))
    stream = read_joint_states(folder)
    assert list((tmp_path / "unpacked").iterdir())
    list(stream)
    del stream
    assert not list((tmp_path / "unpacked").iterdir())


def test_lz4_chunks(tmp_path):
    written = samples(20)
    assert_same(read_whole(write_bag(tmp_path / "bag", {"/joint_states": written}, lz4_chunks=True)), written)


@both_storages
def test_the_topic_is_chosen_where_there_is_no_doubt(tmp_path, storage):
    slow, fast, torques = samples(5, seed=1), samples(9, seed=2), samples(20, seed=3)
    others = {"/panda_dynamics/gravity_torques": torques, "/empty/joint_states": []}
    arms = {"/joint_states": slow, "/franka/joint_states": fast}
    bag = write_bag(tmp_path / "bag", {"/chatter": ["hello"] * 30, **arms, **others}, storage)
    assert_same(read_whole(bag), fast)
    assert_same(read_whole(bag, "/joint_states"), slow)
    assert_same(read_whole(bag, "/panda_dynamics/gravity_torques"), torques)
    with pytest.raises(DataError, match=r"topic: expected one of .*/joint_states \(5 messages\).* got '/chatter'"):
        read_joint_states(bag, "/chatter")
    with pytest.raises(DataError, match="expected joint states"):
        read_joint_states(bag, "/empty/joint_states")


@pytest.mark.parametrize("names", [("/left/joint_states", "/right/joint_states"), ("/a", "/b")])
def test_in_doubt_the_topics_are_listed(tmp_path, names):
    """But torques without positions are no choice, nor are a gripper, and what the arm was told to do."""
    counts = {"/panda_dynamics/gravity_torques": 0, "/franka_gripper/joint_states": 2}
    others = {k: [replace(each, position=each.position[:n]) for each in samples(9)] for k, n in counts.items()}
    others["/franka_robot_state_broadcaster/desired_joint_states"] = samples(9)
    bag = write_bag(tmp_path / "bag", others | {name: samples(4) for name in names})
    with pytest.raises(DataError, match=rf"joint states: {names[0]} \(4 messages\), {names[1]} \(4 messages\)$"):
        read_joint_states(bag)
    assert_same(read_whole(write_bag(tmp_path / "one", others | {"/arm/js": samples(4)})), samples(4))


@both_storages
def test_headers_without_stamps_give_way_to_the_times_of_reception(tmp_path, storage):
    unstamped = [replace(sample, stamp=0.0) for sample in samples(5)]
    bag = write_bag(tmp_path / "bag", {"/joint_states": unstamped}, storage, receive_start=1000.0)
    with pytest.warns(RecordingWarning, match="no stamps"):
        stream = read_joint_states(bag)
        read = list(stream)
    # Times of 1000 s as doubles are exact to 1.1e-13 s.
    np.testing.assert_allclose([x.stamp for x in read], 1000.0 + 0.001 * np.arange(5), atol=1e-12)
    assert len(stream.notes) == 1


START = 1_700_000_000_123_456_789
COUNT = 50
INERTIA = "geometry_msgs/msg/InertiaStamped"
STAMPS = START + np.arange(COUNT) * 1_000_000


@pytest.mark.parametrize("stamp", [-1, 2**31 * 10**9])
def test_stamps_that_no_message_can_carry_are_refused(stamp, tmp_path):
    messages = Messages(np.array([START, stamp]), {"effort": np.zeros((2, 7))}, {})
    with pytest.raises(PandaDynamicsError, match=r"^stamp: expected times from 0 to 2\^31 s, got"):
        write_topics(tmp_path / "bag", [OfferedTopic("/fast", JOINT_STATE)], [[messages]])


def test_what_is_no_name_of_a_topic_is_refused(tmp_path):
    for name in ("bad topic", "joint_states", "/arm//q", "/1arm", "/arm/"):
        with pytest.raises(PandaDynamicsError, match=rf"^topic: expected a name of ROS 2 .*, got '{name}'$"):
            write_joint_states(tmp_path / "bag", samples(2), name)


def test_topics_are_merged_in_order_of_time_with_their_qos(tmp_path):
    topics = [OfferedTopic("/fast", JOINT_STATE), OfferedTopic("/slow", INERTIA, latched=True)]
    slow = STAMPS[::10]

    def block(part: slice) -> list[Messages]:
        fast = Messages(STAMPS[part], {"effort": np.ones((COUNT, 7))[part]}, {"name": list(ARM)})
        bodies = Messages(slow[part], {"inertia": np.ones((len(slow[part]), 10))}, {"frame_id": "x"})
        return [fast, bodies]

    # The second block has no message of the slow topic left.
    assert write_topics(tmp_path / "bag", topics, [block(slice(0, 25)), block(slice(25, None))]).is_file()
    with Reader(tmp_path / "bag") as reader:
        read = [(connection.topic, time) for connection, time, _ in reader.messages()]
        offers = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}  # type: ignore[union-attr]
    assert Counter(topic for topic, _ in read) == {"/fast": COUNT, "/slow": len(slow)}
    assert [time for _, time in read] == sorted(time for _, time in read)
    assert [time for topic, time in read if topic == "/fast"] == STAMPS.tolist()
    assert offers["/slow"].durability == QosDurability.TRANSIENT_LOCAL
    assert offers["/fast"].durability == QosDurability.VOLATILE
    assert {offer.reliability for offer in offers.values()} == {QosReliability.RELIABLE}
    # What rosbag2 itself reads: the policies of rmw as numbers, in a string of YAML (metadata version 8).
    metadata = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert metadata["version"] == 8
    (slow_offer,) = yaml.safe_load(metadata["topics_with_message_count"][1]["topic_metadata"]["offered_qos_profiles"])
    assert (slow_offer["history"], slow_offer["depth"], slow_offer["reliability"], slow_offer["durability"]) == (1,) * 4


@pytest.mark.parametrize("there", [False, True], ids=["new", "replaced"])
def test_a_full_disk_leaves_no_half_of_a_recording(there, tmp_path, capsys):
    """A limit of the size of files stands for it. What was there stays; the error says which file was written."""
    table, bag = tmp_path / "log.csv", tmp_path / "recordings" / "bag"
    write_csv(table, np.arange(500) * 0.001, np.tile([*REST, *[0.0] * 7, *[1.0] * 7], (500, 1)))
    if there:
        write_joint_states(bag, samples(10))
    before = {file: file.read_bytes() for file in bag.parent.rglob("*.*")}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, hard))
    try:
        assert main(["convert", str(table), str(bag), "--overwrite"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert capsys.readouterr().err == f"panda-dynamics: error: {bag}: File too large\n"
    assert {file: file.read_bytes() for file in bag.parent.rglob("*.*")} == before
    assert main(["convert", str(table), str(bag), "--overwrite"]) == 0
    assert len(load_dataset(bag).stamp) == 500
