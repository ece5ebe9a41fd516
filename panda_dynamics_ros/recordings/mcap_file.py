# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 file in MCAP format (https://mcap.dev/spec), read record by record, whole or damaged.

A recorder that was killed leaves neither index nor footer, and often half a chunk: everything is then read up to the
last whole message. A chunk whose checksum does not match is left out. Libraries for MCAP unpack a chunk to whatever
size it claims; here sizes are limited.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.limits import LARGEST_RECORD, LARGEST_TOPIC_COUNT
from panda_dynamics_ros.recordings.rosbag2 import Topic

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
_HEAD = struct.Struct("<BQ")  # opcode, length of the content
_MESSAGE = struct.Struct("<HIQQ")  # channel id, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # start time, end time, uncompressed size, CRC
DAMAGE = (EOFError, ValueError, LookupError, struct.error)
Message = tuple[int, int, bytes]
"""Channel id, log time in ns, serialised message."""


class McapFile:
    """One .mcap file.

    `topics` have the number of messages that can be read; `damage` says why reading stopped early, and is empty while
    nothing was found wrong.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""
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
        """All messages; `damage` says what was left out, and why reading ended early."""
        with self.path.open("rb") as stream:
            stream.seek(len(MAGIC))
            try:
                yield from self._records(stream, self.path.stat().st_size)
            except DAMAGE as error:
                self.damage = self.damage or f"cut off or damaged: {error}"

    def _records(self, stream: BinaryIO, size: int, is_chunk: bool = False) -> Iterator[Message]:
        """The messages of a file, or of a chunk's records."""
        while (place := stream.tell()) < size:
            opcode, length = _HEAD.unpack(stream.read(_HEAD.size))
            if opcode in (DATA_END, FOOTER):
                return
            if opcode not in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                stream.seek(min(length, size), 1)
                continue
            if length > LARGEST_RECORD:
                raise ValueError(f"a record of {length} bytes at byte {place}, of at most {LARGEST_RECORD}")
            content = stream.read(length)
            if opcode == CHUNK:
                if is_chunk:
                    raise ValueError("a chunk within a chunk")
                yield from self._chunk(content, place, is_whole=len(content) == length)
            elif len(content) == length:
                yield from self._record(opcode, content)
            if len(content) < length:
                raise EOFError(f"a record of {length} bytes at byte {place} ends after {len(content)}")
        if not is_chunk:
            raise EOFError("it ends without its index, as where the recorder was killed")

    def _chunk(self, content: bytes, place: int, is_whole: bool) -> Iterator[Message]:
        """The messages of a chunk by time; of one that is cut, those before its end."""
        records, checksum = _chunk_records(content)
        if is_whole and checksum and zlib.crc32(records) != checksum:
            self.damage = self.damage or f"the chunk at byte {place} does not match its checksum and is left out"
            return
        messages = self._records(io.BytesIO(records), len(records), is_chunk=True)
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
