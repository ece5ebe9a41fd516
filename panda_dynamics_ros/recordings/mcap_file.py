# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 file in MCAP format (https://mcap.dev/spec), read record by record.

A recorder that was killed leaves neither index nor footer, and often half a chunk: everything is then read up to the
last whole message, also out of that chunk. A chunk whose checksum (CRC-32) does not match is left out.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.limits import LARGEST_RECORD, LARGEST_TOPIC_COUNT
from panda_dynamics_ros.recordings.rosbag2 import Topic

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
_HEAD = struct.Struct("<BQ")  # opcode, length of the content
_MESSAGE = struct.Struct("<HIQQ")  # channel id, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # start time, end time, uncompressed size, CRC
_CRC_IN_CHUNK = _HEAD.size + 24
DAMAGE = (EOFError, ValueError, LookupError, struct.error)


class Channel(NamedTuple):
    """What a channel id stands for."""

    topic: str
    type: str


class McapFile:
    """One .mcap file: a `BagFile`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""
        scan = _Scan(path)
        counts = Counter(channel for channel, _, _ in scan.messages())
        self.damage = scan.damage
        self.topics = [Topic(*channel, counts[channel]) for channel in dict.fromkeys(scan.channels.values())]

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """(receive time in ns, serialised message) of a topic, in the order of writing; by time within a chunk."""
        scan = _Scan(self.path)
        for channel, time, data in scan.messages():
            if channel.topic == topic:
                yield time, data
        self.damage = scan.damage


class _Scan:
    """Messages of a file from its beginning. `damage` says what was left out, and why reading ended early."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.channels: dict[int, Channel] = {}
        self._schemas: dict[int, str] = {}
        self.damage = ""

    def messages(self) -> Iterator[tuple[Channel, int, bytes]]:
        """(channel, log time in ns, serialised message)."""
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            stream.seek(len(MAGIC))
            try:
                while stream.tell() < size:
                    place = stream.tell()
                    opcode, length = _HEAD.unpack(stream.read(_HEAD.size))
                    if opcode in (DATA_END, FOOTER):
                        return
                    if opcode in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                        yield from self._content(opcode, _read(stream, length, place), length, place)
                    elif length <= size - stream.tell():
                        stream.seek(length, 1)
                    else:
                        raise EOFError(f"a record of {length} bytes at byte {place} goes beyond the file's end")
                raise EOFError("it ends without its index, as where the recorder was killed")
            except DAMAGE as error:
                self._note(f"cut off or damaged: {error}")

    def _content(self, opcode: int, content: bytes, length: int, place: int) -> Iterator[tuple[Channel, int, bytes]]:
        whole = len(content) == length
        if opcode == CHUNK:
            records, checksum = _chunk_records(content)
            if whole and checksum and zlib.crc32(records) != checksum:
                self._note(f"damaged: the chunk at byte {place} does not match its checksum and is left out")
                return
            messages = (message for inner, data in _records(records) for message in self._record(inner, data))
            yield from sorted(messages, key=itemgetter(1)) if whole else messages
        elif whole:
            yield from self._record(opcode, content)
        if not whole:
            raise EOFError(f"a record of {length} bytes at byte {place} ends after {len(content)}")

    def _record(self, opcode: int, content: bytes) -> Iterator[tuple[Channel, int, bytes]]:
        if opcode == MESSAGE:
            number, _, log_time, _ = _MESSAGE.unpack_from(content)
            yield self.channels[number], log_time, content[_MESSAGE.size :]
        elif opcode == SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            self._schemas[number] = _string(content, 2)[0]
        elif opcode == CHANNEL:
            number, schema = struct.unpack_from("<HH", content)
            self.channels[number] = Channel(_string(content, 4)[0], self._schemas.get(schema, ""))
            if len(self.channels) > LARGEST_TOPIC_COUNT:
                raise ValueError(f"more than {LARGEST_TOPIC_COUNT} channels")

    def _note(self, damage: str) -> None:
        self.damage = self.damage or damage


def write_checksums(path: Path) -> None:
    """Fill in the checksum of each chunk of a whole file, which `rosbags` leaves out."""
    with path.open("r+b") as stream:
        stream.seek(len(MAGIC))
        while True:
            place = stream.tell()
            opcode, length = _HEAD.unpack(stream.read(_HEAD.size))
            if opcode in (DATA_END, FOOTER):
                return
            if opcode == CHUNK:
                records, _ = _chunk_records(stream.read(length))
                stream.seek(place + _CRC_IN_CHUNK)
                stream.write(struct.pack("<I", zlib.crc32(records)))
            stream.seek(place + _HEAD.size + length)


def _read(stream: BinaryIO, length: int, place: int) -> bytes:
    """The content of a record, as much as there is."""
    if length > LARGEST_RECORD:
        raise ValueError(f"a record of {length} bytes at byte {place}, of at most {LARGEST_RECORD}")
    return stream.read(length)


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(opcode, content) of the records in a chunk."""
    place, size = 0, len(content)
    while place < size:
        opcode, length = _HEAD.unpack_from(content, place)
        place += _HEAD.size
        if place + length > size:
            raise EOFError(f"a record of {length} bytes has only {size - place}")
        if opcode == CHUNK:
            raise ValueError("a chunk within a chunk")
        yield opcode, content[place : place + length]
        place += length


def _string(content: bytes, offset: int) -> tuple[str, int]:
    """The string at `offset`, and where it ends."""
    (length,) = struct.unpack_from("<I", content, offset)
    end = offset + 4 + length
    return content[offset + 4 : end].decode(), end


def _chunk_records(content: bytes) -> tuple[bytes, int]:
    """The records of a chunk, as many as its bytes give, and their checksum (0: none)."""
    _, _, size, checksum = _CHUNK.unpack_from(content)
    if size > LARGEST_RECORD:
        raise ValueError(f"a chunk that unpacks to {size} bytes, of at most {LARGEST_RECORD}")
    compression, end = _string(content, _CHUNK.size)
    compressed = content[end + 8 :]
    if not compression:
        return compressed, checksum
    # The incremental decompressors give what there is; those for whole frames refuse a cut one.
    decompressor: Any
    if compression == "zstd":
        decompressor = rosbag2.zstd().ZstdDecompressor()
    elif compression == "lz4":
        decompressor = rosbag2.module("lz4.frame").LZ4FrameDecompressor()
    else:
        raise ValueError(f"a chunk with unknown compression {compression!r}")
    try:
        records = bytes(decompressor.decompress(compressed, max_length=size + 1))
    except (rosbag2.zstd().ZstdError, RuntimeError) as error:
        raise ValueError(f"a chunk that does not decompress: {error}") from error
    if len(records) > size:
        raise ValueError(f"a chunk that unpacks to more than the {size} bytes that it states")
    return records, checksum
