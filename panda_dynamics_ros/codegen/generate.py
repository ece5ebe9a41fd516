# SPDX-License-Identifier: Apache-2.0
"""Stand-alone source code of a robot's dynamics, customised to its parameters (Gautier and Khalil 1988, section 11).

One file: C99 that is also C++, for a real-time loop, or Python with its standard library.
"""

import math as numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen.algorithms import FUNCTIONS
from panda_dynamics_ros.codegen.arm import arm_of
from panda_dynamics_ros.codegen.graph import OperationCount, program_of
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joints import PRESLIDING

FRICTION = "friction_torques"  # written with `friction_state`, its memory; not one of the rigid-body `FUNCTIONS`
LANGUAGES = ("c", "python")


class GeneratedCode(NamedTuple):
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

    Reference: Gautier and Khalil 1988, section 11 and table 1 (document 004): inverse dynamics of an arm of n
    revolute joints in modified DH frames takes at most 92 n - 127 multiplications and 81 n - 117 additions.
    """
    if language not in LANGUAGES:
        raise ArgumentError(f"language: expected one of {', '.join(LANGUAGES)}, got {language!r}")
    wanted = list(dict.fromkeys([functions] if isinstance(functions, str) else functions))
    known = (*FUNCTIONS, FRICTION)
    if (unknown := [key for key in wanted if key not in known]) or not wanted:
        raise ArgumentError(f"functions: expected some of {', '.join(known)}, got {unknown or 'none'}")
    if name is None:
        words = re.sub(r"\W+", "_", robot.name.lower(), flags=re.ASCII).strip("_")
        name = words if words[:1].isalpha() else f"arm_{words}".rstrip("_")
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ArgumentError(f"name: expected an identifier, got {name!r}")
    if not all(part.isidentifier() for part in math.split(".")) or (language != "python" and math != "math"):
        raise ArgumentError(f"math: expected the name of a module, for Python only, got {math!r} for {language}")
    written, counts = [], {}
    for key in wanted:
        if key == FRICTION:
            limited = {"c": "fmin(fmax({}, -1.0), 1.0)", "math": "max(-1.0, min(1.0, {}))"}
            how = limited.get("c" if language == "c" else math, "clip({}, -1.0, 1.0)")
            written += _friction_functions(robot.friction.table, how)
        else:
            function, counts[key] = _rigid_body_function(robot, key)
            written.append(function)
    notes = _notes(robot, counts)
    if language == "c":
        return GeneratedCode(_c_source(name, robot.n, notes, written), name, counts)
    return GeneratedCode(_python_source(name, robot.n, notes, written, math), name, counts)


def _notes(robot: RobotDescription, counts: Mapping[str, OperationCount]) -> list[str]:
    """What the file is, for its first lines; the robot's name comes from a file, and must not end the comment."""
    title = re.sub(r"[^\w .()-]", " ", robot.name)
    gravity = ", ".join(f"{value:.6g}" for value in robot.gravity)
    return [
        f"Dynamics of the arm {title!r} ({robot.n} joints), written by `panda-dynamics export`.",
        f"Gravity ({gravity}) m/s^2 in base axes. Operations of one call:",
        *(
            f"    {key:<17} {count.multiplications:4d} multiplications, {count.additions:4d} additions, "
            f"{count.trigonometric:3d} sines and cosines"
            for key, count in counts.items()
        ),
    ]


C_NOTES = """\
Compile it, or include it where it is used after `#define {upper}_LINKAGE static inline`. It needs nothing but
<math.h>; it allocates nothing, branches nowhere and keeps no state.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
Results may overlap arguments. M is symmetric, {n} x {n}. T is T_base_flange, 16 numbers, column-major as Franka's
O_T_EE: its element in row i and column j is T[4*j + i], counted from 0."""
PYTHON_NOTES = """\
It needs nothing but {module}. Arguments are sequences of {n} numbers; results are lists, matrices lists of rows.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
M is symmetric, {n} x {n}. T is T_base_flange, 4 x 4."""
OF_ARRAYS = "\nNumbers may be arrays, with an entry for each of many states; constant results are numbers."
STATE = "s: direction of dry friction in [-1, 1], moved along the way to q: once for each sample, from zeros at first"
TORQUES = "tau: friction torques, beside those of the rigid bodies; s: of friction_state"


class Written(NamedTuple):
    """A function as it is written, but for its language.

    arguments: arrays of n numbers, q1 .. qn in the texts. The result may be one of them, which then moves on in place.
    rows: texts of the result's entries. statements: pairs of a new name and the text of its value.
    """

    name: str
    comment: str
    arguments: tuple[str, ...]
    result: str
    rows: Sequence[Sequence[str]]
    statements: Sequence[tuple[str, str]] = ()


def _rigid_body_function(robot: RobotDescription, key: str) -> tuple[Written, OperationCount]:
    known, arm = FUNCTIONS[key], arm_of(robot)
    rows = known.rows(arm)
    statements, results, count = program_of(arm.graph, [*chain(*rows)])
    width = len(rows[0])
    texts = [results[first : first + width] for first in range(0, len(results), width)]
    comment = f"{known.summary}: {count.multiplications} multiplications, {count.additions} additions"
    return Written(key, comment, known.arguments, known.result, texts, statements), count


def _friction_functions(table: FloatArray, limited: str) -> list[Written]:
    """Of a `Friction.table`; `limited` is how the language limits {} to [-1, 1]."""
    joints = range(1, len(table) + 1)
    moved = [limited.format(f"s{i} + (q{i} - q_before{i}) / {PRESLIDING!r}") for i in joints]
    sums = [_friction_of_joint(row, f"dq{i}", f"s{i}") for i, row in zip(joints, table.tolist(), strict=True)]
    return [
        Written("friction_state", STATE, ("q_before", "q", "s"), "s", [moved]),
        Written(FRICTION, TORQUES, ("dq", "s"), "tau", [sums]),
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
        arguments.append(f"double {each.result}[{len(each.rows) * len(each.rows[0])}]")
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
    used = set(re.findall(r"\w+", " ".join([*chain(*function.rows), *(text for _, text in function.statements)])))
    body = []
    for argument in function.arguments:
        named = [i for i in range(n) if f"{argument}{i + 1}" in used]
        body += [f"const double {argument}{i + 1} = {argument}[{i}];" for i in named] or [f"(void){argument};"]
    body += [f"const double {target} = {text};" for target, text in function.statements]
    entries = chain(*zip(*function.rows, strict=True))  # by columns
    return body + [f"{function.result}[{place}] = {text};" for place, text in enumerate(entries)]


def _python_source(name: str, n: int, notes: list[str], functions: list[Written], module: str) -> str:
    """The file's text. Every function's name begins with `name`; `module` is where sin, cos and exp are from."""
    about = (PYTHON_NOTES + OF_ARRAYS * (module != "math")).format(n=n, module=module)
    lines = [f"# {line}".rstrip() for line in [*notes, "", *about.splitlines()]]
    lines += ["", f"from {module} import {'' if module == 'math' else 'clip, '}cos, exp, sin"]
    for each in functions:
        lines += ["", "", f"def {name}_{each.name}({', '.join(each.arguments)}):", f'    """{each.comment}."""']
        lines += [f"    {line}" for line in _python_body(n, each)]
    return "\n".join([*lines, ""])


def _python_body(n: int, function: Written) -> list[str]:
    body = [f"{', '.join(f'{argument}{i + 1}' for i in range(n))}, = {argument}" for argument in function.arguments]
    body += [f"{target} = {text}" for target, text in function.statements]
    if function.result.isupper():  # a matrix
        entries = [line for row in function.rows for line in ("[", *(f"    {text}," for text in row), "],")]
    else:
        entries = [f"{text}," for text in function.rows[0]]
    return [*body, "return [", *(f"    {entry}" for entry in entries), "]"]
