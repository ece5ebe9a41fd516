# SPDX-License-Identifier: Apache-2.0
"""What libfranka's errors mean, and what to do: one sentence each (docs/troubleshooting.md has the same)."""

from __future__ import annotations

import re

from panda_dynamics_ros.errors import ConnectionFailedError

WRONG_VERSION, LOST = "wrong version", "lost"


_REFLEX = "a reflex has stopped the robot: clear the way, then acknowledge in Desk or call automatic_error_recovery"
PROBLEMS = {
    WRONG_VERSION: (
        r"incompatible library version|incorrect object size|incorrect tcp message size|protocol (error|version)",
        "{binding} does not speak this robot's version of the protocol: install pylibfranka for an FR3 with system 5.9 "
        "or newer, panda-python for a Panda (FER) with system 4.2",
    ),
    "refused": (
        r"refused",
        "the robot refuses connections: unlock the brakes, activate FCI in Desk, and end other programs that are "
        "connected",
    ),
    "no such host": (r"no such host|host not found", "there is no such host: check the address"),
    "reflex": (r"reflex", _REFLEX),
    "locked": (
        r"safety function|user ?stop|locked",
        "the robot is locked or stopped by its user: release the emergency stop and unlock the joints in Desk",
    ),
    "no states": (r"udp receive", "the robot answers, but its states do not arrive: allow UDP from it in the firewall"),
    "another client": (
        r"closed connection|interrupted|connection reset|net exception",
        "the robot has closed the connection: end other programs that are connected, since a robot takes one client",
    ),
    "timed out": (
        r"time[d]? ?-?out|unreachable|no route",
        "the robot does not answer: check cable and address (of Control's own port, not the arm's), and that it is on",
    ),
}
"""What the text of an error has, and the sentence with the remedy ({binding} is the package), by kind of error."""

_OTHER = "see Franka's FCI documentation, Troubleshooting"
_LOST = "the connection is lost: has the robot been switched off, or its FCI been deactivated?"

MODES = {
    "reflex": _REFLEX,
    "user_stopped": "the robot is stopped by its user: release the external activation device to move it",
    "other": "the joints are locked, or the robot starts: unlock them in Desk",
}
"""What to do where the robot's mode is not one in which it moves, by mode."""


def explained(text: str, host: str, binding: str, *, connected: bool) -> ConnectionFailedError:
    """The error to raise for what a binding, or the operating system, says in `text`, which is quoted.

    `binding` is the package, empty where none had a part in it; `connected`: states had come before; then it is `LOST`.
    """
    words = " ".join(text.split()).rstrip(".")
    matching = ((kind, say) for kind, (pattern, say) in PROBLEMS.items() if re.search(pattern, words, re.IGNORECASE))
    kind, remedy = next(matching, ("failed", _OTHER))
    if connected and kind != "reflex":
        kind, remedy = LOST, _LOST
    return ConnectionFailedError(f"{host}: {remedy.format(binding=binding)} ({words:.200})", kind)
