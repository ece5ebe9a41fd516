# SPDX-License-Identifier: Apache-2.0
"""Generated functions as one file: C99 that is also C++, for a real-time loop, or Python with its standard library."""

from __future__ import annotations

import math
from collections.abc import Mapping

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen.functions import Function
from panda_dynamics_ros.codegen.program import Program
from panda_dynamics_ros.robot.friction import PRESLIDING

C_NOTES = """\
Compile it, or include it where it is used after `#define {upper}_LINKAGE static inline`. It needs nothing but
<math.h>; it allocates nothing, branches nowhere and keeps no state.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
Results may overlap arguments. M is symmetric, {n} x {n}. T is T_base_flange, 16 numbers, column-major as Franka's
O_T_EE: its element in row i and column j is T[4*j + i], counted from 0."""


def c_source(
    name: str,
    n: int,
    notes: list[str],
    written: Mapping[str, tuple[Function, Program]],
    friction: FloatArray | None = None,
) -> str:
    """The file's text. Every global name begins with `name`. friction: a `Friction.table`, for its functions."""
    upper = name.upper()
    header = [*notes, "", *C_NOTES.format(upper=upper, n=n).splitlines()]
    prototypes = [f"{_c_signature(name, n, key, function)};" for key, (function, _) in written.items()]
    if friction is not None:
        prototypes += [f"{signature};" for signature in _c_friction_signatures(name, n)]
    lines = [
        "/*",
        *(f" * {line}".rstrip() for line in header),
        " */",
        "#include <math.h>",
        "",
        f"#ifndef {upper}_LINKAGE",
        f"#define {upper}_LINKAGE",
        "#endif",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *prototypes,
    ]
    for key, (function, program) in written.items():
        lines += ["", *_c_definition(name, n, key, function, program)]
    lines += _c_friction(name, n, friction) if friction is not None else []
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", ""])


def _c_signature(name: str, n: int, key: str, function: Function) -> str:
    arguments = ", ".join(f"const double {argument}[{n}]" for argument in function.arguments)
    return f"{name.upper()}_LINKAGE void {name}_{key}({arguments}, double {function.result}[{_size(n, function)}])"


STATE = "direction of dry friction in [-1, 1], moved along the way to q: once for each sample, from zeros at first"
TORQUES = "friction torques, beside those of the rigid bodies; s: of friction_state"


def _c_friction_signatures(name: str, n: int) -> tuple[str, str]:
    linkage = f"{name.upper()}_LINKAGE void {name}"
    return (
        f"{linkage}_friction_state(const double q_before[{n}], const double q[{n}], double s[{n}])",
        f"{linkage}_friction_torques(const double dq[{n}], const double s[{n}], double tau[{n}])",
    )


def _c_friction(name: str, n: int, friction: FloatArray) -> list[str]:
    state, torques = _c_friction_signatures(name, n)
    moved = [
        f"    s[{i}] = fmin(fmax(s[{i}] + (q[{i}] - q_before[{i}]) / {PRESLIDING!r}, -1.0), 1.0);" for i in range(n)
    ]
    values = [_friction_of_joint(row, f"dq[{i}]", f"s[{i}]") for i, row in enumerate(friction.tolist())]
    sums = [f"    tau[{i}] = {value};" for i, value in enumerate(values)]
    ignored = [f"    (void){argument};" for argument in ("dq", "s") if not any(f"{argument}[" in v for v in values)]
    return ["", f"/* {STATE}. */", state, "{", *moved, "}", "", f"/* {TORQUES}. */", torques, "{", *ignored, *sums, "}"]


def _friction_of_joint(row: list[float], dq: str, s: str) -> str:
    """The equation of `robot.friction`, in C as in Python, without its absent terms."""
    viscous, coulomb, offset, _, amplitude, slope, shift, stribeck, velocity = row
    fading = f"{stribeck!r} * exp(-({dq} / {velocity!r}) * ({dq} / {velocity!r}))"
    dry = " + ".join([repr(coulomb)] * (coulomb != 0.0) + [fading] * (stribeck != 0.0))
    constant = offset - amplitude / (1.0 + math.exp(-slope * shift))
    terms = [
        *[f"{viscous!r} * {dq}"] * (viscous != 0.0),
        *[f"({dry}) * {s}"] * bool(dry),
        *[f"{amplitude!r} / (1.0 + exp({-slope!r} * ({dq} + {shift!r})))"] * (amplitude != 0.0),
        *[repr(constant)] * (constant != 0.0),
    ]
    return "\n        + ".join(terms) or "0.0"


def _size(n: int, function: Function) -> int:
    return {"tau": n, "M": n * n, "T": 16}[function.result]


def _c_definition(name: str, n: int, key: str, function: Function, program: Program) -> list[str]:
    count = program.count
    lines = [
        f"/* {function.summary}: {count.multiplications} multiplications, {count.additions} additions. */",
        _c_signature(name, n, key, function),
        "{",
    ]
    for argument in function.arguments:
        used = [i for i in range(n) if f"{argument}{i + 1}" in program.inputs]
        lines += [f"    const double {argument}{i + 1} = {argument}[{i}];" for i in used]
        lines += [] if used else [f"    (void){argument};"]
    lines += [f"    const double {target} = {text};" for target, text in program.statements]
    # A matrix is written by columns; of the symmetric one that makes no difference.
    width = {"tau": 1, "M": n, "T": 4}[function.result]
    for place, text in enumerate(program.results):
        row, column = divmod(place, width)
        index = column * width + row if function.square else place
        lines.append(f"    {function.result}[{index}] = {text};")
    return [*lines, "}"]


PYTHON_NOTES = """\
It needs nothing but math; arguments are sequences of {n} numbers, results are lists, matrices lists of rows.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
M is symmetric, {n} x {n}. T is T_base_flange, 4 x 4."""


ARRAY_NOTES = """\
Arguments are sequences of {n} numbers or arrays: an array of shape ({n}, ..) is many states at once. Results are lists,
matrices lists of rows, with an entry of the states' shape each; entries that do not depend on the state are numbers.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
M is symmetric, {n} x {n}. T is T_base_flange, 4 x 4."""


def python_source(
    name: str,
    n: int,
    notes: list[str],
    written: Mapping[str, tuple[Function, Program]],
    friction: FloatArray | None = None,
    module: str = "math",
) -> str:
    """The file's text. Every function's name begins with `name`; `module` is where sin, cos and exp are from."""
    python_notes = PYTHON_NOTES if module == "math" else ARRAY_NOTES
    header = [*notes, "", *python_notes.format(n=n).splitlines()]
    lines = [
        *(f"# {line}".rstrip() for line in header),
        "",
        f"from {module} import {', '.join(_imports(module, friction))}",
    ]
    for key, (function, program) in written.items():
        lines += ["", "", *_python_definition(name, n, key, function, program)]
    lines += _python_friction(name, n, friction, module) if friction is not None else []
    return "\n".join([*lines, ""])


def _imports(module: str, friction: FloatArray | None) -> list[str]:
    if friction is None:
        return ["cos", "sin"]
    return ["cos", "exp", "sin"] if module == "math" else ["clip", "cos", "exp", "sin"]


def _python_friction(name: str, n: int, friction: FloatArray, module: str) -> list[str]:
    limited = "max(-1.0, min(1.0, {}))" if module == "math" else "clip({}, -1.0, 1.0)"
    moved = [limited.format(f"s[{i}] + (q[{i}] - q_before[{i}]) / {PRESLIDING!r}") for i in range(n)]
    sums = [_friction_of_joint(row, f"dq[{i}]", f"s[{i}]") for i, row in enumerate(friction.tolist())]
    return [
        *("", "", f"def {name}_friction_state(q_before, q, s):", f'    """s: {STATE}."""', "    return ["),
        *(f"        {entry}," for entry in moved),
        *("    ]", "", "", f"def {name}_friction_torques(dq, s):", f'    """tau: {TORQUES}."""', "    return ["),
        *(f"        {entry}," for entry in sums),
        "    ]",
    ]


def _python_definition(name: str, n: int, key: str, function: Function, program: Program) -> list[str]:
    count = program.count
    counted = f"{count.multiplications} multiplications, {count.additions} additions"
    lines = [
        f"def {name}_{key}({', '.join(function.arguments)}):",
        f'    """{function.result}: {function.summary} ({counted})."""',
    ]
    lines += [f"    {_names(argument, n)} = {argument}" for argument in function.arguments]
    lines += [f"    {target} = {text}" for target, text in program.statements]
    rows = {"tau": 1, "M": n, "T": 4}[function.result]
    width = len(program.results) // rows
    lists = [_list(program.results[row * width : (row + 1) * width]) for row in range(rows)]
    if not function.square:
        return [*lines, f"    return {lists[0]}"]
    return [*lines, "    return [", *(f"        {row}," for row in lists), "    ]"]


def _names(argument: str, n: int) -> str:
    """The argument's entries as names to unpack it into."""
    return ", ".join(f"{argument}{i + 1}" for i in range(n)) + "," * (n == 1)


def _list(texts: tuple[str, ...]) -> str:
    one_line = f"[{', '.join(texts)}]"
    return one_line if len(one_line) < 100 else "[\n" + "".join(f"        {text},\n" for text in texts) + "    ]"
