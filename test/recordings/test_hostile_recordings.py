# SPDX-License-Identifier: Apache-2.0
"""Files that claim astronomic sizes, or hold what no recorder writes, cost a message and not the machine.

Each is read with a gigabyte of memory and ten seconds of processor time.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from bag_files import samples, write_bag
from limited import LimitedReaders

from panda_dynamics_ros import load_dataset
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import DataFileNotFoundError
from panda_dynamics_ros.recordings import rosbag2, write_joint_states
from panda_dynamics_ros.recordings.rosbag2 import CHANNEL, CHUNK, MCAP_MAGIC, MESSAGE, SCHEMA


@pytest.fixture(scope="module")
def readers() -> Iterator[LimitedReaders]:
    with LimitedReaders() as readers:
        yield readers


def record(opcode: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack("<BQ", opcode, len(content) if length is None else length) + content


def string(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode()


def chunk(content: bytes, checksum: int = 0) -> bytes:
    head = struct.pack("<QQQI", 0, 0, len(content), checksum) + string("")
    return record(CHUNK, head + struct.pack("<Q", len(content)) + content)


def joint_state_channel() -> bytes:
    schema = struct.pack("<H", 1) + string("sensor_msgs/msg/JointState") + string("ros2msg") + string("")
    channel = struct.pack("<HH", 1, 1) + string("/joint_states") + string("cdr") + struct.pack("<I", 0)
    return record(SCHEMA, schema) + record(CHANNEL, channel)


def zeros(size: int) -> bytes:
    """So many zero bytes, packed by zstd, without ever having them all."""
    zstd = rosbag2.zstd()
    compressor, block = zstd.ZstdCompressor(), bytes(1 << 24)
    packed = [compressor.compress(block) for _ in range(size // len(block))]
    return b"".join(packed) + bytes(compressor.flush())


def mcap(tmp_path: Path, *records: bytes) -> Path:
    path = tmp_path / "hostile.mcap"
    path.write_bytes(MCAP_MAGIC + b"".join(records))
    return path


def bomb_in_a_chunk(tmp_path: Path) -> Path:
    packed = zeros(3 << 30)
    head = struct.pack("<QQQI", 0, 0, 3 << 30, 0) + string("zstd") + struct.pack("<Q", len(packed))
    return mcap(tmp_path, joint_state_channel(), record(CHUNK, head + packed))


def bomb_in_a_chunk_that_states_little(tmp_path: Path) -> Path:
    packed = zeros(1 << 30)
    head = struct.pack("<QQQI", 0, 0, 1000, 0) + string("zstd") + struct.pack("<Q", len(packed))
    return mcap(tmp_path, joint_state_channel(), record(CHUNK, head + packed))


def bomb_in_a_message(tmp_path: Path) -> Path:
    message = struct.pack("<HIQQ", 1, 0, 0, 0) + zeros(2 << 30)
    return mcap(tmp_path, joint_state_channel(), record(MESSAGE, message))


def bomb_as_a_file(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.mcap.zstd"
    path.write_bytes(zeros(3 << 30))
    return path


def file_packed_twice(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.mcap.zstd"
    path.write_bytes(rosbag2.zstd().compress(zeros(1 << 26)))
    return path


def gzip_bomb(tmp_path: Path) -> Path:
    """One line of gigabytes."""
    path, packer = tmp_path / "hostile.csv.gz", zlib.compressobj(9, wbits=31)
    block = b"1" * (1 << 24)
    path.write_bytes(b"".join([packer.compress(block) for _ in range(64)]) + packer.flush())
    return path


def nested_chunks(tmp_path: Path) -> Path:
    content = record(MESSAGE, struct.pack("<HIQQ", 1, 0, 0, 0))
    for _ in range(1500):
        content = chunk(content)
    return mcap(tmp_path, joint_state_channel(), content)


def wrong_checksum(tmp_path: Path) -> Path:
    content = record(MESSAGE, struct.pack("<HIQQ", 1, 0, 0, 0))
    return mcap(tmp_path, joint_state_channel(), chunk(content, zlib.crc32(content) ^ 1))


def endless_record(tmp_path: Path) -> Path:
    return mcap(tmp_path, joint_state_channel(), record(MESSAGE, b"", length=1 << 62))


def many_channels(tmp_path: Path) -> Path:
    channels = (
        record(CHANNEL, struct.pack("<HH", k % 65536, 1) + string(f"/t{k}") + string("cdr") + struct.pack("<I", 0))
        for k in range(60_000)
    )
    return mcap(tmp_path, joint_state_channel(), *channels)


def database(tmp_path: Path, *statements: str) -> Path:
    path = tmp_path / "hostile.db3"
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


TOPICS = (
    "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT)",
    "INSERT INTO topics VALUES(1, '/joint_states', 'sensor_msgs/msg/JointState')",
)
MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"


def data_of_other_types(tmp_path: Path) -> Path:
    rows = "(1, 1, 0, NULL), (2, 1, 0, 17), (3, 1, 'now', x'00'), (4, NULL, NULL, 'text'), (5, 1, 1.5, x'')"
    return database(tmp_path, *TOPICS, MESSAGES, f"INSERT INTO messages VALUES {rows}")


def large_blob(tmp_path: Path) -> Path:
    return database(tmp_path, *TOPICS, MESSAGES, "INSERT INTO messages VALUES(1, 1, 0, zeroblob(300000000))")


def endless_view(tmp_path: Path) -> Path:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, 1 AS topic_id, "
    return database(tmp_path, *TOPICS, f"CREATE VIEW messages AS {endless} x AS timestamp, x'00' AS data FROM n")


def computed_column(tmp_path: Path) -> Path:
    columns = "id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB AS (zeroblob(900000000))"
    return database(tmp_path, *TOPICS, f"CREATE TABLE messages({columns})", "INSERT INTO messages VALUES(1, 1, 0)")


def nanoseconds(tmp_path: Path) -> Path:
    path = tmp_path / "nanoseconds.csv"
    names = ["t", *(f"{field}{i}" for field in ("q", "dq", "tau") for i in range(1, 8))]
    table = np.column_stack((1.7e18 + 1e6 * np.arange(50), np.ones((50, 21))))
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


def alias_bomb(tmp_path: Path) -> Path:
    """The metadata of a recording that has nothing else."""
    folder = tmp_path / "bag"
    folder.mkdir()
    lines = ["a0: &a0 [x, x]", *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 30))]
    lines.append("rosbag2_bagfile_information: {relative_file_paths: *a29}")
    (folder / "metadata.yaml").write_text("\n".join(lines))
    return folder


def deep_metadata(tmp_path: Path) -> Path:
    (tmp_path / "metadata.yaml").write_text("[" * 50_000)
    return tmp_path


def metadata(folder: Path, *names: str) -> Path:
    """A recording whose metadata.yaml lists these files."""
    content = {"rosbag2_bagfile_information": {"relative_file_paths": list(names)}}
    (folder / "metadata.yaml").write_text(json.dumps(content))
    return folder


def name_of_no_file(tmp_path: Path) -> Path:
    return metadata(tmp_path, "x" * 300 + ".mcap", "a\0b.mcap")


ESCAPES = "\x1b]0;owned\x07\x1b[2J"


def escapes_in_metadata(tmp_path: Path) -> Path:
    return metadata(tmp_path, f"{ESCAPES}.mcap")


def escapes_in_a_topic(tmp_path: Path) -> Path:
    return write_bag(tmp_path / "bag", {f"/{ESCAPES}a": samples(2), "/b": samples(2)})


def escapes_in_a_header(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(f"{ESCAPES},b,c\n1,2,3\n")
    return tmp_path / "log.csv"


def escapes_in_a_name(tmp_path: Path) -> Path:
    return tmp_path / f"{ESCAPES}.csv"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (bomb_in_a_chunk, "a chunk that unpacks to 3221225472 bytes"),
        (bomb_in_a_chunk_that_states_little, "a chunk that unpacks to more than the 1000 bytes"),
        (bomb_in_a_message, "cannot be decoded"),
        (bomb_as_a_file, "bytes that unpack to more than"),
        (file_packed_twice, "compressed twice"),
        (gzip_bomb, "expected lines of at most 65536 characters"),
        (nested_chunks, "a chunk within a chunk"),
        (wrong_checksum, "does not match its checksum and is left out"),
        (endless_record, "a record of 4611686018427387904 bytes"),
        (many_channels, "more than 10000 channels"),
        (data_of_other_types, "cannot be decoded"),
        (large_blob, "cannot be decoded"),
        (endless_view, "no such table: messages"),
        (computed_column, "generated columns in table messages"),
        (nanoseconds, "expected s, below 2^31"),
        (alias_bomb, "without .db3 or .mcap files"),
        (deep_metadata, "without .db3 or .mcap files"),
        (name_of_no_file, "expected the files that metadata.yaml lists, got none of xxx"),
    ],
)
def test_a_hostile_file_is_refused_in_one_line(
    make: Callable[[Path], Path], words: str, readers: LimitedReaders, tmp_path: Path
) -> None:
    text = readers.outcome("dataset", make(tmp_path))
    assert text.startswith("refused: ")
    assert words in text, text
    assert len(text) < 1500


def test_a_compressed_motion_is_read_to_a_limit(readers: LimitedReaders, tmp_path: Path) -> None:
    path, packer = tmp_path / "motion.csv.gz", zlib.compressobj(9, wbits=31)
    row, count = b"0" + b",0" * 21 + b"\n", 1 << 18
    path.write_bytes(b"".join([packer.compress(row * count) for _ in range(64)]) + packer.flush())  # 740 MB
    assert "expected at most 33554432 bytes, got more" in readers.outcome("motion", path)


def test_a_file_that_is_listed_many_times_is_read_once(readers: LimitedReaders, tmp_path: Path) -> None:
    """Within the ten seconds of processor time that `readers` have."""
    file = write_joint_states(tmp_path / "bag", samples(20))
    text = readers.outcome("dataset", metadata(file.parent, *[file.name] * 40_000))
    assert text == "read: 20 samples"


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x" * 300 + ".mcap", "/".join(["x" * 100] * 90)])
def test_a_path_that_no_file_can_have_is_that_of_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataFileNotFoundError, match="no such file"):
        load_dataset(tmp_path / name)


@pytest.mark.parametrize("make", [escapes_in_metadata, escapes_in_a_topic, escapes_in_a_header, escapes_in_a_name])
def test_a_terminal_obeys_nothing_that_a_file_says(
    make: Callable[[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["replay", str(make(tmp_path)), "--output", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert code == 2
    assert "\\x1b]0;" in printed.err
    assert "\x1b" not in printed.out + printed.err
