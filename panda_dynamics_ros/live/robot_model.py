# SPDX-License-Identifier: Apache-2.0
"""The URDF that an FR3 hands out (`getRobotModel` of libfranka 0.18, robot system 5.9).

Of the bindings only franky passes it on, and franky sets the robot's collision thresholds when it connects. So it is
asked for here, by the two messages of libfranka's protocol that this takes, version 10 (libfranka-common,
`service_types.h`): Connect and GetRobotModel.
"""

from __future__ import annotations

import socket
import struct

from panda_dynamics_ros.live.connection import open_port
from panda_dynamics_ros.live.problems import explained

VERSION, CONNECT, GET_ROBOT_MODEL = 10, 0, 11
_HEADER = struct.Struct("<III")  # command, its number, size of the message with its header
_REQUEST = struct.Struct("<HH")  # version, UDP port for states
LARGEST = 16 * 1024 * 1024  # bytes of a URDF


def robot_urdf(host: str) -> str:
    """The URDF of the FR3 at `host`.

    Raises
    ------
    ConnectionFailedError: it cannot be reached, or its protocol is another (an FR3 before system 5.9, a Panda).
    """
    with open_port(host) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as states:
        states.bind(("", 0))
        try:
            status = _answer(client, CONNECT, 1, _REQUEST.pack(VERSION, states.getsockname()[1]))[0]
            if status != 0:
                raise OSError("incompatible library version: the robot's is not 10")
            model = _answer(client, GET_ROBOT_MODEL, 2, b"")
            if model[0] != 0:
                raise OSError(f"GetRobotModel was answered {model[0]}")
            return model[1:].decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise explained(str(error), host, "GetRobotModel", connected=False) from error


def _answer(client: socket.socket, command: int, number: int, content: bytes) -> bytes:
    """Send a command, wait for its answer."""
    client.sendall(_HEADER.pack(command, number, _HEADER.size + len(content)) + content)
    got, _, size = _HEADER.unpack(_received(client, _HEADER.size))
    if got != command or not _HEADER.size < size < LARGEST:
        raise OSError(f"protocol error: command {command} was answered by {got} with {size} bytes")
    return _received(client, size - _HEADER.size)


def _received(client: socket.socket, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        part = client.recv(size - len(content))
        if not part:
            raise OSError("the robot closed connection")
        content += part
    return bytes(content)
