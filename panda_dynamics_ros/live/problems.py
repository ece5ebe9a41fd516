# SPDX-License-Identifier: Apache-2.0
"""What libfranka's errors mean, and what to do: one sentence each (docs/troubleshooting.md has the same)."""

from __future__ import annotations

import re
from typing import NamedTuple

from panda_dynamics_ros.errors import ConnectionFailedError

WRONG_VERSION, LOST = "wrong version", "lost"


class Problem(NamedTuple):
    """A kind of error: what its text has, and the sentence with the remedy ({binding} is the package)."""

    kind: str
    pattern: str
    remedy: str


PROBLEMS = (
    Problem(
        WRONG_VERSION,
        r"incompatible library version|incorrect object size|incorrect tcp message size|protocol (error|version)",
        "{binding} does not speak this robot's version of the protocol: install pylibfranka for an FR3 with system 5.9 "
        "or newer, panda-python for a Panda (FER) with system 4.2, else the release in Franka's compatibility table",
    ),
    Problem(
        "refused",
        r"refused",
        "the robot refuses connections: unlock the brakes and activate FCI in Desk, and end other programs that are "
        "connected, since a robot takes one client",
    ),
    Problem("no such host", r"no such host|host not found", "there is no such host: check the address"),
    Problem(
        "no real-time kernel",
        r"real-?time|thread priority",
        "this machine has no real-time kernel or no right to use it: connect with RealtimeConfig.kIgnore to read, "
        "install PREEMPT_RT and join the group realtime to control",
    ),
    Problem(
        "reflex",
        r"reflex",
        "a reflex has stopped the robot: clear the way, then acknowledge in Desk or call automatic_error_recovery",
    ),
    Problem(
        "locked",
        r"safety function|user ?stop|locked",
        "the robot is locked or stopped by its user: release the emergency stop and unlock the joints in Desk",
    ),
    Problem(
        "no states",
        r"udp receive",
        "the robot answers, but its states do not arrive: allow UDP from it in the firewall, and end other programs "
        "that are connected, since a robot takes one client",
    ),
    Problem(
        "another client",
        r"closed connection|interrupted|connection reset|net exception",
        "the robot has closed the connection: end other programs that are connected, since a robot takes one client, "
        "or wait until it has started",
    ),
    Problem(
        "timed out",
        r"time[d]? ?-?out|unreachable|no route",
        "the robot does not answer: check cable and address (of Control's own port, not the arm's), and that it is on",
    ),
)
_OTHER = Problem("failed", "", "see Franka's FCI documentation, Troubleshooting")
_LOST = "the connection is lost: has the robot been switched off, or its FCI been deactivated?"

MODES = {
    "reflex": next(each for each in PROBLEMS if each.kind == "reflex").remedy,
    "user_stopped": "the robot is stopped by its user: release the external activation device to move it",
    "other": "the joints are locked, or the robot starts: unlock them in Desk",
}
"""What to do where the robot's mode is not one in which it moves, by mode."""


def explained(text: str, host: str, binding: str, *, connected: bool) -> ConnectionFailedError:
    """The error to raise for what a binding, or the operating system, says.

    Parameters
    ----------
    text: the error's own words, which are quoted.
    host: to whom.
    binding: the package, empty where none had a part in it.
    connected: whether states had come before; then it is `LOST`.
    """
    words = " ".join(text.split()).rstrip(".")
    found = next((each for each in PROBLEMS if re.search(each.pattern, words, re.IGNORECASE)), _OTHER)
    kind, remedy = (LOST, _LOST) if connected and found.kind != "reflex" else (found.kind, found.remedy)
    return ConnectionFailedError(f"{host}: {remedy.format(binding=binding)} ({words:.200})", kind)
