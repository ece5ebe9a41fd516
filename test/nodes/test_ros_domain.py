# SPDX-License-Identifier: Apache-2.0
"""A session's own ROS domain: other sessions see that it is taken."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from ros_domain import is_taken, own_domain, participant_ports

from nodes.probe import Probe


def test_the_domain_of_this_session_is_taken_from_the_beginning() -> None:
    assert os.environ["ROS_DOMAIN_ID"] == str(own_domain())
    assert is_taken(own_domain())


def test_a_participant_has_one_of_the_ports_that_are_looked_at(probe: Probe) -> None:
    """That it does not listen to multicast, with loopback discovery, is why they are."""
    own = Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]
    bound = {int(line.split()[1].rpartition(":")[2], 16) for line in own}
    assert bound & set(participant_ports(own_domain()))


def test_a_domain_is_taken_by_its_second_participant_alone() -> None:
    domain = next(domain for domain in range(101, 130) if not is_taken(domain))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", participant_ports(domain)[1]))
        assert is_taken(domain)
