# SPDX-License-Identifier: Apache-2.0
"""Stand-alone source code of a robot's dynamics, customised to its parameters (Gautier and Khalil 1988, section 11).

One file: C99 that is also C++, for a real-time loop, or Python with its standard library.
"""

import math as numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
    notes = _notes(robot, programs)
    friction = robot.friction.table if FRICTION in wanted else None
    if language == "c":
        source = _c_source(name, robot.n, notes, programs, friction)
    else:
        source = _python_source(name, robot.n, notes, programs, friction, math)
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

Written = list[tuple[str, str, list[str]]]  # functions as comment, signature and lines of their body


def _c_source(name: str, n: int, notes: list[str], programs: Mapping[str, Program], friction: FloatArray | None) -> str:
    """The file's text. Every global name begins with `name`. friction: a `Friction.table`, for its functions."""
    upper = name.upper()
    functions = [_c_function(n, key, program) for key, program in programs.items()]
    functions += [] if friction is None else _c_friction(n, friction)
    signatures = [f"{upper}_LINKAGE void {name}_{signature}" for _, signature, _ in functions]
    lines = [
        "/*",
        *(f" * {line}".rstrip() for line in [*notes, "", *C_NOTES.format(upper=upper, n=n).splitlines()]),
        " */",
        *("#include <math.h>", "", f"#ifndef {upper}_LINKAGE", f"#define {upper}_LINKAGE", "#endif", ""),
        *("#ifdef __cplusplus", 'extern "C" {', "#endif", ""),
        *(f"{signature};" for signature in signatures),
    ]
    for (comment, _, body), signature in zip(functions, signatures, strict=True):
        lines += ["", f"/* {comment}. */", signature, "{", *(f"    {line}" for line in body), "}"]
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", ""])


def _c_function(n: int, key: str, program: Program) -> tuple[str, str, list[str]]:
    function, body = FUNCTIONS[key], []
    for argument in function.arguments:
        used = [i for i in range(n) if f"{argument}{i + 1}" in program.inputs]
        body += [f"const double {argument}{i + 1} = {argument}[{i}];" for i in used] or [f"(void){argument};"]
    body += [f"const double {target} = {text};" for target, text in program.statements]
    # A matrix is written by columns; of the symmetric one that makes no difference.
    size, width = {"tau": (n, 1), "M": (n * n, n), "T": (16, 4)}[function.result]
    for place, text in enumerate(program.results):
        row, column = divmod(place, width)
        body.append(f"{function.result}[{column * width + row if function.square else place}] = {text};")
    arguments = ", ".join(f"const double {argument}[{n}]" for argument in function.arguments)
    return _counted(key, program), f"{key}({arguments}, double {function.result}[{size}])", body


def _counted(key: str, program: Program) -> str:
    count = program.count
    return f"{FUNCTIONS[key].summary}: {count.multiplications} multiplications, {count.additions} additions"


def _c_friction(n: int, friction: FloatArray) -> Written:
    moved, sums = _friction_entries(n, friction, "fmin(fmax({}, -1.0), 1.0)")
    ignored = [f"(void){argument};" for argument in ("dq", "s") if not any(f"{argument}[" in each for each in sums)]
    state = f"friction_state(const double q_before[{n}], const double q[{n}], double s[{n}])"
    torques = f"friction_torques(const double dq[{n}], const double s[{n}], double tau[{n}])"
    return [
        (STATE, state, [f"s[{i}] = {entry};" for i, entry in enumerate(moved)]),
        (TORQUES, torques, [*ignored, *(f"tau[{i}] = {entry};" for i, entry in enumerate(sums))]),
    ]


def _friction_entries(n: int, friction: FloatArray, limited: str) -> tuple[list[str], list[str]]:
    """The entries of s and of tau; `limited` is how the language limits {} to [-1, 1]."""
    moved = [limited.format(f"s[{i}] + (q[{i}] - q_before[{i}]) / {PRESLIDING!r}") for i in range(n)]
    return moved, [_friction_of_joint(row, f"dq[{i}]", f"s[{i}]") for i, row in enumerate(friction.tolist())]


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


def _python_source(
    name: str, n: int, notes: list[str], programs: Mapping[str, Program], friction: FloatArray | None, module: str
) -> str:
    """The file's text. Every function's name begins with `name`; `module` is where sin, cos and exp are from."""
    plain = module == "math"
    head = [*notes, "", *f"{OF_NUMBERS if plain else OF_ARRAYS}\n{PYTHON_NOTES}".format(n=n).splitlines()]
    functions = [_python_function(n, key, program) for key, program in programs.items()]
    imported = ["cos", "sin"]
    if friction is not None:
        functions += _python_friction(n, friction, "max(-1.0, min(1.0, {}))" if plain else "clip({}, -1.0, 1.0)")
        imported += ["exp"] if plain else ["exp", "clip"]
    lines = [*(f"# {line}".rstrip() for line in head), "", f"from {module} import {', '.join(sorted(imported))}"]
    for comment, signature, body in functions:
        lines += ["", "", f"def {name}_{signature}:", f'    """{comment}."""', *(f"    {line}" for line in body)]
    return "\n".join([*lines, ""])


def _python_function(n: int, key: str, program: Program) -> tuple[str, str, list[str]]:
    function = FUNCTIONS[key]
    body = [f"{', '.join(f'{argument}{i + 1}' for i in range(n))}, = {argument}" for argument in function.arguments]
    body += [f"{target} = {text}" for target, text in program.statements]
    if function.square:
        width = 4 if function.result == "T" else n
        rows = [program.results[first : first + width] for first in range(0, len(program.results), width)]
        entries = [line for row in rows for line in ("[", *(f"    {text}," for text in row), "],")]
    else:
        entries = [f"{text}," for text in program.results]
    return _counted(key, program), f"{key}({', '.join(function.arguments)})", [*body, *_returned(entries)]


def _returned(entries: list[str]) -> list[str]:
    return ["return [", *(f"    {entry}" for entry in entries), "]"]


def _python_friction(n: int, friction: FloatArray, limited: str) -> Written:
    moved, sums = ([f"{entry}," for entry in entries] for entries in _friction_entries(n, friction, limited))
    return [
        (f"s: {STATE}", "friction_state(q_before, q, s)", _returned(moved)),
        (f"tau: {TORQUES}", "friction_torques(dq, s)", _returned(sums)),
    ]
