# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions in YAML: the library of arms, and a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError, RobotDescriptionError
from panda_dynamics_ros.robot.description import JointLimits, ResidualModel, RobotDescription
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.inertial import InertialParameters, symmetric_from_six

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
    path = Path(source).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        raise ArgumentError(
            f"robot: expected one of {', '.join(library_names())} or a path to a .yaml file, got {name!r}"
        )
    if not path.is_file():
        raise DataFileNotFoundError(f"robot: expected an existing file, got {name!r}")
    return path


def read_robot(source: str | Path, model: type[Robot]) -> Robot:
    """The robot of a library name or YAML file, as an instance of `model`.

    Raises
    ------
    RobotDescriptionError: the file is malformed or a link is not physical; the message names the
        file, and the key or the link.
    """
    path = find_description(source)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RobotDescriptionError(f"{path}: expected YAML, got {' '.join(str(error).split())}") from error
    if not isinstance(content, Mapping):
        raise RobotDescriptionError(f"{path}: expected a mapping at the top, got {type(content).__name__}")
    try:
        return _robot_from_mapping(content, model)
    except KeyError as error:
        raise RobotDescriptionError(f"{path}: expected the key {error}, which is missing") from error
    except (ArgumentError, RobotDescriptionError, TypeError, AttributeError) as error:
        raise RobotDescriptionError(f"{path}: {error}") from error


def _robot_from_mapping(content: Mapping[str, Any], model: type[Robot]) -> Robot:
    names = tuple(str(name) for name in content["joint_names"])
    n = len(names)
    placements = _placements(content, n)
    links = tuple(_link(link, i + 1, content["inertia_about"]) for i, link in enumerate(content["links"]))
    return model(
        name=str(content["name"]),
        joint_names=names,
        placements=placements,
        prismatic=tuple(bool(sliding) for sliding in content.get("prismatic", [False] * n)),
        links=links,
        T_joint_flange=_transform(content.get("flange", {}), "flange"),
        T_flange_ee=_transform(content.get("end_effector", {}), "end_effector"),
        friction=Friction.of(n, **content.get("friction", {})),
        limits=JointLimits(**_per_joint(content["limits"], n, "limits")),
        residual=ResidualModel(**_per_joint(content["residual"], n, "residual")),
        gravity=content.get("gravity", [0.0, 0.0, -9.81]),
    )


def _placements(content: Mapping[str, Any], n: int) -> FloatArray:
    """T_{i-1}_{i} at zero position, from modified DH parameters or from explicit matrices."""
    if "placements" in content:
        return checks.exactly(content["placements"], (n, 4, 4), "placements")
    dh = _per_joint(content["modified_dh"], n, "modified_dh")
    theta = dh.get("theta", np.zeros(n))
    return np.stack([modified_dh(*row) for row in zip(dh["a"], dh["d"], dh["alpha"], theta, strict=True)])


def modified_dh(a: float, d: float, alpha: float, theta: float) -> FloatArray:
    """T_{i-1}_{i} (4, 4) of modified DH parameters (document 000; document 004, eq. (1)). m, rad."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([
        [ct, -st, 0.0, a],
        [st * ca, ct * ca, -sa, -d * sa],
        [st * sa, ct * sa, ca, d * ca],
        [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip


def _transform(content: Mapping[str, Any], name: str) -> FloatArray:
    T = np.eye(4)
    T[:3, :3] = checks.rotation_matrix(content.get("rotation", np.eye(3)), f"{name}.rotation")
    T[:3, 3] = checks.exactly(content.get("translation", np.zeros(3)), (3,), f"{name}.translation")
    return T


def _per_joint(content: Mapping[str, Any], n: int, name: str) -> dict[str, FloatArray]:
    return {key: checks.read_only(checks.exactly(value, (n,), f"{name}.{key}")) for key, value in content.items()}


def _link(content: Mapping[str, Any], number: int, inertia_about: str) -> InertialParameters:
    name = f"link {number}"
    if inertia_about not in ("com", "origin"):
        raise RobotDescriptionError(f"inertia_about: expected com or origin, got {inertia_about!r}")
    mass = checks.number(content["mass"], f"{name}: mass", minimum=0.0)
    if "first_moment" in content:
        first_moment = checks.exactly(content["first_moment"], (3,), f"{name}: first_moment")
    else:
        first_moment = mass * checks.exactly(content["com"], (3,), f"{name}: com")
    six = checks.exactly(content["inertia"], (6,), f"{name}: inertia")
    if inertia_about == "origin":
        link = InertialParameters.from_vector([mass, *first_moment, *six])
    else:
        link = InertialParameters(mass, first_moment / mass if mass else np.zeros(3), symmetric_from_six(six))
    if not link.is_physical():
        raise RobotDescriptionError(
            f"{name}: expected a body that some distribution of mass has, got second moments about the CoM of "
            f"{np.linalg.eigvalsh(0.5 * np.trace(link.inertia) * np.eye(3) - link.inertia).round(6).tolist()} kg m^2"
        )
    return link
