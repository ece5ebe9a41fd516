# SPDX-License-Identifier: Apache-2.0
"""A Panda's (FER's) side of libfranka's protocol, version 5, of which PyPI has no server.

    python panda_server.py HOST STATES.npz [silent]

A process of its own, since bindings keep Python's lock while they connect. It sends the rows of STATES.npz (arrays by
names of libfranka's RobotState) once per millisecond, from the first on for each client, and then starts over.
A client of another version is refused as by the robot; a silent server accepts clients and sends no states.
"""

import contextlib
import socket
import struct
import sys
import time

import numpy as np
from numpy.typing import NDArray

VERSION, PORT, HEADER = 5, 1337, struct.Struct("<III")  # command, its number, size of the whole message
CONNECT = struct.Struct("<HH")  # version of the library, the client's UDP port
POSE = np.eye(4).ravel()
# Of libfranka-common's rbk_types.h, packed; the number of the message is the robot's time in ms.
FIELDS = (
    ("O_T_EE", POSE), ("O_T_EE_d", POSE), ("F_T_EE", POSE), ("EE_T_K", POSE), ("F_T_NE", POSE), ("NE_T_EE", POSE),
    ("m_ee", 1), ("I_ee", 9), ("F_x_Cee", 3), ("m_load", 1), ("I_load", 9), ("F_x_Cload", 3),
    ("elbow", 2), ("elbow_d", 2), ("tau_J", 7), ("tau_J_d", 7), ("dtau_J", 7),
    ("q", 7), ("q_d", 7), ("dq", 7), ("dq_d", 7), ("ddq_d", 7),
    ("joint_contact", 7), ("cartesian_contact", 6), ("joint_collision", 7), ("cartesian_collision", 6),
    ("tau_ext_hat_filtered", 7), ("O_F_ext_hat_K", 6), ("K_F_ext_hat_K", 6),
    ("O_dP_EE_d", 6), ("O_ddP_O", 3), ("elbow_c", 2), ("delbow_c", 2), ("ddelbow_c", 2),
    ("O_T_EE_c", POSE), ("O_dP_EE_c", 6), ("O_ddP_EE_c", 6), ("theta", 7), ("dtheta", 7),
)  # fmt: skip
ERRORS = 41  # flags, and as many of the last motion's
IDLE = 1
MODES = bytes([0, 3])  # of motion generator and controller: none
SUCCESS_RATE = struct.pack("<d", 1.0)


def encoded_states(arrays: dict[str, NDArray[np.float64]]) -> list[bytes]:
    """All states without their numbers: arrays (K, ..) by field, `robot_mode` (K,) and `errors` (K, 41)."""
    count = max((len(values) for values in arrays.values()), default=1)
    blocks = []
    for name, default in FIELDS:
        neutral = np.zeros(default) if isinstance(default, int) else default
        blocks.append(arrays.get(name, np.tile(neutral, (count, 1))).reshape(count, neutral.size))
    numbers = np.concatenate(blocks, axis=1).astype("<f8")
    modes = arrays.get("robot_mode", np.full(count, IDLE)).astype(int)
    errors = arrays.get("errors", np.zeros((count, ERRORS))).astype(np.uint8)
    return [
        row.tobytes() + MODES + flags.tobytes() + bytes(ERRORS) + bytes([mode]) + SUCCESS_RATE
        for row, flags, mode in zip(numbers, errors, modes, strict=True)
    ]


def serve(client: socket.socket, address: str, states: list[bytes], silent: bool) -> None:
    """One client, until it goes away."""
    _, number, _ = HEADER.unpack(client.recv(HEADER.size, socket.MSG_WAITALL))
    version, port = CONNECT.unpack(client.recv(CONNECT.size, socket.MSG_WAITALL))
    reply = struct.pack("<BH", int(version != VERSION), VERSION)
    client.sendall(HEADER.pack(0, number, HEADER.size + len(reply)) + reply)
    client.setblocking(False)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        began, sent = time.monotonic(), 0
        while True:
            with contextlib.suppress(BlockingIOError):
                if not client.recv(4096):
                    return
            while not silent and sent < 1000.0 * (time.monotonic() - began):
                sent += 1
                udp.sendto(struct.pack("<Q", sent) + states[(sent - 1) % len(states)], (address, port))
            time.sleep(0.0005)


def main(host: str, path: str, silent: str = "") -> None:
    """Serve one client after the other."""
    with np.load(path) as content:
        states = encoded_states(dict(content))
    with socket.create_server((host, PORT)) as server:
        print("ready", flush=True)
        while True:
            client, (address, _) = server.accept()
            with client, contextlib.suppress(ConnectionError, struct.error):  # a client that goes away, or says nothing
                serve(client, address, states, bool(silent))


if __name__ == "__main__":
    main(*sys.argv[1:])
