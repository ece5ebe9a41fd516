# SPDX-License-Identifier: Apache-2.0
"""States one after the other, over lost connections, their stamps by this machine's clock, and their recording."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError, ConnectionFailedError
from panda_dynamics_ros.live.connection import LOST, FrankaConnection
from panda_dynamics_ros.robot.libfranka_state import ARM_JOINTS, FrankaState
from panda_dynamics_ros.robot.yaml_file import Robot, attach

PATIENCE = 1.0  # s, from one attempt to connect again to the next
NAP = 0.05  # s: after it a caller may do something else
WINDOW = 1.0  # s of the robot's time over which the shortest delay is sought
LARGEST_ERROR = 0.1  # s: beyond it the clock was set, and the offset jumps
SLEW = 1e-3  # s per s: by which the offset follows a clock that drifts (computers' drift by 1e-5 to 1e-4)


def with_own_end_effector(robot: Robot, state: FrankaState) -> Robot:
    """The arm with the end effector that is set in Desk: tau_J has its weight in it."""
    return attach(robot, "ee", state.end_effector, state.T_flange_ee)


class FrankaStream:
    """States of a robot, one after the other, by an open connection; after a lost one it connects again.

    `say` is called with a sentence when the connection is lost, and when it is there again. `reconnections` counts
    them; `problem` says why no states come, and is empty while they do.
    """

    def __init__(self, connection: FrankaConnection, say: Callable[[str], None]) -> None:
        self._connection, self._say = connection, say
        self._next_attempt = 0.0
        self.reconnections, self.problem = 0, ""

    def next(self) -> FrankaState | None:
        """Wait for the next state; None, at the latest after some seconds, while the robot is away.

        ConnectionFailedError: the connection is there, but the binding cannot read states.
        """
        if self.problem and not self._connect_again():
            return None
        try:
            return self._connection.read()
        except ConnectionFailedError as error:
            if error.kind != LOST:
                raise
            self.problem = str(error)
            self._say(f"{error}; connecting again")
            return None

    def _connect_again(self) -> bool:
        """One attempt, `PATIENCE` after the last one; whether it succeeded."""
        left = self._next_attempt - time.monotonic()
        if left > 0.0:
            time.sleep(min(left, NAP))
            return False
        self._next_attempt = time.monotonic() + PATIENCE
        try:
            self._connection = FrankaConnection(self._connection.host, self._connection.binding)
        except ConnectionFailedError as error:
            self.problem = str(error)
            return False
        self.reconnections, self.problem = self.reconnections + 1, ""
        self._say(f"{self._connection.host}: connected again")
        return True


class RobotClock:
    """Converts the robot's time to this machine's.

    A state is delayed by the network and by this machine; the shortest delay of a second says most of how the clocks
    differ. The offset follows it slowly, so that the steps between stamps stay those of the robot.
    """

    def __init__(self) -> None:
        self._offset = self._wanted = self._shortest = math.nan
        self._last = self._began = -math.inf

    def at(self, robot_time: float, now: float) -> float:
        """This machine's time, s, of a state with the robot's time, s, that is read at `now`, s."""
        delay = now - robot_time
        if not math.isfinite(self._offset) or robot_time < self._last:  # the robot has started anew
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


COLUMNS = ("t", *(f"{field}{k + 1}" for field in ("q", "dq", "tau", "tau_ext") for k in range(ARM_JOINTS)))


@contextmanager
def recording(path: str | Path) -> Iterator[Callable[[FrankaState], None]]:
    """Within, what this gives writes states into a new CSV file, which `replay` reads, with Franka's own tau_ext.

    ArgumentError: the name of the file does not end in .csv, or the file exists. OSError: it cannot be written.
    """
    path = checks.path(path, "--record")
    if path.suffix.lower() != ".csv" or path.exists():
        raise ArgumentError(f"--record: expected the name of a new file that ends in .csv, got {str(path)!r}")
    with path.open("x") as file:
        file.write(",".join(COLUMNS) + "\n")

        def write(state: FrankaState) -> None:
            stamp, *rows = state.sample
            numbers = np.concatenate(([stamp], *rows, state.external_torques))
            file.write(",".join(map(repr, numbers.tolist())) + "\n")

        yield write
