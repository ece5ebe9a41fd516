# SPDX-License-Identifier: Apache-2.0
"""From parsed YAML to a robot; errors name the key, the link or the body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.effort import MEASURED
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.inertial import InertialParameters, require_physical, symmetric_from_six
from panda_dynamics_ros.robot.limits import JointLimits, ResidualModel
from panda_dynamics_ros.robot.residual_file import read_residual_map
from panda_dynamics_ros.robot.residual_map import ResidualMap

Robot = TypeVar("Robot", bound=RobotDescription)

REQUIRED = ("name", "joint_names", "inertia_about", "links", "limits", "residual")
OPTIONAL = (
    "modified_dh", "placements", "prismatic", "flange", "end_effector", "friction", "gravity", "rotor_inertia",
    "effort", "motor_constants", "base_link", "flange_link", "residual_map",
)  # fmt: skip
LIMITS = ("lower", "upper", "velocity", "acceleration", "effort")
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2, in base axes


def robot_from_content(content: Any, model: type[Robot], folder: Path | None = None) -> Robot:
    """The robot of a parsed description, as an instance of `model`.

    folder: of the file, in which a residual map is looked for.

    Raises
    ------
    ArgumentError, RobotDescriptionError: the message names the key, or the link.
    """
    top = mapping(content, "description", REQUIRED, OPTIONAL)
    names = tuple(str(name) for name in listed(top["joint_names"], "joint_names"))
    n = len(names)
    links = listed(top["links"], "links")
    return model(
        name=str(top["name"]),
        joint_names=names,
        placements=_placements(top, n),
        prismatic=tuple(booleans(top.get("prismatic", [False] * n), "prismatic")),
        links=tuple(body(link, f"link {i + 1}", top["inertia_about"]) for i, link in enumerate(links)),
        T_joint_flange=transform(top.get("flange", {}), "flange"),
        T_flange_ee=transform(top.get("end_effector", {}), "end_effector"),
        friction=Friction.of(n, **string_keys(top.get("friction", {}), "friction")),
        limits=JointLimits(**per_joint(top["limits"], n, "limits", LIMITS)),
        residual=ResidualModel(
            **per_joint(top["residual"], n, "residual", ("std", "correlation_time"), ("error_ratio",))
        ),
        gravity=checks.exactly(top.get("gravity", GRAVITY), (3,), "gravity"),
        rotor_inertia=checks.exactly(top.get("rotor_inertia", np.zeros(n)), (n,), "rotor_inertia"),
        effort=str(top.get("effort", MEASURED)),
        motor_constants=checks.real_array(top.get("motor_constants", []), "motor_constants"),
        base_link=str(top.get("base_link", "")),
        flange_link=str(top.get("flange_link", "")),
        residual_map=_residual_map(top.get("residual_map"), folder),
    )


def _residual_map(name: Any, folder: Path | None) -> ResidualMap | None:
    """The map in a file of this name beside the description; None without a name."""
    if name is None:
        return None
    if folder is None or not isinstance(name, str) or Path(name).name != name:
        raise RobotDescriptionError(f"residual_map: expected the name of a file beside the description, got {name!r}")
    return read_residual_map(folder / name)


def modified_dh(a: float, d: float, alpha: float, theta: float) -> FloatArray:
    """T_{i-1}_{i} (4, 4) of modified DH parameters (Gautier and Khalil, ICRA 1988, eq. (1): document 004). m, rad."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([
        [ct, -st, 0.0, a],
        [st * ca, ct * ca, -sa, -d * sa],
        [st * sa, ct * sa, ca, d * ca],
        [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip


def _placements(top: Mapping[str, Any], n: int) -> FloatArray:
    """T_{i-1}_{i} at zero position, from modified DH parameters or from explicit matrices."""
    if ("placements" in top) == ("modified_dh" in top):
        both = "both" if "placements" in top else "neither"
        raise RobotDescriptionError(f"description: expected either the key modified_dh or placements, got {both}")
    if "placements" in top:
        return checks.exactly(top["placements"], (n, 4, 4), "placements")
    dh = per_joint(top["modified_dh"], n, "modified_dh", ("a", "d", "alpha"), ("theta",))
    theta = dh.get("theta", np.zeros(n))
    return np.array([modified_dh(*row) for row in zip(dh["a"], dh["d"], dh["alpha"], theta, strict=True)])


def transform(content: Any, name: str) -> FloatArray:
    """A constant (4, 4) transform of an optional rotation (rows) and an optional translation (m)."""
    given = mapping(content, name, (), ("rotation", "translation"))
    T = np.eye(4)
    rotation = checks.exactly(given.get("rotation", np.eye(3)), (3, 3), f"{name}.rotation")
    T[:3, :3] = checks.rotation_matrix(rotation, f"{name}.rotation")
    T[:3, 3] = checks.exactly(given.get("translation", np.zeros(3)), (3,), f"{name}.translation")
    return T


def body(content: Any, name: str, inertia_about: Any) -> InertialParameters:
    """One body, of its centre of mass or first moment, its inertia taken about the CoM or the frame's origin."""
    if inertia_about not in ("com", "origin"):
        raise RobotDescriptionError(f"inertia_about: expected com or origin, got {inertia_about!r}")
    position = "first_moment" if isinstance(content, Mapping) and "first_moment" in content else "com"
    given = mapping(content, name, ("mass", position, "inertia"))
    mass = checks.number(given["mass"], f"{name}: mass", minimum=0.0)
    vector = checks.exactly(given[position], (3,), f"{name}: {position}")
    six = checks.exactly(given["inertia"], (6,), f"{name}: inertia")
    first_moment = vector if position == "first_moment" else mass * vector
    try:
        link = InertialParameters.from_vector([mass, *first_moment, *six])
    except ArgumentError as error:
        raise RobotDescriptionError(f"{name}: {error}") from error
    if inertia_about == "com":
        link = InertialParameters(mass, link.com if position == "first_moment" else vector, symmetric_from_six(six))
    return require_physical(link, name)


def mapping(content: Any, name: str, required: Iterable[str], optional: Iterable[str] = ()) -> Mapping[str, Any]:
    """`content` as a mapping that has all of the `required` keys, and none but these and the `optional`."""
    known = [*required, *optional]
    given = string_keys(content, name)
    unknown = [key for key in given if key not in known]
    missing = [key for key in required if key not in given]
    if unknown:
        raise RobotDescriptionError(f"{name}: expected keys among {', '.join(known)}, got {', '.join(unknown)}")
    if missing:
        raise RobotDescriptionError(f"{name}: expected the key {missing[0]}, got {', '.join(given) or 'no key'}")
    return given


def string_keys(content: Any, name: str) -> dict[str, Any]:
    """`content` as a mapping whose keys are strings."""
    if not isinstance(content, Mapping):
        raise RobotDescriptionError(f"{name}: expected keys with values, got {content!r:.60}")
    return {str(key): value for key, value in content.items()}


def per_joint(
    content: Any, n: int, name: str, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, FloatArray]:
    """`content` as a mapping of known keys, each to a finite (n,) array."""
    given = mapping(content, name, required, optional)
    return {key: checks.exactly(value, (n,), f"{name}.{key}") for key, value in given.items()}


def listed(content: Any, name: str) -> list[Any]:
    """`content` as a list."""
    if not isinstance(content, list):
        raise RobotDescriptionError(f"{name}: expected a list, got {content!r:.60}")
    return content


def booleans(content: Any, name: str) -> list[bool]:
    """`content` as a list of booleans."""
    for entry in listed(content, name):
        if not isinstance(entry, bool):
            raise RobotDescriptionError(f"{name}: expected true or false for each joint, got {entry!r:.60}")
    return list(content)
