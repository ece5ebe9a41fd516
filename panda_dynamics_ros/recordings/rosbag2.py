# SPDX-License-Identifier: Apache-2.0
"""What reading and writing rosbag2 have in common: the `rosbags` library and topics.

The library is imported when it is first needed, so that the package starts, and reads CSV files, without it.
"""

from __future__ import annotations

import importlib
import struct
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from panda_dynamics_ros.errors import MissingDependencyError

JOINT_STATE = "sensor_msgs/msg/JointState"


class Topic(NamedTuple):
    """A topic of a recording."""

    name: str
    type: str
    messages: int


def module(name: str) -> ModuleType:
    """A module of `rosbags` or of what comes with it.

    Raises
    ------
    MissingDependencyError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"rosbags: expected the library to be installed (pip install 'rosbags>=0.11'), got: {error}"
        ) from error


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


@cache
def decoding_errors() -> tuple[type[Exception], ...]:
    """What the decoder raises for bytes that are not a message."""
    errors = (AssertionError, LookupError, TypeError, ValueError, struct.error)
    return (*errors, module("rosbags.serde").SerdeError, zstd().ZstdError)
