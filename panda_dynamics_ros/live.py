# SPDX-License-Identifier: Apache-2.0
"""A Franka by its IP address, read-only: states one after the other, over lost connections.

A robot speaks one version of its protocol, and a Python binding of libfranka too: panda-python that of the Panda (FER),
pylibfranka that of an FR3 with system 5.9 or newer. So the installed ones are tried in turn.
"""

import contextlib
import importlib
import math
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from panda_dynamics_ros.errors import ArgumentError, ConnectionFailedError, MissingDependencyError
from panda_dynamics_ros.robot.libfranka_state import FrankaState
from panda_dynamics_ros.robot.yaml_file import Robot, attach

PORT = 1337  # of libfranka's commands
TIMEOUT = 3.0  # s, for an address in the same network
BUSY = 0.5  # s, in which the robot is free again after a connection was closed
LAST_PANDA_VERSION = 5  # of the robot's protocol; an FR3's is 6 or newer
PATIENCE = 1.0  # s, from one attempt to connect again to the next
NAP = 0.05  # s: after it a caller may do something else
WINDOW = 1.0  # s of the robot's time over which the shortest delay is sought
LARGEST_ERROR = 0.1  # s: beyond it the clock was set, and the offset jumps
SLEW = 1e-3  # s per s: by which the offset follows a clock that drifts (computers' drift by 1e-5 to 1e-4)

AUTO = "auto"
BINDINGS = {"pylibfranka": "pylibfranka", "panda-python": "panda_py.libfranka"}
"""Modules by the name of their package, in the order in which they are tried."""

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

MODES = {
    "reflex": _REFLEX,
    "user_stopped": "the robot is stopped by its user: release the external activation device to move it",
    "other": "the joints are locked, or the robot starts: unlock them in Desk",
}
"""What to do where the robot's mode is not one in which it moves, by mode."""


class FrankaConnection:
    """A connection that only reads.

    host: the robot's address or name.
    binding: one of `BINDINGS`, or "auto" for those installed, one after the other until one speaks the robot's
        protocol; the attribute is that one. The attribute `robot` is "panda" or "fr3", the library's arm that this is.
    Raises ArgumentError: there is no such binding, or `host` is empty.
    Raises MissingDependencyError: the binding, or any at all, is not installed, or cannot be loaded.
    Raises ConnectionFailedError: no connection; the message has the cause and the remedy.
    """

    def __init__(self, host: str, binding: str = AUTO) -> None:
        if not host.strip():
            raise ArgumentError("IP: expected the robot's address, got nothing")
        names = _candidates(binding)
        try:  # libfranka itself waits for a minute for the robot's port, in which nothing can interrupt it
            socket.create_connection((host, PORT), TIMEOUT).close()
        except (OSError, UnicodeError) as error:  # the latter of a label that is no name of a host
            missing = isinstance(error, socket.gaierror | UnicodeError)
            raise explained("no such host" if missing else str(error), host, "", connected=False) from error
        self.host = host
        for name in names:
            try:
                self._robot, self.binding = _opened(name, host), name
                break
            except ConnectionFailedError as error:
                if error.kind != WRONG_VERSION or name == names[-1]:
                    raise
        old = self.binding == "panda-python" and self._robot.server_version() <= LAST_PANDA_VERSION
        self.robot = "panda" if old else "fr3"

    def read(self) -> FrankaState:
        """Wait for the next state, or take the newest since the last call; ConnectionFailedError if there are none."""
        try:
            return FrankaState(self._robot.read_once())
        except Exception as error:  # of the bindings, which share no root
            raise explained(str(error), self.host, self.binding, connected=True) from error


def _candidates(binding: str) -> list[str]:
    if binding != AUTO and binding not in BINDINGS:
        raise ArgumentError(f"binding: expected {AUTO}, {', '.join(BINDINGS)}, got {binding!r}")
    wanted = BINDINGS if binding == AUTO else [binding]
    names = [name for name in wanted if find_spec(BINDINGS[name].partition(".")[0]) is not None]
    if not names:
        package = "pylibfranka for an FR3, panda-python for a Panda (FER)" if binding == AUTO else binding
        extras = f"'panda_dynamics_ros[fr3]' or 'panda_dynamics_ros[panda]' (that is {package})"
        raise MissingDependencyError(f"expected a Python binding of libfranka, got none: pip install {extras}")
    return names


def _opened(name: str, host: str) -> Any:
    deadline = time.monotonic() + BUSY
    while True:
        try:
            with _interruptible():
                library = importlib.import_module(BINDINGS[name])
                return library.Robot(host, library.RealtimeConfig.kIgnore)
        except ImportError as error:
            raise MissingDependencyError(f"{name}: expected a binding that loads, got: {error}") from error
        except Exception as error:
            # The robot takes one connection, and may still count the last one.
            if "refused" not in str(error) or time.monotonic() > deadline:
                raise explained(str(error), host, name, connected=False) from error
        time.sleep(0.1)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Within, in the main thread, signals end the process: a binding that connects lets no handler run."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = ends if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def explained(text: str, host: str, binding: str, *, connected: bool) -> ConnectionFailedError:
    """The error to raise for what a binding, or the operating system, says in `text`, which is quoted.

    `binding` is the package, empty where none had a part in it; `connected`: states had come before; then it is `LOST`.
    """
    words = " ".join(text.split()).rstrip(".")
    matching = ((kind, say) for kind, (pattern, say) in PROBLEMS.items() if re.search(pattern, words, re.IGNORECASE))
    kind, remedy = next(matching, ("failed", "see Franka's FCI documentation, Troubleshooting"))
    if connected and kind != "reflex":
        kind, remedy = LOST, "the connection is lost: has the robot been switched off, or its FCI been deactivated?"
    return ConnectionFailedError(f"{host}: {remedy.format(binding=binding)} ({words:.200})", kind)


def with_own_end_effector(robot: Robot, state: FrankaState) -> Robot:
    """The arm with the end effector that is set in Desk: tau_J has its weight in it."""
    return attach(robot, "ee", state.end_effector, state.T_flange_ee)


class FrankaStream:
    """States of a robot, one after the other, by an open `connection`; after a lost one it connects again.

    `say` is called with a sentence when the connection is lost, and when it is there again. `reconnections` counts
    them; `problem` says why no states come, and is empty while they do.
    """

    def __init__(self, connection: FrankaConnection, say: Callable[[str], object]) -> None:
        self.connection, self._say = connection, say
        self._next_attempt = 0.0
        self.reconnections, self.problem = 0, ""

    def next(self) -> FrankaState | None:
        """Wait for the next state; None, at the latest after some seconds, while the robot is away.

        ConnectionFailedError: the connection is there, but the binding cannot read states.
        """
        if self.problem and not self._connect_again():
            return None
        try:
            return self.connection.read()
        except ConnectionFailedError as error:
            if error.kind != LOST:
                raise
            self.problem = str(error)
            self._say(f"{error}; connecting again")
            return None

    def _connect_again(self) -> bool:
        """One attempt, `PATIENCE` after the last one; whether it succeeded."""
        if (left := self._next_attempt - time.monotonic()) > 0.0:
            time.sleep(min(left, NAP))
            return False
        self._next_attempt = time.monotonic() + PATIENCE
        try:
            self.connection = FrankaConnection(self.connection.host, self.connection.binding)
        except ConnectionFailedError as error:
            self.problem = str(error)
            return False
        self.reconnections, self.problem = self.reconnections + 1, ""
        self._say(f"{self.connection.host}: connected again")
        return True


class RobotClock:
    """Converts the robot's time to this machine's.

    A state is delayed by the network and by this machine; the shortest delay of a second says most of how the clocks
    differ. The offset follows it slowly, so that the steps between stamps stay those of the robot.
    """

    def __init__(self) -> None:
        self._offset = self._wanted = self._shortest = self._began = 0.0
        self._last = math.inf

    def at(self, robot_time: float, now: float) -> float:
        """This machine's time, s, of a state with the robot's time, s, that is read at `now`, s."""
        delay = now - robot_time
        if robot_time < self._last:  # the first state, or the robot has started anew
            self._offset = self._wanted = self._shortest = delay
            self._began = self._last = robot_time
        most = SLEW * (robot_time - self._last)
        self._offset += min(max(self._wanted - self._offset, -most), most)
        self._shortest, self._last = min(self._shortest, delay), robot_time
        if robot_time - self._began >= WINDOW:
            self._wanted = self._shortest
            if abs(self._wanted - self._offset) > LARGEST_ERROR:
                self._offset = self._wanted
            self._shortest, self._began = delay, robot_time
        return robot_time + self._offset
