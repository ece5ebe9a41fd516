# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 file in MCAP format (https://mcap.dev/spec): read through its index, or record by record where it has none.

A recorder that was killed leaves neither index nor footer, and often half a chunk. `McapScan` then reads from the
file's beginning up to the last whole message, also out of that chunk.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Generator, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.rosbag2 import Topic

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END, FOOTER = 0x03, 0x04, 0x05, 0x06, 0x0F, 0x02
_HEAD = struct.Struct("<BQ")  # opcode, length of the content
_MESSAGE = struct.Struct("<HIQQ")  # channel id, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # start time, end time, uncompressed size, CRC


class McapFile:
    """One .mcap file: a `BagFile`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""
        self._indexed = True
        self.topics = self._topics()

    def _topics(self) -> list[Topic]:
        try:
            with self._reader() as reader:
                return [Topic(x.topic, x.msgtype, x.msgcount) for x in reader.connections]
        except Exception:  # whatever rosbags runs into in a file that is cut: ReaderError, TypeError, struct.error, ...
            self._indexed = False
        scan = McapScan(self.path)
        counts = Counter(channel for channel, _, _ in scan.messages())
        self.damage = scan.damage
        return [Topic(*channel, counts[channel]) for channel in dict.fromkeys(scan.channels.values())]

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """(receive time in ns, serialised message) of a topic: by time, or in the order of writing without index."""
        if not self._indexed:
            scan = McapScan(self.path)
            yield from ((time, data) for channel, time, data in scan.messages() if channel.topic == topic)
            self.damage = scan.damage
            return
        with self._reader() as reader:
            connections = [x for x in reader.connections if x.topic == topic]
            messages = reader.messages(connections) if connections else iter(())
            while True:
                try:
                    message = next(messages, None)
                except Exception as error:  # a chunk that is damaged; see above
                    self.damage = f"cut off or damaged: {' '.join(str(error).split()) or type(error).__name__}"
                    return
                if message is None:
                    return
                yield message[1], message[2]

    def _reader(self) -> Any:
        return rosbag2.module("rosbags.rosbag2").Reader(self.path)


class Channel(NamedTuple):
    """What a channel id stands for."""

    topic: str
    type: str


class McapScan:
    """Messages of a file from its beginning; `channels` fills as they are met, `damage` says why it ended early."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.channels: dict[int, Channel] = {}
        self.damage = ""
        self._schemas: dict[int, str] = {}

    def messages(self) -> Iterator[tuple[Channel, int, bytes]]:
        """(channel, log time in ns, serialised message), in the order of writing."""
        with self.path.open("rb") as stream:
            stream.seek(len(MAGIC))
            try:
                finished = yield from self._read(stream, self.path.stat().st_size)
                if not finished:
                    raise EOFError("it ends without its index, as where the recorder was killed")
            except (EOFError, ValueError, LookupError, struct.error) as error:
                self.damage = f"cut off or damaged: {error}"

    def _read(self, stream: BinaryIO, size: int) -> Generator[tuple[Channel, int, bytes], None, bool]:
        """The messages among `size` bytes of records; returns whether the data section's end was met."""
        while stream.tell() < size:
            place = stream.tell()
            opcode, length = _HEAD.unpack(stream.read(_HEAD.size))
            content = stream.read(min(length, size - stream.tell()))  # a damaged length may be astronomic
            if opcode == CHUNK:
                chunk = _chunk_records(content)
                yield from self._read(BytesIO(chunk), len(chunk))
            if len(content) < length:
                raise EOFError(f"a record of {length} bytes at byte {place} ends after {len(content)}")
            if opcode == MESSAGE:
                number, _, log_time, _ = _MESSAGE.unpack_from(content)
                yield self.channels[number], log_time, content[_MESSAGE.size :]
            elif opcode == SCHEMA:
                (number,) = struct.unpack_from("<H", content)
                self._schemas[number] = _string(content, 2)[0]
            elif opcode == CHANNEL:
                number, schema = struct.unpack_from("<HH", content)
                self.channels[number] = Channel(_string(content, 4)[0], self._schemas.get(schema, ""))
            elif opcode in (DATA_END, FOOTER):
                return True
        return False


def _string(content: bytes, offset: int) -> tuple[str, int]:
    """The string at `offset`, and where it ends."""
    (length,) = struct.unpack_from("<I", content, offset)
    end = offset + 4 + length
    return content[offset + 4 : end].decode(), end


def _chunk_records(content: bytes) -> bytes:
    """The records of a chunk, as many as its bytes give."""
    compression, end = _string(content, _CHUNK.size)
    compressed = content[end + 8 :]
    if not compression:
        return compressed
    # The incremental decompressors give what there is; those for whole frames refuse a cut one.
    decompressor: Any
    if compression == "zstd":
        decompressor = rosbag2.zstd().ZstdDecompressor()
    elif compression == "lz4":
        decompressor = rosbag2.module("lz4.frame").LZ4FrameDecompressor()
    else:
        raise ValueError(f"a chunk with unknown compression {compression!r}")
    try:
        return bytes(decompressor.decompress(compressed))
    except (rosbag2.zstd().ZstdError, RuntimeError) as error:
        raise ValueError(f"a chunk that does not decompress: {error}") from error
