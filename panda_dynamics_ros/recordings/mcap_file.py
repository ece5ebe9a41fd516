# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 file in MCAP format: through its index where it has one, from its beginning where it was cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from panda_dynamics_ros.recordings import rosbags_library
from panda_dynamics_ros.recordings.mcap_recovery import MAGIC, McapScan
from panda_dynamics_ros.recordings.topic import Topic

__all__ = ["MAGIC", "McapFile"]


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
        return rosbags_library.module("rosbags.rosbag2").Reader(self.path)
