# SPDX-License-Identifier: Apache-2.0
"""A live robot recorded as CSV, which `replay` reads: t, q1.., dq1.., tau1.. and Franka's own tau_ext1.."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import TracebackType
from typing import TextIO

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.libfranka_state import ARM_JOINTS, FrankaState

COLUMNS = ("t", *(f"{field}{k + 1}" for field in ("q", "dq", "tau", "tau_ext") for k in range(ARM_JOINTS)))


class StateRecording:
    """Writes states into a new file. Use with `with`.

    Parameters
    ----------
    path: a name that ends in .csv or .csv.gz, of a file that does not exist.

    Raises
    ------
    ArgumentError: `path` has another ending, or exists.
    OSError: it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = checks.path(path, "--record")
        if not self.path.name.lower().endswith((".csv", ".csv.gz")):
            raise ArgumentError(
                f"--record: expected a name that ends in .csv or .csv.gz, got {self.path.name!r} "
                f"(`panda-dynamics convert` makes a rosbag2 of it)"
            )
        if self.path.exists():
            raise ArgumentError(f"--record: expected a file that does not exist yet, got {self.path}")
        if self.path.suffix.lower() == ".gz":
            self._file: TextIO = gzip.open(self.path, "xt", compresslevel=1)  # noqa: SIM115, closed by __exit__
        else:
            self._file = self.path.open("x")
        self._file.write(",".join(COLUMNS) + "\n")

    def __enter__(self) -> StateRecording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, stamp: float, state: FrankaState) -> None:
        """One row; the stamp in s."""
        _, q, dq, tau = state.sample
        numbers = (stamp, *q.tolist(), *dq.tolist(), *tau.tolist(), *state.external_torques.tolist())
        self._file.write(",".join(map(repr, numbers)) + "\n")
