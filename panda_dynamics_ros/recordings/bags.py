# SPDX-License-Identifier: Apache-2.0
"""Joint states of a rosbag2 recording: one file or a folder, split, compressed, cut off or damaged."""

import re
import tempfile
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError, DataFileNotFoundError
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.rosbag2 import JOINT_STATE, LARGEST_JOINT_STATE, McapFile, SqliteFile
from panda_dynamics_ros.robot.stamps import BILLION, nanoseconds, to_nanoseconds, to_seconds
from panda_dynamics_ros.untrusted import exists, is_file, listed, most_unpacked, refused

KIND = "a rosbag2 recording (.db3, .mcap or its folder)"
EXPECTED = f"expected {KIND}"
MCAP, SQLITE = (".mcap", ".mcap.zstd"), (".db3", ".db3.zstd")
STORAGES = MCAP + SQLITE
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LATEST_STAMP = 2.0**31  # s: stamps of messages end there
BagFile = McapFile | SqliteFile


class RecordingWarning(UserWarning):
    """A recording was read, but not all of it was there, or not as it should be."""


@dataclass(frozen=True, eq=False)
class JointStateSample:
    """One sensor_msgs/msg/JointState as recorded: nothing is filtered, joints are in the message's order.

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


class SampleStream(Iterator[JointStateSample]):
    """The samples of a file or folder, in its order.

    path: what is read.
    names: of the arm's joints, where nobody says otherwise.
    rejected: what is no sample, by reason; complete once the samples are exhausted.
    notes: what was found wrong so far, a line each; complete once the samples are exhausted. Each is also
        issued as a `RecordingWarning`.
    """

    names = tuple(f"panda_joint{i + 1}" for i in range(7))

    def __init__(self, path: Path) -> None:
        self.path, self.rejected, self.notes = path, Counter[str](), tuple[str, ...]()
        self._samples: Iterator[JointStateSample] = iter(())

    def __next__(self) -> JointStateSample:
        return next(self._samples)

    def _note(self, note: str) -> None:
        self.notes += (f"{self.path}: {note}",)
        warnings.warn(self.notes[-1], RecordingWarning, stacklevel=5)


class JointStateStream(SampleStream):
    """The samples of one `topic` of a rosbag2 recording; see `read_joint_states`."""

    def __init__(self, path: Path, topic: str | None = None) -> None:
        super().__init__(path)
        rosbag2.typestore()
        files = _open_recording(path)
        self.topic = _choose(path, files, topic)
        self._samples = self._read(files)

    def _read(self, files: list[BagFile]) -> Iterator[JointStateSample]:
        messages = self._messages(files)
        first = list(islice(messages, 2))
        # One clock for the whole stream: a single zero is the beginning of simulated time, two are no stamps.
        unstamped = all(nanoseconds(message.header.stamp) == 0 for _, message in first)
        if unstamped and first:
            self._note(f"the headers on {self.topic} have no stamps, so the times of reception are taken")
        for time, message in chain(first, messages):
            recorded = time if unstamped else nanoseconds(message.header.stamp)
            values = message.position, message.velocity, message.effort
            yield JointStateSample(to_seconds(*divmod(recorded, BILLION)), tuple(message.name), *values, recorded)

    def _messages(self, files: list[BagFile]) -> Iterator[tuple[int, Any]]:
        """(receive time in ns, message) of all files; what cannot be read is noted."""
        for file in files:
            decoded, undecoded, reason = 0, 0, ""
            for time, data in file.messages(self.topic):
                try:
                    message = _decode(data)
                except MemoryError:
                    raise
                except Exception as error:  # of a library, over bytes that are no message
                    undecoded, reason = undecoded + 1, f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
                    continue
                decoded += 1
                yield time, message
            if undecoded:
                self.rejected["cannot be decoded"] += undecoded
                self._note(f"{undecoded} messages on {self.topic} in {file.path.name} cannot be decoded ({reason})")
            if file.damage:
                self._note(f"{file.path.name} is not whole ({file.damage}), {decoded} joint states of it were read")


def read_joint_states(path: str | Path, topic: str | None = None) -> JointStateStream:
    """The joint states of a recording, one after the other.

    path: a .db3 or .mcap file, or a rosbag2 folder, with or without metadata.yaml, split or compressed.
    topic: may be left out where one topic is of type sensor_msgs/msg/JointState; of several, the one whose
        name ends in joint_states and that has most messages is taken, but none of a gripper or of desired states.
    Returns an iterator over samples. What can be read of a recording that was cut off or damaged is given; `notes` and
        a `RecordingWarning` then say so. Stamps are those of the headers; where the first two are zero, the times of
        reception are taken instead, for all samples, and noted.
    Raises DataFileNotFoundError: there is no such file.
    Raises DataError: it is no rosbag2 recording, has no readable joint states, or several topics to choose from.
    Raises MissingDependencyError: rosbags is not installed.
    """
    return JointStateStream(checks.path(path, "path"), topic)


def _decode(data: bytes) -> Any:
    if data.startswith(ZSTD_MAGIC):  # compression by message; CDR begins with a zero byte
        decompressor = rosbag2.zstd().ZstdDecompressor()
        data = bytes(decompressor.decompress(data, max_length=LARGEST_JOINT_STATE))
        if not decompressor.eof:
            raise ValueError(f"a message that is cut off, or unpacks to more than {LARGEST_JOINT_STATE} bytes")
    return rosbag2.typestore().deserialize_cdr(data, JOINT_STATE)


def _choose(path: Path, files: list[BagFile], topic: str | None) -> str:
    counts = Counter[str]()
    for topics in (file.topics for file in files):
        counts.update({each.name: each.messages for each in topics if each.type == JOINT_STATE})
    damage = "".join(f"; {file.path.name} is not whole ({file.damage})" for file in files if file.damage)
    if not counts:
        found = sorted({f"{topic.name:.80} ({topic.type:.80})" for file in files for topic in file.topics})
        raise DataError(f"{path}: expected a topic of type {JOINT_STATE}, got {listed(found, 'topics')}{damage}")
    if topic is None:  # torques have no positions, a gripper two; franka_ros2's desired_joint_states are not measured
        counts = Counter({k: n for k, n in counts.items() if "desired" not in k and _has_positions(files, k)}) or counts
    offered = listed([f"{name:.80} ({count} messages)" for name, count in counts.most_common()], "topics")
    if topic is not None and topic not in counts:
        raise DataError(f"{path}: topic: expected one of {offered}, got {topic!r}{damage}")
    candidates = {name: count for name, count in counts.most_common() if count and topic in (None, name)}
    if not candidates:
        raise DataError(f"{path}: expected joint states, got {offered}{damage}")
    if len(candidates) > 1:
        candidates = {name: count for name, count in candidates.items() if name.endswith("joint_states")}
    most = [name for name, count in candidates.items() if count == max(candidates.values())]
    if len(most) != 1:
        raise DataError(f"{path}: topic: expected to be told which, got several with joint states: {offered}")
    return most[0]


def _has_positions(files: list[BagFile], topic: str) -> bool:
    """Whether the first message of a topic has positions of an arm, or cannot be decoded."""
    with suppress(Exception):  # of a library, over bytes that are no message
        return all(len(_decode(data).position) > 2 for file in files for _, data in islice(file.messages(topic), 1))
    return True


def _open_recording(path: Path) -> list[BagFile]:
    """The files of the recording at `path` in the order of recording."""
    if not exists(path):
        raise DataFileNotFoundError(f"{path!s:.300}: {EXPECTED}, got no such file")
    folder = path.parent if path.name == "metadata.yaml" else path
    if folder.is_dir():
        return [_open_file(file) for file in _found_files(folder)]
    if not is_file(path):
        raise DataError(f"{path}: {EXPECTED}, got no regular file")
    return [_open_file(path)]


def _found_files(folder: Path) -> list[Path]:
    """The storage files of a folder, part 2 before part 10."""
    bags = (file for file in folder.iterdir() if file.name[0] != "." and file.name.lower().endswith(STORAGES))
    found = sorted(
        (file for file in bags if file.is_file() and file.stat().st_size),
        key=lambda file: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", file.name)],
    )
    if not found:
        raise DataError(f"{folder}: {EXPECTED}, got a folder without .db3 or .mcap files that hold anything")
    if len({file.name.lower().endswith(MCAP) for file in found}) > 1:
        names = ", ".join(file.name for file in found)
        raise DataError(f"{folder}: expected files of one recording, got {names}: name the one to read")
    return found


def _open_file(path: Path, unpacked: bool = False) -> BagFile:
    """A storage file, by its first bytes; `unpacked`: it was compressed as a whole."""
    with refused(path, KIND), path.open("rb") as stream:
        beginning = stream.read(32)
    if beginning.startswith(ZSTD_MAGIC):
        if not unpacked:
            return _open_compressed(path)
        got = "a file that was compressed twice"
    elif beginning.startswith(rosbag2.MCAP_MAGIC):
        return McapFile(path)
    elif beginning.startswith(rosbag2.SQLITE_MAGIC):
        return SqliteFile(path)
    elif beginning.startswith(b"#ROSBAG"):
        got = "a ROS 1 bag: convert it with rosbags-convert"
    else:
        got = f"a file that begins with {beginning[:16]!r} (names of tables end in .csv, .tsv, .npz, .h5 or .parquet)"
    raise DataError(f"{path}: {EXPECTED}, got {got if beginning else 'an empty file'}")


def _open_compressed(path: Path) -> BagFile:
    """A file that was compressed as a whole, unpacked into a temporary folder that goes with the returned object."""
    zstd = rosbag2.zstd()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="panda_dynamics_"))
        unpacked = Path(folder) / path.name.removesuffix(".zstd")
        # Of a file that is cut, what can be unpacked.
        with (
            path.open("rb") as packed,
            zstd.open(packed) as source,
            unpacked.open("wb") as target,
            suppress(zstd.ZstdError, EOFError),
        ):
            while block := source.read1(1 << 20):  # `read` would keep what it has when the end is missing
                target.write(block)
                if target.tell() > most_unpacked(packed.tell()):
                    size = f"{packed.tell()} bytes that unpack to more than {target.tell() >> 20} MiB"
                    raise DataError(f"{path}: {EXPECTED}, got {size}")
        try:
            file = _open_file(unpacked, unpacked=True)
        except DataError as error:
            raise DataError(str(error).replace(str(unpacked), str(path))) from error
        weakref.finalize(file, stack.pop_all().close)
    return file
