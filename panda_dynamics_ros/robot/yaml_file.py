# SPDX-License-Identifier: Apache-2.0
"""Robots by name or path: the library of arms, and a user's own YAML or URDF file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, TypeVar

import yaml

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError, RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.mjcf_file import read_mjcf
from panda_dynamics_ros.robot.urdf_file import read_urdf
from panda_dynamics_ros.robot.yaml_content import robot_from_content

LIBRARY = Path(__file__).parent / "arms"
LARGEST_YAML, MOST_VALUES = 1 << 20, 100_000  # bytes, values: an arm has about 5,000 bytes
YAML, URDF, MJCF = (".yaml", ".yml"), (".urdf",), (".xml",)

Robot = TypeVar("Robot", bound=RobotDescription)


class _PlainLoader(yaml.SafeLoader):
    """YAML whose aliases stand for a bounded number of values: a few lines of them can stand for billions."""

    def get_single_node(self) -> Any:
        node = super().get_single_node()
        if node is not None and _value_count(node, {}) > MOST_VALUES:
            raise yaml.YAMLError(f"aliases that stand for more than {MOST_VALUES} values")
        return node


def _value_count(node: yaml.Node, known: dict[int, float]) -> float:
    """Number of values in a node with its aliases written out; infinite where it contains itself."""
    if id(node) not in known:
        known[id(node)] = math.inf
        children = node.value if isinstance(node, yaml.CollectionNode) else ()
        if isinstance(node, yaml.MappingNode):
            children = [each for pair in children for each in pair]
        known[id(node)] = 1.0 + sum(_value_count(child, known) for child in children)
    return known[id(node)]


def library_names() -> tuple[str, ...]:
    """Names of the arms that come with the package."""
    return tuple(sorted(path.stem for path in LIBRARY.glob("*.yaml")))


def find_description(
    source: str | Path,
    library: Path = LIBRARY,
    suffixes: tuple[str, ...] = (*YAML, *URDF, *MJCF),
    argument: str = "robot",
    others: tuple[str, ...] = (),
) -> Path:
    """The file of a name in `library` or of a path.

    Raises
    ------
    ArgumentError: neither a library name nor a path; the message lists the names (and the `others`, which the
        caller deals with).
    DataFileNotFoundError: a path to a file that does not exist.
    """
    names = tuple(sorted(path.stem for path in library.glob("*.yaml")))
    name = str(source)
    if name in names:
        return library / f"{name}.yaml"
    if name.endswith(".xacro"):
        raise ArgumentError(
            f"{argument}: expected plain URDF, got {name!r}; expand it first: xacro {name} > robot.urdf"
        )
    if not isinstance(source, str | Path) or Path(source).suffix not in suffixes:
        raise ArgumentError(
            f"{argument}: expected one of {', '.join((*others, *names))} or a path to a {', '.join(suffixes[:-1])} or "
            f"{suffixes[-1]} file, got {source!r}"
        )
    path = checks.path(source, argument)
    if not path.is_file():
        raise DataFileNotFoundError(f"{argument}: expected an existing file, got {name!r}")
    return path


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises
    ------
    RobotDescriptionError: the file cannot be read; the message names it.
    """
    try:
        if path.stat().st_size > LARGEST_YAML:
            raise RobotDescriptionError(f"{path}: expected at most {LARGEST_YAML} bytes, got {path.stat().st_size}")
        return yaml.load(path.read_text(encoding="utf-8"), _PlainLoader)
    except RecursionError as error:
        raise RobotDescriptionError(f"{path}: expected YAML, got one that is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # an impossible date is a ValueError
        if isinstance(error, RobotDescriptionError):
            raise
        raise RobotDescriptionError(f"{path}: expected YAML, got {' '.join(str(error).split()):.200}") from error
    except OSError as error:
        raise RobotDescriptionError(f"{path}: expected a readable file, got {error.strerror}") from error


def read_robot(
    source: str | Path, model: type[Robot], base: str | None = None, tip: str | None = None, *, strict: bool = False
) -> Robot:
    """The robot of a library name, of a YAML, URDF or MJCF file, or of a URDF's text, as an instance of `model`.

    Parameters
    ----------
    base, tip, strict: of a URDF or MJCF file, see `read_urdf`; links of a YAML file are never replaced.

    Raises
    ------
    ArgumentError: neither a library name nor a path; the message lists the names. `base` or `tip` do not fit.
    DataFileNotFoundError: a path to a file that does not exist.
    RobotDescriptionError: the file cannot be read, is malformed, or a link is not physical; the message
        names the file, and the key or the link.
    """
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return read_urdf(source, model, base, tip, strict=strict)
    path = find_description(source)
    if path.suffix in URDF:
        return read_urdf(path, model, base, tip, strict=strict)
    if path.suffix in MJCF:
        return read_mjcf(path, model, base, tip, strict=strict)
    for name, link in (("base", base), ("tip", tip)):
        if link is not None:
            raise ArgumentError(
                f"{name}: expected none, since only a .urdf or .xml file has a chain to choose, got {link!r}"
            )
    content = read_yaml(path)
    try:
        return robot_from_content(content, model, path.parent)
    except (ArgumentError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"{path}: {error}") from error
