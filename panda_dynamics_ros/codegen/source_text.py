# SPDX-License-Identifier: Apache-2.0
"""Generated functions as one file: C99 that is also C++, for a real-time loop, or Python with its standard library."""

from __future__ import annotations

from collections.abc import Mapping

from panda_dynamics_ros.codegen.functions import Function
from panda_dynamics_ros.codegen.program import Program

C_NOTES = """\
Compile it, or include it where it is used after `#define {upper}_LINKAGE static inline`. It needs nothing but
sin and cos; it allocates nothing, branches nowhere and keeps no state.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
Results may overlap arguments. M is symmetric, {n} x {n}. T is T_base_flange, 16 numbers, column-major as Franka's
O_T_EE: its element in row i and column j is T[4*j + i], counted from 0."""


def c_source(name: str, n: int, notes: list[str], written: Mapping[str, tuple[Function, Program]]) -> str:
    """The file's text. Every global name begins with `name`."""
    upper = name.upper()
    header = [*notes, "", *C_NOTES.format(upper=upper, n=n).splitlines()]
    prototypes = [f"{_c_signature(name, n, key, function)};" for key, (function, _) in written.items()]
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
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", ""])


def _c_signature(name: str, n: int, key: str, function: Function) -> str:
    arguments = ", ".join(f"const double {argument}[{n}]" for argument in function.arguments)
    return f"{name.upper()}_LINKAGE void {name}_{key}({arguments}, double {function.result}[{_size(n, function)}])"


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
    name: str, n: int, notes: list[str], written: Mapping[str, tuple[Function, Program]], math: str = "math"
) -> str:
    """The file's text. Every function's name begins with `name`; `math` is the module that has sin and cos."""
    python_notes = PYTHON_NOTES if math == "math" else ARRAY_NOTES
    header = [*notes, "", *python_notes.format(n=n).splitlines()]
    lines = [*(f"# {line}".rstrip() for line in header), "", f"from {math} import cos, sin"]
    for key, (function, program) in written.items():
        lines += ["", "", *_python_definition(name, n, key, function, program)]
    return "\n".join([*lines, ""])


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
