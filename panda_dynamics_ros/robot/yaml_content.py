# SPDX-License-Identifier: Apache-2.0
"""From the keys of a YAML description to a robot. Every key is known or refused: a misspelt one is not ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.limits import JointLimits, ResidualModel
from panda_dynamics_ros.robot.yaml_keys import body, booleans, listed, mapping, per_joint, string_keys, transform

Robot = TypeVar("Robot", bound=RobotDescription)

REQUIRED = ("name", "joint_names", "inertia_about", "links", "limits", "residual")
OPTIONAL = ("modified_dh", "placements", "prismatic", "flange", "end_effector", "friction", "gravity")
LIMITS = ("lower", "upper", "velocity", "acceleration", "effort")
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2, in base axes


def robot_from_content(content: Any, model: type[Robot]) -> Robot:
    """The robot of a parsed description, as an instance of `model`.

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
        residual=ResidualModel(**per_joint(top["residual"], n, "residual", ("std", "correlation_time"))),
        gravity=checks.exactly(top.get("gravity", GRAVITY), (3,), "gravity"),
    )


def modified_dh(a: float, d: float, alpha: float, theta: float) -> FloatArray:
    """T_{i-1}_{i} (4, 4) of modified DH parameters (document 000; document 004, eq. (1)). m, rad."""
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
