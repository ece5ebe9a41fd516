# SPDX-License-Identifier: Apache-2.0
"""The two storages of rosbag2, MCAP also cut off or damaged, and the library that decodes their messages.

`rosbags` gives nothing of a file that is not whole, and unpacks as much as a file claims; here sizes are limited. It is
imported when it is first needed, so that the package starts, and reads CSV files, without it.
"""

import importlib
import io
import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple

from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.untrusted import import_optional, most_unpacked

JOINT_STATE = "sensor_msgs/msg/JointState"
# A file may claim any size; recorders write far less: chunks of 1 to 8 MiB, and 3,000 bytes for 64 joints.
LARGEST_RECORD = 1 << 28  # bytes of a record of an MCAP file, packed, and of a chunk's records, unpacked
LARGEST_JOINT_STATE = 1 << 16  # bytes of one message that is to be decoded
LARGEST_TOPIC_COUNT = 10_000  # topics of a bag, datasets and groups of an HDF5 file
MCAP_MAGIC, SQLITE_MAGIC = b"\x89MCAP0\r\n", b"SQLite format 3\0"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
_HEAD = struct.Struct("<BQ")  # opcode, length of the content
_MESSAGE = struct.Struct("<HIQQ")  # channel id, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # start time, end time, uncompressed size, CRC
UNSOUND = (EOFError, ValueError, LookupError, struct.error)  # what records that are cut off or damaged raise
Message = tuple[int, int, bytes]  # channel id, log time in ns, serialised message
_MESSAGES = """SELECT timestamp, CASE WHEN length(data) <= ? THEN data END FROM messages
    WHERE topic_id IN (SELECT id FROM topics WHERE name = ?) ORDER BY timestamp, id"""


class Topic(NamedTuple):
    """A topic of a recording."""

    name: str
    type: str
    messages: int


def module(name: str) -> Any:
    """A module of `rosbags` or of what comes with it; MissingDependencyError where it is not installed."""
    return import_optional(name, "'rosbags>=0.11'")


@cache
def typestore() -> Any:
    """The message types of ROS 2; JointState has been the same in all its distributions."""
    typesys = module("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


@cache
def zstd() -> ModuleType:
    """Zstandard: in the standard library from Python 3.14 on, before that its backport, which rosbags requires."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return module("backports.zstd")


# ---- MCAP, https://mcap.dev/spec -----------------------------------------------------------------------------------


class McapFile:
    """One .mcap file.

    A recorder that was killed leaves neither index nor footer, and often half a chunk: everything is read up to the
    last whole message. A chunk whose checksum does not match is left out.

    `topics` have the number of messages that can be read; `damage` names the first part that was not read, and why.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.damage = path, ""
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}  # topic and type by channel id
        counts = Counter(self._channels[channel] for channel, _, _ in self._messages())
        self.topics = [Topic(*channel, counts[channel]) for channel in dict.fromkeys(self._channels.values())]

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """(receive time in ns, serialised message) of a topic, in the order of writing; by time within a chunk."""
        for channel, time, data in self._messages():
            if self._channels[channel][0] == topic:
                yield time, data

    def _messages(self) -> Iterator[Message]:
        size = self.path.stat().st_size
        self._most_unpacked = most_unpacked(size)  # by the chunks that are still to come
        with self.path.open("rb") as stream:
            stream.seek(len(MCAP_MAGIC))
            try:
                yield from self._records(stream, size)
            except UNSOUND as error:
                self.damage = self.damage or f"cut off or damaged: {error}"

    def _records(self, stream: BinaryIO, size: int, is_chunk: bool = False) -> Iterator[Message]:
        """The messages of a file, or of a chunk's records."""
        while (place := stream.tell()) < size:
            opcode, length = _HEAD.unpack(stream.read(_HEAD.size))
            if is_chunk and opcode not in (SCHEMA, CHANNEL, MESSAGE):
                raise ValueError(f"a record of type {opcode} within a chunk")
            if opcode in (DATA_END, FOOTER):
                return
            if opcode not in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                stream.seek(min(length, size), 1)
                continue
            if length > LARGEST_RECORD:
                raise ValueError(f"a record of {length} bytes at byte {place}, of at most {LARGEST_RECORD}")
            content = stream.read(length)
            if opcode == CHUNK:
                yield from self._chunk(content, place, is_whole=len(content) == length)
            elif len(content) == length:
                yield from self._record(opcode, content)
            if len(content) < length:
                raise EOFError(f"a record of {length} bytes at byte {place} ends after {len(content)}")
        if not is_chunk:
            raise EOFError("it ends without its index, as where the recorder was killed")

    def _chunk(self, content: bytes, place: int, is_whole: bool) -> Iterator[Message]:
        """The messages of a chunk by time; of one that is cut or damaged, those before its end or the damage."""
        messages = list[Message]()
        try:
            records, checksum = _chunk_records(content, min(LARGEST_RECORD, self._most_unpacked))
            self._most_unpacked -= len(records)
            if is_whole and checksum and zlib.crc32(records) != checksum:
                raise ValueError(f"the chunk at byte {place} does not match its checksum and is left out")
            for message in self._records(io.BytesIO(records), len(records), is_chunk=True):
                messages.append(message)
        except UNSOUND as error:
            self.damage = self.damage or f"cut off or damaged: {error}"
        yield from sorted(messages, key=itemgetter(1)) if is_whole else messages

    def _record(self, opcode: int, content: bytes) -> Iterator[Message]:
        if opcode == MESSAGE:
            number, _, log_time, _ = _MESSAGE.unpack_from(content)
            if number not in self._channels:
                raise ValueError(f"a message of channel {number}, which there is not")
            yield number, log_time, content[_MESSAGE.size :]
        elif opcode == SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            self._schemas[number] = _string(content, 2)[0]
        else:
            number, schema = struct.unpack_from("<HH", content)
            self._channels[number] = _string(content, 4)[0], self._schemas.get(schema, "")
            if len(self._channels) > LARGEST_TOPIC_COUNT:
                raise ValueError(f"more than {LARGEST_TOPIC_COUNT} channels")


def _string(content: bytes, offset: int) -> tuple[str, int]:
    """The string at `offset`, and where it ends."""
    (length,) = struct.unpack_from("<I", content, offset)
    end = offset + 4 + length
    return content[offset + 4 : end].decode(), end


def _chunk_records(content: bytes, most: int) -> tuple[bytes, int]:
    """The records of a chunk, as many as its bytes give but at most so many bytes, and their checksum (0: none)."""
    _, _, size, checksum = _CHUNK.unpack_from(content)
    if size > most:
        raise ValueError(f"a chunk that unpacks to {size} bytes, of at most {most}")
    compression, end = _string(content, _CHUNK.size)
    compressed = content[end + 8 :]
    if not compression:
        return compressed, checksum
    # The incremental decompressors give what there is; those for whole frames refuse a cut one.
    if compression not in ("zstd", "lz4"):
        raise ValueError(f"a chunk with unknown compression {compression!r}")
    decompressor = zstd().ZstdDecompressor() if compression == "zstd" else module("lz4.frame").LZ4FrameDecompressor()
    try:
        records = bytes(decompressor.decompress(compressed, max_length=size + 1))
    except (zstd().ZstdError, RuntimeError) as error:
        raise ValueError(f"a chunk that does not decompress: {error}") from error
    if len(records) > size:
        raise ValueError(f"a chunk that unpacks to more than the {size} bytes that it states")
    return records, checksum


# ---- SQLite --------------------------------------------------------------------------------------------------------


class SqliteFile:
    """One .db3 file, which has to be whole; its attributes are those of `McapFile`.

    Raises DataError: the tables of rosbag2 are not there, or the file is cut off or damaged; also while it is read.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.damage = path, ""
        with self._connection() as connection:
            _check_tables(connection)
            rows = connection.execute("SELECT id, name, type FROM topics ORDER BY id").fetchmany(LARGEST_TOPIC_COUNT)
            counts = Counter(dict(connection.execute("SELECT topic_id, count(*) FROM messages GROUP BY topic_id")))
        self.topics = [Topic(name, kind, counts[k]) for k, name, kind in rows if {type(name), type(kind)} == {str}]

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """(receive time in ns, serialised message) of a topic, by time."""
        with self._connection() as connection:
            for time, data in connection.execute(_MESSAGES, (LARGEST_JOINT_STATE, topic)):
                # What is no message is passed on as an empty one, which is counted as one that cannot be decoded.
                yield (time, data) if isinstance(time, int) and isinstance(data, bytes) else (0, b"")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # `immutable` spares locks and needs no write access, but would leave out what a recorder that was killed
        # left in its write-ahead log.
        log = self.path.with_name(f"{self.path.name}-wal")
        immutable = 0 if log.is_file() and log.stat().st_size else 1
        uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable={immutable}"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as it:
                it.text_factory = lambda text: text.decode(errors="replace")
                (page_size,) = it.execute("PRAGMA page_size").fetchone()
                # SQLite fills a page that is cut with zeros, as if they were measured.
                if self.path.stat().st_size % page_size:
                    raise sqlite3.DatabaseError("the last page is cut off")
                yield it
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            quoted = " ".join(str(error).split())[:200]  # from the file itself
            remedy = "of a damaged one, `sqlite3 damaged.db3 .recover | sqlite3 whole.db3` saves what there is"
            wanted = "the tables of rosbag2 in a whole SQLite file"
            raise DataError(f"{self.path}: expected {wanted}, got: {quoted} ({remedy})") from error


def _check_tables(connection: sqlite3.Connection) -> None:
    """Refuse views, virtual tables and generated columns: they can compute without end when they are read."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name = ?"
    for name in ("topics", "messages"):
        if connection.execute(query, (name,)).fetchone() is None:
            raise sqlite3.OperationalError(f"no such table: {name}")
        if any(hidden for *_, hidden in connection.execute(f"PRAGMA table_xinfo({name})")):
            raise sqlite3.OperationalError(f"generated columns in table {name}")
