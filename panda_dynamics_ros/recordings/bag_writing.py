# SPDX-License-Identifier: Apache-2.0
"""Messages written as a rosbag2 recording, thousands at once.

Messages of one topic differ in their stamp and in runs of doubles only, so that all have the same length: one of them
is serialised with numbers that stand for the runs, and its bytes are repeated with others in their places.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.recordings.bags import LATEST_STAMP, JointStateSample
from panda_dynamics_ros.robot.joint_mapping import FIELDS
from panda_dynamics_ros.robot.stamps import BILLION
from panda_dynamics_ros.untrusted import replacing

Nanoseconds = NDArray[np.int64]

BLOCK = 10_000  # samples that are converted at once: up to 15 MB of messages
STAMP = slice(4, 12)  # place of seconds and nanoseconds: behind the encapsulation
RECORDING_FILE = re.compile(r"metadata\.yaml|.*\.(mcap|db3)(\.zstd|-wal|-shm)?")


class OfferedTopic(NamedTuple):
    """A topic to write: "/joint_states", "sensor_msgs/msg/JointState", whether late subscribers get the last."""

    name: str
    type: str
    latched: bool = False


class Messages(NamedTuple):
    """N messages of one topic.

    stamp_ns: (N,), when each was sent, also the headers' stamps, where the type has a header.
    columns: (N, k) by the name of a field: a sequence of doubles, or a message of k doubles (a Pose's position).
    fields: what all messages have, by the name of the field, wherever it is in them (frame_id, for instance).
    """

    stamp_ns: Nanoseconds
    columns: Mapping[str, FloatArray]
    fields: Mapping[str, Any]


def write_topics(
    path: str | Path,
    topics: Sequence[OfferedTopic],
    blocks: Iterable[Sequence[Messages]],
    *,
    overwrite: bool = False,
    compressed: bool = True,
) -> Path:
    """Write a rosbag2 folder (MCAP file and metadata.yaml) with the messages of several topics.

    Topics are offered as reliable. `blocks` follow each other in time, each with the messages of every topic in the
    order of `topics`, and are written by their stamps. All else is as in `write_joint_states`.
    """
    path = checks.path(path, "path")
    if wrong := [topic.name for topic in topics if not re.fullmatch(r"(/[A-Za-z_][A-Za-z_0-9]*)+", topic.name)]:
        raise ArgumentError(f"topic: expected a name of ROS 2 such as /joint_states, got {wrong[0]!r:.80}")
    library, types = rosbag2.module("rosbags.rosbag2"), rosbag2.typestore()
    if path.exists():
        if not overwrite:
            raise ArgumentError(f"path: expected one that does not exist yet, or --overwrite, got {str(path)!r}")
        if not (path.is_dir() and path.name) or any(not RECORDING_FILE.fullmatch(file.name) for file in path.iterdir()):
            raise ArgumentError(f"path: expected a recording to replace, got {str(path)!r}, which holds something else")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, folders=True) as unfinished:
        # Version 8 is what Humble to Jazzy read.
        writer = library.Writer(unfinished, version=8, storage_plugin=library.StoragePlugin.MCAP)
        if compressed:  # chunk by chunk: as good for seeking as without
            writer.set_compression(library.CompressionMode.STORAGE, library.CompressionFormat.ZSTD)
        with writer:
            connections = [
                writer.add_connection(topic.name, topic.type, typestore=types, offered_qos_profiles=[_offer(topic)])
                for topic in topics
            ]
            for block in blocks:
                sources = [x for x, messages in zip(connections, block, strict=True) for _ in messages.stamp_ns]
                times = np.concatenate([messages.stamp_ns for messages in block])
                rows = [row for topic, each in zip(topics, block, strict=True) for row in _serialised(topic.type, each)]
                for k in np.argsort(times, kind="stable").tolist():
                    writer.write(sources[k], int(times[k]), memoryview(rows[k]))
    return path / f"{path.name}.mcap"


def write_joint_states(
    path: str | Path, samples: Iterable[JointStateSample], topic: str = "/joint_states", *, overwrite: bool = False
) -> Path:
    """Write a rosbag2 folder (MCAP file and metadata.yaml) with the samples on one topic.

    path: the folder to make.
    samples: of any length, also none; the stamp of each is that of its header and its time of reception.
    overwrite: whether a recording that is at `path` may be replaced; anything else there never is.
    Returns the MCAP file inside the folder.
    Raises ArgumentError: `path` may not be replaced, `topic` is no name of ROS 2, or a stamp not from 0 to 2^31 s.
    Raises MissingDependencyError: rosbags is not installed.
    Raises OSError: it cannot be written; what is at `path` stays as it is.
    """
    topics = [OfferedTopic(topic, rosbag2.JOINT_STATE)]
    return write_topics(path, topics, _blocks(samples), overwrite=overwrite, compressed=False)


def _blocks(samples: Iterable[JointStateSample]) -> Iterator[list[Messages]]:
    """Samples that follow each other with the same names and numbers of values: their messages have one length."""

    def layout(sample: JointStateSample) -> tuple[Any, ...]:
        return sample.names, *(len(getattr(sample, name)) for name in FIELDS)

    for (names, *_), group in groupby(samples, layout):
        while block := list(islice(group, BLOCK)):
            if wrong := [each.stamp for each in block if not 0.0 <= each.stamp < LATEST_STAMP]:
                raise ArgumentError(f"stamp: expected a time from 0 to 2^31 s, got {wrong[0]}")
            columns = {name: np.array([getattr(each, name) for each in block], np.float64) for name in FIELDS}
            yield [Messages(np.array([each.stamp_ns for each in block]), columns, {"name": list(names)})]


def _offer(topic: OfferedTopic) -> Any:
    """The QoS that rosbag2 offers when it plays (its depth apart, which is its own)."""
    qos = rosbag2.module("rosbags.interfaces")
    forever = qos.QosTime(9223372036, 854775807)  # RMW_DURATION_INFINITE
    return qos.Qos(
        history=qos.QosHistory.KEEP_LAST,
        depth=1 if topic.latched else 10,
        reliability=qos.QosReliability.RELIABLE,
        durability=qos.QosDurability.TRANSIENT_LOCAL if topic.latched else qos.QosDurability.VOLATILE,
        deadline=forever,
        lifespan=forever,
        liveliness=qos.QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=forever,
        avoid_ros_namespace_conventions=False,
    )


def _serialised(kind: str, messages: Messages) -> NDArray[np.uint8]:
    """The bytes (N, k) of messages of this type."""
    types, (stamp_ns, columns, fields) = rosbag2.typestore(), messages
    widths = [values.shape[1] for values in columns.values()]
    marks = np.split(1.2345678901234567e200 * (1.0 + np.arange(sum(widths))), np.cumsum(widths)[:-1])
    message = _message(kind, {**fields, **dict(zip(columns, marks, strict=True))})
    pattern = bytes(types.serialize_cdr(message, kind, little_endian=True))
    rows = np.tile(np.frombuffer(pattern, dtype=np.uint8), (len(stamp_ns), 1))
    if hasattr(message, "header"):
        if len(wrong := stamp_ns[(stamp_ns < 0) | (stamp_ns >= 2**31 * BILLION)]):
            raise ArgumentError(f"stamp: expected times from 0 to 2^31 s, got {1e-9 * wrong[0]:g} s")
        rows[:, STAMP] = np.column_stack(np.divmod(stamp_ns, BILLION)).astype("<u4").view(np.uint8)
    for mark, values in zip(marks, columns.values(), strict=True):
        place = pattern.rindex(mark.astype("<f8").tobytes())  # the last: text that comes before may be anything
        rows[:, place : place + 8 * len(mark)] = np.ascontiguousarray(values, dtype="<f8").view(np.uint8)
    return rows


def _message(kind: str, given: Mapping[str, Any], numbers: Iterator[float] | None = None) -> Any:
    """A message with these fields; its other doubles are the next of `numbers`, all else is zero or empty."""
    types, content = rosbag2.typestore(), dict[str, Any]()
    for name, (_, detail) in types.get_msgdef(kind).fields:
        if isinstance(detail, str):  # a message
            content[name] = _message(detail, given, iter(given[name]) if name in given else numbers)
        elif name in given:
            content[name] = given[name]
        elif isinstance(detail[0], str):
            double = 0.0 if numbers is None or detail[0] != "float64" else next(numbers)
            content[name] = {"float64": double, "string": ""}.get(detail[0], 0)
        else:
            content[name] = np.empty(0)
    return types.types[kind](**content)
