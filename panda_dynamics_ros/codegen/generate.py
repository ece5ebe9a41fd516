# SPDX-License-Identifier: Apache-2.0
"""Stand-alone source code of a robot's dynamics, customised to its parameters (Gautier and Khalil 1988, section 11).

One file: C99 that is also C++, for a real-time loop, or Python with its standard library.
"""

import math as numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen.algorithms import FUNCTIONS
from panda_dynamics_ros.codegen.arm import arm_of
from panda_dynamics_ros.codegen.graph import Graph, OperationCount, Program, program_of
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.friction import PRESLIDING

FRICTION = "friction_torques"  # written with `friction_state`, its memory; not one of the rigid-body `FUNCTIONS`
LANGUAGES = ("c", "python")


@dataclass(frozen=True)
class GeneratedCode:
    """Source code, and what a call of its functions costs.

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

    robot: its numbers become constants of the code; a payload is part of it (`robot.with_payload`).
    language: "c" (C99 and C++, double precision, <math.h> only) or "python" (standard library only).
    functions: some of gravity_torques, coriolis_torques, inverse_dynamics, mass_matrix, pose, and friction_torques,
        which comes with friction_state: the direction of dry friction, which the caller keeps from sample to sample.
    name: an identifier that the names of the functions begin with; of the robot's name if left out.
    math: the module that Python code takes sin, cos and exp from. With `numpy`, `jax.numpy`, `torch` or `cupy` its
        functions take arrays (n, ..) of many states, also on a GPU.
    Returns GeneratedCode. Its functions take joint positions, velocities and accelerations as this package does (SI
        units, radians), and give what the methods of the same name give; `pose` is T_base_flange, column-major in C.
    Raises ArgumentError: there is no such language or function, or a name is not an identifier.

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
    programs = {}
    for key in wanted:
        if key != FRICTION:
            arm = arm_of(robot, Graph())
            programs[key] = program_of(arm.graph, [entry for row in FUNCTIONS[key].rows(arm) for entry in row])
    notes, written = _notes(robot, programs), [_function(key, each, robot.n) for key, each in programs.items()]
    if FRICTION in wanted:
        limited = {"c": "fmin(fmax({}, -1.0), 1.0)", "math": "max(-1.0, min(1.0, {}))"}
        how = limited.get("c" if language == "c" else math, "clip({}, -1.0, 1.0)")
        written += _friction_functions(robot.friction.table, how)
    if language == "c":
        source = _c_source(name, robot.n, notes, written)
    else:
        source = _python_source(name, robot.n, notes, written, math)
    return GeneratedCode(source, name, {key: program.count for key, program in programs.items()})


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


C_NOTES = """\
Compile it, or include it where it is used after `#define {upper}_LINKAGE static inline`. It needs nothing but
<math.h>; it allocates nothing, branches nowhere and keeps no state.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
Results may overlap arguments. M is symmetric, {n} x {n}. T is T_base_flange, 16 numbers, column-major as Franka's
O_T_EE: its element in row i and column j is T[4*j + i], counted from 0."""
PYTHON_NOTES = """\
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
M is symmetric, {n} x {n}. T is T_base_flange, 4 x 4."""
OF_NUMBERS = (
    "It needs nothing but math; arguments are sequences of {n} numbers, results are lists, matrices lists of rows."
)
OF_ARRAYS = """\
Arguments are sequences of {n} numbers or arrays: an array of shape ({n}, ..) is many states at once. Results are lists,
matrices lists of rows, with an entry of the states' shape each; entries that do not depend on the state are numbers."""
STATE = "direction of dry friction in [-1, 1], moved along the way to q: once for each sample, from zeros at first"
TORQUES = "friction torques, beside those of the rigid bodies; s: of friction_state"


class Written(NamedTuple):
    """A function as it is written, but for its language.

    arguments: arrays of n numbers; the result may be one of them, which is then moved on in place.
    entries: texts of the result's, in rows of `width`, or 0. statements: pairs of a new name and the text of its value.
    unpacked: those entries of arguments that have names, `q1`; None where they are used as `q[0]`.
    """

    comment: str
    name: str
    arguments: tuple[str, ...]
    result: str
    entries: tuple[str, ...]
    width: int = 0
    statements: tuple[tuple[str, str], ...] = ()
    unpacked: frozenset[str] | None = None


def _function(key: str, program: Program, n: int) -> Written:
    known, count = FUNCTIONS[key], program.count
    comment = f"{known.summary}: {count.multiplications} multiplications, {count.additions} additions"
    width = {"tau": 0, "M": n, "T": 4}[known.result]
    as_written = program.results, width, program.statements, program.inputs
    return Written(comment, key, known.arguments, known.result, *as_written)


def _friction_functions(table: FloatArray, limited: str) -> list[Written]:
    """Of a `Friction.table`; `limited` is how the language limits {} to [-1, 1]."""
    moved = (limited.format(f"s[{i}] + (q[{i}] - q_before[{i}]) / {PRESLIDING!r}") for i in range(len(table)))
    sums = (_friction_of_joint(row, f"dq[{i}]", f"s[{i}]") for i, row in enumerate(table.tolist()))
    return [
        Written(STATE, "friction_state", ("q_before", "q", "s"), "s", tuple(moved)),
        Written(TORQUES, FRICTION, ("dq", "s"), "tau", tuple(sums)),
    ]


def _friction_of_joint(row: list[float], dq: str, s: str) -> str:
    """The equation of `robot.friction`, in C as in Python, without its absent terms."""
    viscous, coulomb, offset, _, amplitude, slope, shift, stribeck, velocity = row
    fading = f"{stribeck!r} * exp(-({dq} / {velocity!r}) * ({dq} / {velocity!r}))"
    dry = " + ".join([repr(coulomb)] * (coulomb != 0.0) + [fading] * (stribeck != 0.0))
    constant = offset - amplitude / (1.0 + numbers.exp(-slope * shift))
    terms = [
        *[f"{viscous!r} * {dq}"] * (viscous != 0.0),
        *[f"({dry}) * {s}"] * bool(dry),
        *[f"{amplitude!r} / (1.0 + exp({-slope!r} * ({dq} + {shift!r})))"] * (amplitude != 0.0),
        *[repr(constant)] * (constant != 0.0),
    ]
    return "\n        + ".join(terms) or "0.0"


def _c_source(name: str, n: int, notes: list[str], functions: list[Written]) -> str:
    """The file's text. Every global name begins with `name`."""
    upper = name.upper()
    signatures = []
    for each in functions:
        arguments = [f"const double {argument}[{n}]" for argument in each.arguments if argument != each.result]
        arguments.append(f"double {each.result}[{len(each.entries)}]")
        signatures.append(f"{upper}_LINKAGE void {name}_{each.name}({', '.join(arguments)})")
    lines = [
        "/*",
        *(f" * {line}".rstrip() for line in [*notes, "", *C_NOTES.format(upper=upper, n=n).splitlines()]),
        " */",
        *("#include <math.h>", "", f"#ifndef {upper}_LINKAGE", f"#define {upper}_LINKAGE", "#endif", ""),
        *("#ifdef __cplusplus", 'extern "C" {', "#endif", ""),
        *(f"{signature};" for signature in signatures),
    ]
    for each, signature in zip(functions, signatures, strict=True):
        lines += ["", f"/* {each.comment}. */", signature, "{", *(f"    {line}" for line in _c_body(n, each)), "}"]
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", ""])


def _c_body(n: int, function: Written) -> list[str]:
    body = []
    for argument in function.arguments:
        named = [i for i in range(n) if f"{argument}{i + 1}" in (function.unpacked or ())]
        used = any(f"{argument}[" in entry for entry in function.entries)
        body += [f"const double {argument}{i + 1} = {argument}[{i}];" for i in named]
        body += [] if named or used else [f"(void){argument};"]
    body += [f"const double {target} = {text};" for target, text in function.statements]
    width = function.width or 1
    for place, text in enumerate(function.entries):  # a matrix is written by columns
        row, column = divmod(place, width)
        body.append(f"{function.result}[{column * (len(function.entries) // width) + row}] = {text};")
    return body


def _python_source(name: str, n: int, notes: list[str], functions: list[Written], module: str) -> str:
    """The file's text. Every function's name begins with `name`; `module` is where sin, cos and exp are from."""
    plain, friction = module == "math", any(each.name == FRICTION for each in functions)
    head = [*notes, "", *f"{OF_NUMBERS if plain else OF_ARRAYS}\n{PYTHON_NOTES}".format(n=n).splitlines()]
    imported = ["clip"] * (friction and not plain) + ["cos"] + ["exp"] * friction + ["sin"]
    lines = [*(f"# {line}".rstrip() for line in head), "", f"from {module} import {', '.join(imported)}"]
    for each in functions:
        comment = each.comment if each.unpacked is not None else f"{each.result}: {each.comment}"
        lines += ["", "", f"def {name}_{each.name}({', '.join(each.arguments)}):", f'    """{comment}."""']
        lines += [f"    {line}" for line in _python_body(n, each)]
    return "\n".join([*lines, ""])


def _python_body(n: int, function: Written) -> list[str]:
    arguments = function.arguments if function.unpacked is not None else ()
    body = [f"{', '.join(f'{argument}{i + 1}' for i in range(n))}, = {argument}" for argument in arguments]
    body += [f"{target} = {text}" for target, text in function.statements]
    entries = [f"{text}," for text in function.entries]
    if function.width:
        rows = (entries[first : first + function.width] for first in range(0, len(entries), function.width))
        entries = [line for row in rows for line in ("[", *(f"    {text}" for text in row), "],")]
    return [*body, "return [", *(f"    {entry}" for entry in entries), "]"]
