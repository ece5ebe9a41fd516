# SPDX-License-Identifier: Apache-2.0
"""Writing a robot to a YAML file that `load_robot` reads back bit for bit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.effort import MEASURED
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.inertial import InertialParameters, require_physical, six_from_symmetric
from panda_dynamics_ros.robot.limits import JointLimits, ResidualModel
from panda_dynamics_ros.robot.residual_file import write_residual_map


def write_robot(robot: RobotDescription, path: str | Path, comment: str = "") -> Path:
    """Write `robot` to a .yaml file, whole or not at all, and return the path.

    Placements are written as matrices, numbers with all their digits: a robot that is read back has the same bits. A
    residual map goes to a file beside it, `<name>.residual.npz`, which the YAML file names.

    Parameters
    ----------
    comment: lines for the head of the file; where the numbers are from, say.

    Raises
    ------
    ArgumentError: `robot` is not a robot, `path` does not end in .yaml or .yml, or cannot be written.
    RobotDescriptionError: a link is not physical, so that it could not be loaded again; the message names it.
    """
    if not isinstance(robot, RobotDescription):
        raise ArgumentError(f"robot: expected a robot, got {type(robot).__name__}")
    target = checks.path(path, "path")
    if target.suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"path: expected a name that ends in .yaml, got {str(path)!r}")
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    content, map_path = _content(robot), target.with_name(f"{target.stem}.residual.npz")
    if robot.residual_map is not None:
        content["residual_map"] = map_path.name
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=200, allow_unicode=True)
    partial = target.with_name(f".{target.name}.partial")
    try:
        if robot.residual_map is not None:
            write_residual_map(robot.residual_map, map_path)
        partial.write_text(head + text, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise ArgumentError(f"path: expected a place to write to, got {str(path)!r}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _content(robot: RobotDescription) -> dict[str, Any]:
    """The keys that `yaml_content` reads."""
    return {
        "name": robot.name,
        "joint_names": list(robot.joint_names),
        "gravity": robot.gravity.tolist(),
        "placements": robot.placements.tolist(),
        "prismatic": [bool(sliding) for sliding in robot.prismatic],
        "flange": _transform(robot.T_joint_flange),
        "end_effector": _transform(robot.T_flange_ee),
        "inertia_about": "com",
        "links": [_link(link, f"link {i}") for i, link in enumerate(robot.links, start=1)],
        "friction": _per_joint(robot.friction),
        "residual": _per_joint(robot.residual),
        "limits": _per_joint(robot.limits),
        **_stated(robot),
    }


def _stated(robot: RobotDescription) -> dict[str, Any]:
    """The optional keys that say more than their defaults."""
    values = {
        "rotor_inertia": robot.rotor_inertia.tolist() if robot.rotor_inertia.any() else [],
        "effort": robot.effort if robot.effort != MEASURED else "",
        "motor_constants": robot.motor_constants.tolist(),
        "base_link": robot.base_link,
        "flange_link": robot.flange_link,
    }
    return {key: value for key, value in values.items() if value}


def _transform(T: FloatArray) -> dict[str, Any]:
    return {"rotation": T[:3, :3].tolist(), "translation": T[:3, 3].tolist()}


def _link(link: InertialParameters, name: str) -> dict[str, Any]:
    require_physical(link, name)
    return {"mass": link.mass, "com": link.com.tolist(), "inertia": six_from_symmetric(link.inertia).tolist()}


def _per_joint(values: Friction | JointLimits | ResidualModel) -> dict[str, Any]:
    return {field.name: getattr(values, field.name).tolist() for field in fields(values)}
