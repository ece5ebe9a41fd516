# SPDX-License-Identifier: Apache-2.0
"""A ROS domain of this test session's own: sessions that run at the same time do not hear each other."""

import functools
import random
import socket
from pathlib import Path

PARTICIPANTS = 32  # processes on one machine that loopback discovery looks for


@functools.cache
def own_domain() -> int:
    """A domain in which nobody else on this machine takes part, until this process ends."""
    domains = list(range(1, 101))
    random.shuffle(domains)  # sessions that start together shall not all try the same one first
    for domain in domains:
        if not is_taken(domain):
            _reserve(domain)
            return domain
    raise RuntimeError("all ROS domains of this machine are taken")


def isolated(logs: Path) -> dict[str, str]:
    """What a process's environment has for nodes of this session, which log to this folder."""
    names = {"ROS_DOMAIN_ID": str(own_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return names | {"ROS_LOG_DIR": str(logs)}


def is_taken(domain: int) -> bool:
    """Whether a participant has one of its ports (RTPS 2.3, 9.6.2.3): that of discovery by multicast, or its own.

    With loopback discovery nobody listens to multicast.
    """
    first = _first_port(domain)
    return any(_is_bound(port) for port in (first, *range(first + 10, first + 10 + 2 * PARTICIPANTS, 2)))


_RESERVATIONS: list[socket.socket] = []  # a socket that nobody refers to is closed


def _reserve(domain: int) -> None:
    """Keep the port that loopback discovery leaves free, so that the domain is taken before a node is there."""
    reservation = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reservation.bind(("", _first_port(domain)))
    _RESERVATIONS.append(reservation)


def _first_port(domain: int) -> int:
    return 7400 + 250 * domain


def _is_bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False
