# SPDX-License-Identifier: Apache-2.0
"""Recordings for tests, written by rosbags itself: whatever a recorder may leave behind."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lz4.frame  # type: ignore[import-untyped]
import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from panda_dynamics_ros.recordings import JointStateSample, read_joint_states

ARM = tuple(f"panda_joint{i + 1}" for i in range(7))
TYPES = get_typestore(Stores.ROS2_HUMBLE)
both_storages = pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
JOINT_STATE = "sensor_msgs/msg/JointState"


def samples(
    count: int, *, names: Sequence[str] = ARM, start: float = 1.7e9, rate: float = 1000.0, seed: int = 0
) -> list[JointStateSample]:
    """Random samples at a steady rate."""
    values = np.random.default_rng(seed).normal(size=(count, 3, len(names)))
    return [JointStateSample(start + k / rate, tuple(names), *values[k]) for k in range(count)]


def joint_state(sample: JointStateSample) -> Any:
    """The message of a sample, with its stamp in the header."""
    sec = int(sample.stamp)
    time = TYPES.types["builtin_interfaces/msg/Time"](sec=sec, nanosec=round((sample.stamp - sec) * 1e9))
    header = TYPES.types["std_msgs/msg/Header"](stamp=time, frame_id="")
    return TYPES.types[JOINT_STATE](
        header=header,
        name=list(sample.names),
        position=np.array(sample.position),
        velocity=np.array(sample.velocity),
        effort=np.array(sample.effort),
    )


def write_bag(
    path: Path, topics: Mapping[str, Iterable[JointStateSample | str]], storage: str = "mcap", *,
    compression: CompressionMode = CompressionMode.NONE, lz4_chunks: bool = False, receive_start: float = 1.7e9,
) -> Path:  # fmt: skip
    """A bag folder; topics with strings are std_msgs/String. Messages are received every ms from `receive_start`."""
    writer = Writer(path, version=8, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(compression, CompressionFormat.ZSTD)
    with writer:
        if lz4_chunks:  # rosbags reads them but has no option to write them
            writer.storage.compression, writer.storage.compressor = "lz4", lz4.frame.compress  # type: ignore[union-attr]
        for topic, messages in topics.items():
            entries = list(messages)
            kind = "std_msgs/msg/String" if entries and isinstance(entries[0], str) else JOINT_STATE
            connection = writer.add_connection(topic, kind, typestore=TYPES)
            for k, entry in enumerate(entries):
                message = TYPES.types[kind](data=entry) if isinstance(entry, str) else joint_state(entry)
                receive_time = round(receive_start) * 1_000_000_000 + k * 1_000_000
                writer.write(connection, receive_time, TYPES.serialize_cdr(message, kind))
    return path


def storage_file(folder: Path) -> Path:
    """The one storage file of a bag folder."""
    (file,) = [file for file in folder.iterdir() if file.name != "metadata.yaml"]
    return file


def split_bag(folder: Path, parts: Sequence[Sequence[JointStateSample]], storage: str) -> Path:
    """A recording split over files <name>_0, <name>_1, ..., as `ros2 bag record --max-bag-size` leaves it."""
    folder.mkdir()
    for k, part in enumerate(parts):
        file = storage_file(write_bag(folder.parent / f"{folder.name}_{k}", {"/joint_states": part}, storage))
        file.rename(folder / file.name)
    return folder


def assert_same(read: list[JointStateSample], written: list[JointStateSample]) -> None:
    assert len(read) == len(written)
    for got, expected in zip(read, written, strict=True):
        assert got.names == expected.names
        # Nanoseconds in the file; at 1.7e9 s doubles are 2.4e-7 s apart and come back exactly.
        assert abs(got.stamp - expected.stamp) <= 0.5e-9
        for field in ("position", "velocity", "effort"):
            np.testing.assert_array_equal(getattr(got, field), getattr(expected, field))


def read_whole(path: Path, topic: str | None = None) -> list[JointStateSample]:
    """All samples of a recording that has nothing wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = read_joint_states(path, topic)
        read = list(stream)
    assert stream.notes == ()
    return read
