# SPDX-License-Identifier: Apache-2.0
"""Stand-alone source code of a robot's dynamics, customised to its parameters (Gautier and Khalil 1988, section 11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from panda_dynamics_ros.codegen.arm import arm_of
from panda_dynamics_ros.codegen.functions import FUNCTIONS
from panda_dynamics_ros.codegen.graph import Graph
from panda_dynamics_ros.codegen.program import OperationCount, Program, program_of
from panda_dynamics_ros.codegen.source_text import c_source, python_source
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import RobotDescription

FRICTION = "friction_torques"
"""Written with `friction_state`, its memory; not one of the rigid-body `FUNCTIONS`."""
LANGUAGES: dict[str, Callable[..., str]] = {"c": c_source, "python": python_source}


@dataclass(frozen=True)
class GeneratedCode:
    """Source code, and what a call of its functions costs.

    Attributes
    ----------
    source: the text of one file.
    name: what the names of its functions begin with: `panda` of `panda_gravity_torques`.
    counts: operations of each function.
    """

    source: str
    name: str
    counts: Mapping[str, OperationCount]


def generate(
    robot: RobotDescription,
    language: str = "c",
    functions: Iterable[str] = (*FUNCTIONS, FRICTION),
    name: str | None = None,
    math: str = "math",
) -> GeneratedCode:
    """Source code that computes a robot's dynamics without this package.

    Multiplications by 0 and 1 are gone, common subexpressions are computed once, and the links carry the robot's base
    parameters, so that 3 of 10 inertial parameters of a link that turns, and 6 of one that slides, vanish at least.

    Parameters
    ----------
    robot: its numbers become constants of the code; a payload is part of it (`robot.with_payload`).
    language: "c" (C99 and C++, double precision, <math.h> only) or "python" (standard library only).
    functions: some of gravity_torques, coriolis_torques, inverse_dynamics, mass_matrix, pose, and friction_torques,
        which comes with friction_state: the direction of dry friction, which the caller keeps from sample to sample.
    name: an identifier that the names of the functions begin with; of the robot's name if left out.
    math: the module that Python code takes sin, cos and exp from. With `numpy`, `jax.numpy`, `torch` or `cupy` its
        functions take arrays (n, ..) of many states, also on a GPU.

    Returns
    -------
    GeneratedCode. Its functions take joint positions, velocities and accelerations as this package does (SI units,
    radians), and give what the methods of the same name give; `pose` is T_base_flange, column-major in C.

    Raises
    ------
    ArgumentError: there is no such language or function, or a name is not an identifier.

    Reference: Gautier and Khalil 1988, section 11 and table 1 (document 004): inverse dynamics of any arm of n revolute
    joints takes at most 92 n - 127 multiplications and 81 n - 117 additions.
    """
    if language not in LANGUAGES:
        raise ArgumentError(f"language: expected one of {', '.join(LANGUAGES)}, got {language!r}")
    wanted = list(dict.fromkeys([functions] if isinstance(functions, str) else functions))
    known = (*FUNCTIONS, FRICTION)
    unknown = [key for key in wanted if key not in known]
    if unknown or not wanted:
        raise ArgumentError(f"functions: expected some of {', '.join(known)}, got {unknown or 'none'}")
    name = _identifier(robot.name) if name is None else name
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ArgumentError(f"name: expected an identifier, got {name!r}")
    if not all(part.isidentifier() for part in math.split(".")) or (language != "python" and math != "math"):
        raise ArgumentError(f"math: expected the name of a module, for Python only, got {math!r} for {language}")
    programs = {key: _program(robot, key) for key in wanted if key != FRICTION}
    notes = _notes(robot, programs)
    written = {key: (FUNCTIONS[key], program) for key, program in programs.items()}
    options = {"module": math} if language == "python" else {}
    friction = robot.friction.table if FRICTION in wanted else None
    source = LANGUAGES[language](name, robot.n, notes, written, friction, **options)
    return GeneratedCode(source, name, {key: program.count for key, program in programs.items()})


def _program(robot: RobotDescription, key: str) -> Program:
    arm = arm_of(robot, Graph())
    return program_of(arm.graph, [entry for row in FUNCTIONS[key].rows(arm) for entry in row])


def _notes(robot: RobotDescription, programs: Mapping[str, Program]) -> list[str]:
    """What the file is, for its first lines; the robot's name comes from a file, and must not end the comment."""
    title = re.sub(r"[^\w .()-]", " ", robot.name)
    gravity = ", ".join(f"{value:.6g}" for value in robot.gravity)
    lines = [
        f"Dynamics of the arm {title!r} ({robot.n} joints), written by `panda-dynamics export`.",
        f"Gravity ({gravity}) m/s^2 in base axes. Operations of one call:",
    ]
    for key, program in programs.items():
        count = program.count
        lines.append(
            f"    {key:<17} {count.multiplications:4d} multiplications, {count.additions:4d} additions, "
            f"{count.trigonometric:3d} sines and cosines"
        )
    return lines


def _identifier(text: str) -> str:
    identifier = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")
    return identifier if re.match(r"[a-z]", identifier) else f"arm_{identifier}".rstrip("_")
