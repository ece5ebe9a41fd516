# SPDX-License-Identifier: Apache-2.0
"""Joint states of a rosbag2 recording, as recorded."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.bag_files import ZSTD_MAGIC, open_recording
from panda_dynamics_ros.recordings.limits import LARGEST_JOINT_STATE
from panda_dynamics_ros.recordings.rosbag2 import JOINT_STATE, BagFile
from panda_dynamics_ros.samples.stamps import BILLION, to_nanoseconds, to_seconds

UNDECODED = "cannot be decoded"
LISTED = 20  # topics in a message


class RecordingWarning(UserWarning):
    """A recording was read, but not all of it was there, or not as it should be."""


@dataclass(frozen=True, eq=False)
class JointStateSample:
    """One sensor_msgs/msg/JointState as recorded: nothing is filtered, joints are in the message's order.

    Attributes
    ----------
    stamp: s, from the message's header (see `read_joint_states` for headers without stamps).
    names: N joint names.
    position, velocity, effort: (N,), rad, rad/s, N m; of length 0 where the message had none.
    recorded_ns: the stamp as recorded, to the nanosecond; None where it is known in seconds only.
    external: (N,), N m, Franka's tau_ext_hat_filtered; None where it is not recorded.
    """

    stamp: float
    names: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    recorded_ns: int | None = None
    external: FloatArray | None = None

    @property
    def stamp_ns(self) -> int:
        """The stamp in whole nanoseconds."""
        return to_nanoseconds(self.stamp) if self.recorded_ns is None else self.recorded_ns


class JointStateStream(Iterator[JointStateSample]):
    """The samples of one topic, in the order of the recording.

    Attributes
    ----------
    path, topic: what is read.
    rejected: messages that are no samples, by reason; complete once the samples are exhausted.
    notes: what was found wrong so far, a line each; complete once the samples are exhausted. Each is also
        issued as a `RecordingWarning`.
    """

    def __init__(self, path: Path, topic: str, files: list[BagFile], notes: list[str]) -> None:
        self.path = path
        self.topic = topic
        self.rejected: Counter[str] = Counter()
        self.notes: tuple[str, ...] = ()
        self._samples = self._read(files, notes)

    def __next__(self) -> JointStateSample:
        return next(self._samples)

    def _note(self, note: str) -> None:
        self.notes += (f"{self.path}: {note}",)
        warnings.warn(self.notes[-1], RecordingWarning, stacklevel=5)

    def _read(self, files: list[BagFile], notes: list[str]) -> Iterator[JointStateSample]:
        for note in notes:
            self._note(note)
        messages = self._messages(files)
        first = list(islice(messages, 2))
        # One clock for the whole stream: a single zero is the beginning of simulated time, two are no stamps.
        unstamped = all(_nanoseconds(message) == 0 for _, message in first)
        if unstamped and first:
            self._note(f"the headers on {self.topic} have no stamps, so the times of reception are taken")
        for time, message in chain(first, messages):
            recorded = time if unstamped else _nanoseconds(message)
            stamp = to_seconds(*divmod(recorded, BILLION))
            values = message.position, message.velocity, message.effort
            yield JointStateSample(stamp, tuple(message.name), *values, recorded)

    def _messages(self, files: list[BagFile]) -> Iterator[tuple[int, Any]]:
        """(receive time in ns, message) of all files; what cannot be read is noted."""
        for file in files:
            decoded, undecoded, reason = 0, 0, ""
            for time, data in file.messages(self.topic):
                try:
                    message = _decode(data)
                except DataError as error:
                    undecoded, reason = undecoded + 1, str(error)
                    continue
                decoded += 1
                yield time, message
            if undecoded:
                self.rejected[UNDECODED] += undecoded
                self._note(f"{undecoded} messages on {self.topic} in {file.path.name} cannot be decoded ({reason})")
            if file.damage:
                self._note(f"{_not_whole(self.path, file)}, {decoded} joint states of it were read")


def read_joint_states(path: str | Path, topic: str | None = None) -> JointStateStream:
    """The joint states of a recording, one after the other.

    Parameters
    ----------
    path: a .db3 or .mcap file, or a rosbag2 folder, with or without metadata.yaml, split or compressed.
    topic: may be left out where one topic is of type sensor_msgs/msg/JointState; of several, the one whose
        name ends in joint_states and that has most messages is taken.

    Returns
    -------
    An iterator over samples. What can be read of a recording that was cut off or damaged is given; `notes` and
    a `RecordingWarning` then say so. Stamps are those of the headers; where the first two are zero, the times
    of reception are taken instead, for all samples, and noted.

    Raises
    ------
    DataFileNotFoundError: there is no such file.
    DataError: it is no rosbag2 recording, has no joint states that can be read, or several topics to choose from.
    MissingDependencyError: rosbags is not installed.
    """
    rosbag2.typestore()
    path = checks.path(path, "path")
    files, notes = open_recording(path)
    return JointStateStream(path, _choose(path, files, topic), files, notes)


def joint_state_topics(path: str | Path) -> dict[str, int]:
    """Topics of type sensor_msgs/msg/JointState, with their number of messages; most messages first.

    It raises the errors of `read_joint_states`, but a recording without such a topic gives an empty result.
    """
    rosbag2.typestore()
    return _joint_state_topics(open_recording(checks.path(path, "path"))[0])


def _joint_state_topics(files: list[BagFile]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for file in files:
        counts.update({topic.name: 0 for topic in file.topics if topic.type == JOINT_STATE})
        for topic in file.topics:
            if topic.type == JOINT_STATE:
                counts[topic.name] += topic.messages
    return dict(counts.most_common())


def _choose(path: Path, files: list[BagFile], topic: str | None) -> str:
    counts = _joint_state_topics(files)
    damage = "".join(f"; {_not_whole(path, file)}" for file in files if file.damage)
    if not counts:
        found = sorted({f"{topic.name:.80} ({topic.type:.80})" for file in files for topic in file.topics})
        others = ", ".join(found[:LISTED]) + (f", ... ({len(found)} topics)" if len(found) > LISTED else "")
        others = others or "no topics"
        raise DataError(f"{path}: expected a topic of type {JOINT_STATE}, got {others}{damage}")
    listed = ", ".join(f"{name:.80} ({count} messages)" for name, count in islice(counts.items(), LISTED))
    listed += f", ... ({len(counts)} topics)" if len(counts) > LISTED else ""
    if topic is not None and topic not in counts:
        raise DataError(f"{path}: topic: expected one of {listed}, got {topic!r}{damage}")
    if not any(counts.values()) or (topic is not None and not counts[topic]):
        raise DataError(f"{path}: expected joint states, got {listed}{damage}")
    if topic is not None:
        return topic
    candidates = {name: count for name, count in counts.items() if count}
    if len(candidates) > 1:
        candidates = {name: count for name, count in candidates.items() if name.endswith("joint_states")}
    most = [name for name, count in candidates.items() if count == max(candidates.values())]
    if len(most) != 1:
        raise DataError(f"{path}: topic: expected to be told which, got several with joint states: {listed}")
    return most[0]


def _not_whole(recording: Path, file: BagFile) -> str:
    name = "the file" if file.path == recording else file.path.name
    return f"{name} is not whole ({file.damage})"


def _nanoseconds(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * BILLION + int(stamp.nanosec)


def _unpacked(data: bytes) -> bytes:
    decompressor = rosbag2.zstd().ZstdDecompressor()
    unpacked = bytes(decompressor.decompress(data, max_length=LARGEST_JOINT_STATE))
    if not decompressor.eof:
        raise ValueError(f"a message that is cut off, or unpacks to more than {LARGEST_JOINT_STATE} bytes")
    return unpacked


def _decode(data: bytes) -> Any:
    try:
        if data.startswith(ZSTD_MAGIC):  # compression by message; CDR begins with a zero byte
            data = _unpacked(data)
        return rosbag2.typestore().deserialize_cdr(data, JOINT_STATE)
    except rosbag2.decoding_errors() as error:
        raise DataError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
