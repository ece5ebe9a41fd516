# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions in YAML files: the library of arms, and a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml

from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError, RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.yaml_content import robot_from_content

LIBRARY = Path(__file__).parent / "arms"

Robot = TypeVar("Robot", bound=RobotDescription)


def library_names() -> tuple[str, ...]:
    """Names of the arms that come with the package."""
    return tuple(sorted(path.stem for path in LIBRARY.glob("*.yaml")))


def find_description(source: str | Path) -> Path:
    """The YAML file of a library name or of a path.

    Raises
    ------
    ArgumentError: neither a library name nor a path; the message lists the names.
    DataFileNotFoundError: a path to a file that does not exist.
    """
    name = str(source)
    if name in library_names():
        return LIBRARY / f"{name}.yaml"
    if not isinstance(source, str | Path) or Path(source).suffix not in (".yaml", ".yml"):
        raise ArgumentError(
            f"robot: expected one of {', '.join(library_names())} or a path to a .yaml file, got {source!r}"
        )
    path = Path(source).expanduser()
    if not path.is_file():
        raise DataFileNotFoundError(f"robot: expected an existing file, got {name!r}")
    return path


def read_robot(source: str | Path, model: type[Robot]) -> Robot:
    """The robot of a library name or YAML file, as an instance of `model`.

    Raises
    ------
    ArgumentError: neither a library name nor a path; the message lists the names.
    DataFileNotFoundError: a path to a file that does not exist.
    RobotDescriptionError: the file cannot be read, is malformed, or a link is not physical; the message
        names the file, and the key or the link.
    """
    path = find_description(source)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RobotDescriptionError(f"{path}: expected YAML, got {' '.join(str(error).split())}") from error
    except OSError as error:
        raise RobotDescriptionError(f"{path}: expected a readable file, got {error.strerror}") from error
    try:
        return robot_from_content(content, model)
    except (ArgumentError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"{path}: {error}") from error
