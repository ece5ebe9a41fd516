# SPDX-License-Identifier: Apache-2.0
"""Files that claim astronomic sizes, or hold what no recorder writes, cost a message and not the machine.

Each is read with a gigabyte of memory and ten seconds of processor time.
"""

import sqlite3
import struct
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from bag_files import samples, write_bag
from limited import LimitedReaders
from motion import columns

from panda_dynamics_ros import load_dataset
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import DataFileNotFoundError
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.rosbag2 import CHANNEL, CHUNK, MCAP_MAGIC, MESSAGE, SCHEMA


def record(opcode: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack("<BQ", opcode, len(content) if length is None else length) + content


def string(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode()


def chunk(records: bytes, checksum: int = 0, compression: str = "", size: int | None = None) -> bytes:
    head = struct.pack("<QQQI", 0, 0, len(records) if size is None else size, checksum) + string(compression)
    return record(CHUNK, head + struct.pack("<Q", len(records)) + records)


def channel(number: int, topic: str) -> bytes:
    return record(CHANNEL, struct.pack("<HH", number, 1) + string(topic) + string("cdr") + struct.pack("<I", 0))


SCHEMA_OF_JOINT_STATE = struct.pack("<H", 1) + string("sensor_msgs/msg/JointState") + string("ros2msg") + string("")
JOINT_STATES = record(SCHEMA, SCHEMA_OF_JOINT_STATE) + channel(1, "/joint_states")
HEAD = struct.pack("<HIQQ", 1, 0, 0, 0)
A_MESSAGE = record(MESSAGE, HEAD)
A_LARGE_SCHEMA = record(SCHEMA, struct.pack("<H", 2) + string("x" * (1 << 20)))


def zeros(size: int) -> bytes:
    """So many zero bytes as a frame of zstd: each of its blocks repeats one byte (RFC 8878, 3.1.1)."""
    block, window = 1 << 17, 7 << 3  # bytes, that as an exponent
    repeated = [(block << 3 | 1 << 1).to_bytes(3, "little") + b"\0"] * (size // block)
    last = (block << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return struct.pack("<IBB", 0xFD2FB528, 0, window) + b"".join(repeated[1:]) + last


def chunk_of(records: bytes, size: int) -> bytes:
    """These records until there are `size` bytes, in a chunk that is packed by zstd."""
    content = records * (size // len(records))
    return chunk(rosbag2.zstd().compress(content), 0, "zstd", len(content))


def nested_chunks() -> bytes:
    content = A_MESSAGE
    for _ in range(1500):
        content = chunk(content)
    return content


def gzip_bomb() -> bytes:
    """One line of gigabytes."""
    packer = zlib.compressobj(9, wbits=31)
    return 64 * (packer.compress(b"1" * (1 << 24)) + packer.flush())  # members follow each other as one content


MCAPS: dict[str, tuple[Callable[[], bytes], str]] = {  # what follows the channel, words
    "a chunk bomb": (lambda: chunk(zeros(3 << 30), 0, "zstd", 3 << 30), "a chunk that unpacks to 3221225472 bytes"),
    "false size": (lambda: chunk(zeros(1 << 30), 0, "zstd", 1000), "a chunk that unpacks to more than the 1000 bytes"),
    "a bomb in a message": (lambda: record(MESSAGE, HEAD + zeros(2 << 30)), "cannot be decoded"),
    "nested chunks": (nested_chunks, "a record of type 6 within a chunk"),
    "checksum": (lambda: chunk(A_MESSAGE, zlib.crc32(A_MESSAGE) ^ 1), "does not match its checksum and is left out"),
    "an endless record": (lambda: record(MESSAGE, b"", 1 << 62), "a record of 4611686018427387904 bytes"),
    "many chunks": (lambda: 3 * chunk_of(A_LARGE_SCHEMA, 1 << 23), "of at most "),
    "many messages": (lambda: chunk_of(A_MESSAGE, 1 << 28), "of at most 16777216"),
    "many channels": (
        lambda: b"".join(channel(k % 65536, f"/t{k}") for k in range(60_000)),
        "more than 10000 channels",
    ),
}
FILES: dict[str, tuple[str, Callable[[], bytes], str]] = {  # ending, content, words
    **{name: (".mcap", *each) for name, each in MCAPS.items()},
    "a bomb as a file": (".mcap.zstd", lambda: zeros(3 << 30), "bytes that unpack to more than"),
    "a file packed twice": (".mcap.zstd", lambda: rosbag2.zstd().compress(zeros(1 << 26)), "compressed twice"),
    "a line of gigabytes": (".csv.gz", gzip_bomb, "expected lines of at most 65536 characters"),
    "many empty frames": (".mcap.zstd", lambda: rosbag2.zstd().compress(b"") * 100_000, "got an empty file"),
}
TOPICS = (
    "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT)",
    "INSERT INTO topics VALUES(1, '/joint_states', 'sensor_msgs/msg/JointState')",
)
MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
OTHER_TYPES = "(1, 1, 0, NULL), (2, 1, 0, 17), (3, 1, 'now', x'00'), (4, NULL, NULL, 'text'), (5, 1, 1.5, x'')"
ENDLESS = (
    "CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00' AS data FROM n"
)
COMPUTED = "CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB AS (zeroblob(900000000)))"
DATABASES: dict[str, tuple[tuple[str, ...], str]] = {
    "data of other types": ((MESSAGES, f"INSERT INTO messages VALUES {OTHER_TYPES}"), "cannot be decoded"),
    "a large blob": ((MESSAGES, "INSERT INTO messages VALUES(1, 1, 0, zeroblob(300000000))"), "cannot be decoded"),
    "an endless view": ((ENDLESS,), "no such table: messages"),
    "a computed column": ((COMPUTED, "INSERT INTO messages VALUES(1, 1, 0)"), "generated columns in table messages"),
}


def many_arrays(path: Path) -> None:
    np.savez_compressed(path, **{name: np.zeros(1 << 18) for name in columns()})  # type: ignore[arg-type]


def bytes_as_numbers(path: Path) -> None:
    """Each has 1 GiB as numbers, and no chunk of them is in the file."""
    with pytest.importorskip("h5py").File(path, "w") as file:
        for name in columns():
            file.create_dataset(name, shape=1 << 27, dtype="i1", chunks=(1 << 20,), compression="gzip")


def large_chunks(path: Path) -> None:
    with pytest.importorskip("h5py").File(path, "w") as file:
        for name in columns():
            file.create_dataset(name, shape=10, dtype="f4", maxshape=(None,), chunks=(1 << 28,), compression="gzip")


def deep_groups(path: Path) -> None:
    with pytest.importorskip("h5py").File(path, "w") as file:
        group = file
        for _ in range(3000):
            group = group.create_group("g")
        group["again"] = file["/"]


def long_lists(path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ends = arrow.array((np.arange(11) << 18).astype(np.int32))
    parquet.write_table(arrow.table({"q": arrow.ListArray.from_arrays(ends, np.zeros(10 << 18))}), path)


TABLES: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "many arrays": ("npz", many_arrays, "expected numbers of at most "),
    "bytes as numbers": ("h5", bytes_as_numbers, "expected numbers of at most "),
    "large chunks": ("h5", large_chunks, "expected numbers of at most "),
    "deep groups": ("h5", deep_groups, "expected a header with t"),
    "long lists": ("parquet", long_lists, "expected numbers of at most "),
}


ESCAPES = "\x1b]0;owned\x07\x1b[2J"


def escapes_in_a_topic(tmp_path: Path) -> Path:
    return write_bag(tmp_path / "bag", {f"/{ESCAPES}a": samples(2), "/b": samples(2)})


def escapes_in_a_header(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(f"{ESCAPES},b,c\n1,2,3\n")
    return tmp_path / "log.csv"


def escapes_in_a_name(tmp_path: Path) -> Path:
    return tmp_path / f"{ESCAPES}.csv"


def assert_refused(path: Path, words: str, readers: LimitedReaders) -> None:
    """In one line."""
    text = readers.outcome("dataset", path)
    assert text.startswith("refused: ")
    assert words in text, text
    assert len(text) < 1500


@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_is_refused(what, readers, tmp_path):
    ending, content, words = FILES[what]
    path = tmp_path / f"hostile{ending}"
    path.write_bytes((MCAP_MAGIC + JOINT_STATES if ending == ".mcap" else b"") + content())
    assert_refused(path, words, readers)


@pytest.mark.parametrize("what", TABLES)
def test_a_hostile_table_is_refused(what, readers, tmp_path):
    ending, write, words = TABLES[what]
    write(tmp_path / f"hostile.{ending}")
    assert_refused(tmp_path / f"hostile.{ending}", words, readers)


@pytest.mark.parametrize("what", DATABASES)
def test_a_hostile_database_is_refused(what, readers, tmp_path):
    statements, words = DATABASES[what]
    with closing(sqlite3.connect(tmp_path / "hostile.db3")) as connection:
        for statement in (*TOPICS, *statements):
            connection.execute(statement)
        connection.commit()
    assert_refused(tmp_path / "hostile.db3", words, readers)


def test_a_compressed_motion_is_read_to_a_limit(readers, tmp_path):
    path, packer = tmp_path / "motion.csv.gz", zlib.compressobj(9, wbits=31)
    row, count = b"0" + b",0" * 21 + b"\n", 1 << 18
    path.write_bytes(64 * (packer.compress(row * count) + packer.flush()))  # 740 MB
    assert "expected at most 33554432 bytes, got more" in readers.outcome("motion", path)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x" * 300 + ".mcap", "/".join(["x" * 100] * 90)])
def test_a_path_that_no_file_can_have_is_that_of_none(name, tmp_path):
    with pytest.raises(DataFileNotFoundError, match="no such file"):
        load_dataset(tmp_path / name)


@pytest.mark.parametrize("make", [escapes_in_a_topic, escapes_in_a_header, escapes_in_a_name])
def test_a_terminal_obeys_nothing_that_a_file_says(make, tmp_path, capsys):
    code = main(["replay", str(make(tmp_path)), "--output", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert code == 2
    assert "\\x1b]0;" in printed.err
    assert "\x1b" not in printed.out + printed.err
