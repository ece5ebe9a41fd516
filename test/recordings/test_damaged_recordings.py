# SPDX-License-Identifier: Apache-2.0
"""Recordings that were cut off or damaged: what can be read is read, and it is said that there was more; or refused."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bag_files import assert_same, read_whole, samples, storage_file, write_bag
from rosbags.rosbag2 import CompressionMode

from panda_dynamics_ros.errors import ArgumentError, DataError, DataFileNotFoundError
from panda_dynamics_ros.recordings import RecordingWarning, read_joint_states, write_joint_states


def cut(file: Path, fraction: float) -> Path:
    """The file without its end."""
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * fraction)])
    return file


def database(folder: Path, count: int) -> Path:
    """So many samples as sqlite3."""
    return storage_file(write_bag(folder, {"/joint_states": samples(count)}, "sqlite3"))


def test_a_write_ahead_log_of_a_killed_recorder_is_read(tmp_path):
    written = samples(20)
    file = storage_file(write_bag(tmp_path / "bag", {"/joint_states": written[:10]}, "sqlite3"))
    rest = storage_file(write_bag(tmp_path / "rest", {"/joint_states": written[10:]}, "sqlite3"))
    with closing(sqlite3.connect(file)) as store:
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("ATTACH ? AS rest", (str(rest),))
        store.execute("INSERT INTO messages SELECT id + 10, topic_id, timestamp + 10000000, data FROM rest.messages")
        store.commit()
        (tmp_path / "killed").mkdir()
        for name in (file.name, f"{file.name}-wal"):
            shutil.copy(file.with_name(name), tmp_path / "killed")
    assert_same(read_whole(tmp_path / "killed" / file.name), written)


def test_wherever_a_recording_is_cut_nothing_is_made_up(tmp_path):
    written = samples(200)
    content = write_joint_states(tmp_path / "bag", written).read_bytes()
    file, counts = tmp_path / "cut.mcap", set()
    for length in range(len(content) // 2, len(content) // 2 + 9000, 277):
        file.write_bytes(content[:length])
        with pytest.warns(RecordingWarning, match="not whole"):
            stream = read_joint_states(file)
            read = list(stream)
        assert_same(read, written[: len(read)])
        assert len(read) > length / len(content) * 200 - 50
        assert f"{len(read)} joint states" in stream.notes[-1]
        assert "\n" not in stream.notes[0]
        counts.add(len(read))
    assert len(counts) > 1


def test_an_sqlite_file_that_is_cut_is_refused_with_the_remedy(tmp_path):
    """SQLite would fill the rest of the last page with zeros, also in the middle of an effort."""
    content = database(tmp_path / "bag", 200).read_bytes()
    file = tmp_path / "cut.db3"
    for length in (len(content) // 2, len(content) - 4096, len(content) - 1):
        file.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"whole SQLite file, got: .*sqlite3 damaged.db3 .recover"):
            read_joint_states(file)


@pytest.mark.parametrize(
    "options", [{"compression": CompressionMode.STORAGE}, {"lz4_chunks": True}, {"compression": CompressionMode.FILE}]
)
@pytest.mark.parametrize("fraction", [0.4, 0.8])
def test_a_truncated_compressed_recording_gives_what_is_before_the_end(tmp_path, fraction, options):
    written = samples(2500)
    folder = write_bag(tmp_path / "bag", {"/joint_states": written}, **options)
    cut(storage_file(folder), fraction)
    with pytest.warns(RecordingWarning, match="not whole"):
        read = list(read_joint_states(folder))
    assert_same(read, written[: len(read)])
    # Zstandard and LZ4 give whole blocks, of at most 128 KiB or some 400 messages.
    assert fraction * 2500 - 500 < len(read) < 2500


def test_an_mcap_file_of_a_killed_recorder_loses_nothing(tmp_path):
    """Cut at the end of the data section: whole chunks, no index."""
    written = samples(30)
    file = write_joint_states(tmp_path / "bag", written)
    content = file.read_bytes()
    data_end = content.rindex(b"\x0f" + (4).to_bytes(8, "little") + bytes(4))
    file.write_bytes(content[:data_end])
    with pytest.warns(RecordingWarning, match="without its index"):
        assert_same(list(read_joint_states(file)), written)


@pytest.mark.parametrize("compression", [CompressionMode.STORAGE, CompressionMode.NONE])
def test_a_damaged_chunk_is_left_out_from_the_damage_on_with_a_note(compression, tmp_path):
    written = samples(9000)  # chunks of 1 MiB and a rest
    file = storage_file(write_bag(tmp_path / "bag", {"/joint_states": written}, compression=compression))
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = bytes(200)
    file.write_bytes(content)
    with pytest.warns(RecordingWarning, match="not whole"):
        read = list(read_joint_states(file))
    begin = next(k for k, sample in enumerate(read) if sample.stamp != written[k].stamp)
    assert_same(read, [*written[:begin], *written[begin - len(read) :]])
    assert 1000 < begin < 6000 < len(read) < 9000


def test_messages_that_cannot_be_decoded_are_counted(tmp_path):
    written = samples(10)
    file = storage_file(write_bag(tmp_path / "bag", {"/joint_states": written}, "sqlite3"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE messages SET data = substr(data, 1, 100) WHERE id IN (3, 4)")
        connection.commit()
    with pytest.warns(RecordingWarning, match="2 messages on /joint_states in bag.db3 cannot be decoded"):
        stream = read_joint_states(file)
        read = list(stream)
    assert stream.rejected == {"cannot be decoded": 2}
    assert_same(read, written[:2] + written[4:])


def not_a_bag(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def empty_folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def two_recordings(tmp_path: Path) -> Path:
    folder = empty_folder(tmp_path)
    shutil.move(write_joint_states(tmp_path / "a", samples(2)), folder)
    shutil.move(database(tmp_path / "b", 2), folder)
    return folder


def plain_database(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "plain.db3")) as connection:
        connection.execute("CREATE TABLE recipes (id INTEGER)")
    return tmp_path / "plain.db3"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: p / "absent.mcap", DataFileNotFoundError, "no such file"),
        (lambda p: not_a_bag(p, "x.mcap", b""), DataError, "an empty file"),
        (lambda p: not_a_bag(p, "x.db3", b"t,q1\n0,1\n"), DataError, "begins with"),
        (lambda p: not_a_bag(p, "x.bag", b"#ROSBAG V2.0\n"), DataError, "ROS 1"),
        (lambda p: not_a_bag(p, "x.mcap", b"\x89MCAP0\r\n"), DataError, "no topics.*not whole"),
        (lambda p: not_a_bag(p, "x.mcap", b"\x89MCAP0\r\n" + b"\xff" * 99), DataError, "no topics.*not whole"),
        (lambda p: not_a_bag(p, "x.db3", b"SQLite format 3\0" + b"\xff" * 999), DataError, "whole SQLite file"),
        (plain_database, DataError, "tables of rosbag2"),
        (empty_folder, DataError, "without .db3 or .mcap"),
        (two_recordings, DataError, "a.mcap, b.db3: name the one"),
        (lambda p: write_bag(p / "bag", {"/chatter": ["a"]}), DataError, r"got /chatter \(std_msgs/msg/String\)"),
        (lambda p: write_bag(p / "bag", {}), DataError, "no topics"),
        (lambda p: write_bag(p / "bag", {}, "sqlite3"), DataError, "no topics"),
        (lambda p: write_joint_states(p / "bag", []), DataError, r"/joint_states \(0 messages\)"),
        (lambda p: database(p / "bag", 0), DataError, r"/joint_states \(0 messages\)"),
        (lambda p: cut(database(p / "bag", 99), 0.02), DataError, "whole SQLite file"),
        (lambda p: cut(write_joint_states(p / "bag", samples(99)), 0.02), DataError, "not whole"),
    ],
)
def test_what_gives_no_joint_states_says_so_in_one_line(tmp_path, make, error, message):
    path = make(tmp_path)
    with pytest.raises(error, match=message) as caught:
        read_joint_states(path)
    assert str(path) in str(caught.value)
    assert "expected" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_writing_refuses_what_it_cannot_do(tmp_path):
    with pytest.raises(ArgumentError, match="does not exist yet"):
        write_joint_states(tmp_path, [])
    for stamp in (-1.0, np.nan, 2.0**31):
        with pytest.raises(ArgumentError, match="stamp"):
            write_joint_states(tmp_path / f"bag{stamp}", [replace(samples(1)[0], stamp=stamp)])


def test_only_a_recording_is_overwritten(tmp_path):
    database(tmp_path / "bag", 5)
    write_joint_states(tmp_path / "bag", samples(3), overwrite=True)
    assert_same(read_whole(tmp_path / "bag"), samples(3))
    (tmp_path / "bag" / "thesis.tex").touch()
    for path in (tmp_path / "bag", tmp_path / "bag" / "thesis.tex"):
        with pytest.raises(ArgumentError, match="holds something else"):
            write_joint_states(path, samples(3), overwrite=True)
    assert (tmp_path / "bag" / "thesis.tex").exists()
