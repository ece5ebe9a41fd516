# SPDX-License-Identifier: Apache-2.0
"""End effectors as data: bodies that become part of the last link, and a tool frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.inertial import InertialParameters
from panda_dynamics_ros.robot.yaml_file import (
    YAML,
    body,
    find_description,
    library_names,
    mapping,
    read_yaml,
    string_keys,
    transform,
)

LIBRARY = Path(__file__).parent / "end_effectors"
NONE = "none"

Robot = TypeVar("Robot", bound=RobotDescription)


@dataclass(frozen=True, eq=False)
class EndEffector:
    """What is permanently mounted on a flange.

    Attributes
    ----------
    body: all of its bodies as one, in the flange frame.
    T_flange_ee: (4, 4), its tool frame in the flange frame (Franka's F_T_EE).
    """

    name: str
    body: InertialParameters
    T_flange_ee: FloatArray


def end_effector_names() -> tuple[str, ...]:
    """Names of the end effectors that come with the package, and "none"."""
    return (NONE, *library_names(LIBRARY))


def read_end_effector(source: str | Path) -> EndEffector | None:
    """The end effector of a library name or a YAML file; None of "none". Errors are those of `read_robot`."""
    if source == NONE:
        return None
    path = find_description(source, LIBRARY, YAML, "end_effector", others=(NONE,))
    content = read_yaml(path)
    try:
        return _from_content(content)
    except (ArgumentError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"{path}: {error}") from error


def attach(robot: Robot, effector: EndEffector | None) -> Robot:
    """The robot with the end effector on its flange: inertia joined to the last link, `ee` at its tool frame.

    With None, the robot as it is.
    """
    if effector is None:
        return robot
    carrying = robot.with_payload(effector.body).with_end_effector(effector.T_flange_ee)
    return replace(carrying, name=f"{robot.name}+{effector.name}")


def _from_content(content: Any) -> EndEffector:
    top = mapping(content, "description", ("name", "inertia_about", "bodies"), ("mount", "tool"))
    given = string_keys(top["bodies"], "bodies")
    bodies = [body(value, f"body {name}", top["inertia_about"]) for name, value in given.items()]
    T_flange_mount = transform(top.get("mount", {}), "mount")
    whole = reduce(add, bodies) if bodies else InertialParameters.zero()
    T_flange_ee: FloatArray = np.asarray(T_flange_mount @ transform(top.get("tool", {}), "tool"))
    return EndEffector(str(top["name"]), whole.transformed(T_flange_mount), T_flange_ee)
