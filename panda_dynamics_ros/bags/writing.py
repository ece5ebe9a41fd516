# SPDX-License-Identifier: Apache-2.0
"""Joint states written as a rosbag2 recording."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.bags import rosbags_library
from panda_dynamics_ros.bags.joint_states import JointStateSample
from panda_dynamics_ros.bags.rosbags_library import JOINT_STATE
from panda_dynamics_ros.errors import ArgumentError

STORAGES = ("mcap", "sqlite3")
RECORDING_FILE = re.compile(r"metadata\.yaml|.*\.(mcap|db3)(\.zstd|-wal|-shm)?")


def write_joint_states(
    path: str | Path,
    samples: Iterable[JointStateSample],
    storage: str = "mcap",
    topic: str = "/joint_states",
    *,
    overwrite: bool = False,
) -> Path:
    """Write a rosbag2 folder (storage file and metadata.yaml) with the samples on one topic.

    Parameters
    ----------
    path: the folder to make.
    samples: of any length, also none; the stamp of each is that of its header and its time of reception.
    storage: "mcap" or "sqlite3".
    overwrite: whether a recording that is at `path` may be replaced; anything else there never is.

    Returns
    -------
    The storage file inside the folder.

    Raises
    ------
    ArgumentError: `path` exists and may not be replaced, there is no such storage, or a stamp is not a time
        from 0 to 2^31 s.
    MissingDependencyError: rosbags is not installed.
    """
    if storage not in STORAGES:
        raise ArgumentError(f"storage: expected one of {', '.join(STORAGES)}, got {storage!r}")
    path = Path(path).expanduser()
    if storage == "sqlite3" and set(str(path)) & set("?#%"):
        raise ArgumentError(
            f"path: expected none of ?, #, % for sqlite3 (rosbags takes it for a URI), got {str(path)!r}"
        )
    types = rosbags_library.typestore()
    if path.exists():
        _remove_recording(path, overwrite)
    rosbag2 = rosbags_library.module("rosbags.rosbag2")
    plugin = rosbag2.StoragePlugin[storage.upper()]
    # Version 8 is what Humble to Jazzy read.
    with rosbag2.Writer(path, version=8, storage_plugin=plugin) as writer:
        connection = writer.add_connection(topic, JOINT_STATE, typestore=types)
        for sample in samples:
            message, time = _message(types, sample)
            writer.write(connection, time, types.serialize_cdr(message, JOINT_STATE))
    return path / f"{path.name}{'.mcap' if storage == 'mcap' else '.db3'}"


def _remove_recording(path: Path, overwrite: bool) -> None:
    if not overwrite:
        raise ArgumentError(f"path: expected a folder that does not exist yet, got {str(path)!r}")
    if not path.is_dir() or any(not RECORDING_FILE.fullmatch(file.name) for file in path.iterdir()):
        raise ArgumentError(f"path: expected a recording to replace, got {str(path)!r}, which holds something else")
    shutil.rmtree(path)


def _message(types: Any, sample: JointStateSample) -> tuple[Any, int]:
    """The message of a sample, and its stamp in ns."""
    if not 0.0 <= sample.stamp < 2.0**31:
        raise ArgumentError(f"stamp: expected a time from 0 to 2^31 s, got {sample.stamp}")
    sec = math.floor(sample.stamp)
    carry, nanosec = divmod(round((sample.stamp - sec) * 1e9), 1_000_000_000)
    sec += carry
    time = types.types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec)
    message = types.types[JOINT_STATE](
        header=types.types["std_msgs/msg/Header"](stamp=time, frame_id=""),
        name=list(sample.names),
        **{field: np.asarray(getattr(sample, field), dtype=np.float64) for field in ("position", "velocity", "effort")},
    )
    return message, sec * 1_000_000_000 + nanosec
