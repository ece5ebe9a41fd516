# SPDX-License-Identifier: Apache-2.0
"""The task of annotating recordings, and the result of one of them."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from panda_dynamics_ros import __version__
from panda_dynamics_ros.annotation.rows import RECORDING, Row
from panda_dynamics_ros.annotation.sources import Source
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.yaml_file import write_robot


class Task(NamedTuple):
    """How to annotate each recording.

    Attributes
    ----------
    robot: the arm's YAML file as text, so that other machines need no file; `robot_sha256` is of it.
    options: keyword arguments of `annotate`.
    arm: pattern that finds the arm in a recording's path, its first group if it has one; empty: the folder's name.
    patience_s: a recording is given up if its worker reports nothing for longer.
    memory_gib: that a worker may take.
    """

    robot: str
    robot_sha256: str
    options: dict[str, Any]
    arm: str = ""
    patience_s: float = 300.0
    memory_gib: float = 4.0

    @classmethod
    def of(cls, robot: RobotDescription, options: dict[str, Any], arm: str = "", **limits: float) -> Task:
        """The task for a robot.

        Raises
        ------
        ArgumentError: `arm` is no regular expression.
        RobotDescriptionError: a link of the robot cannot exist.
        """
        try:
            re.compile(arm)
        except re.error as error:
            raise ArgumentError(f"arm: expected a regular expression, got {arm!r}: {error}") from error
        with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as folder:
            text = write_robot(robot, Path(folder) / "robot.yaml").read_text(encoding="utf-8")
        given = {name: value for name, value in options.items() if value is not None}
        return cls(text, hashlib.sha256(text.encode()).hexdigest(), given, arm, **limits)

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows depend on: equal identities give equal rows."""
        return {"robot": self.robot_sha256, "options": self.options, "arm": self.arm, "version": __version__}


class RecordingResult(NamedTuple):
    """The rows of a recording, the time it took in s, and its curve (`annotator.Curve`)."""

    source: Source
    rows: list[Row]
    seconds: float = 0.0
    curve: dict[str, list[float]] | None = None

    @property
    def error(self) -> str:
        """Why the recording could not be annotated; empty where it was."""
        return str(self.rows[0].get("error") or "")


def failure(task: Task, source: Source, error: str) -> RecordingResult:
    """The one row of a recording that cannot be annotated."""
    return RecordingResult(source, [provenance(task, source) | {"error": " ".join(error.split())}])


def provenance(task: Task, source: Source) -> Row:
    """The columns that every recording's row has, also that of a failure."""
    return {
        "kind": RECORDING,
        "path": source.path,
        "arm": arm_of(task, source.path),
        "bytes": source.bytes,
        "robot_sha256": task.robot_sha256,
        "options": json.dumps(task.options, sort_keys=True),
        "package_version": __version__,
    }


def arm_of(task: Task, path: str) -> str:
    """Which arm a recording is of, by its path; empty where the pattern does not match."""
    if not task.arm:
        return Path(path).absolute().parent.name if "://" not in path else path.split("/")[-2]
    found = re.search(task.arm, path)
    return "" if found is None else str((found[1] if found.re.groups else found[0]) or "")
