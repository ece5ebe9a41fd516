# SPDX-License-Identifier: Apache-2.0
"""Generated functions as one C99 file, which is also C++, for use inside a real-time loop."""

from __future__ import annotations

from collections.abc import Mapping

from panda_dynamics_ros.codegen.functions import Function
from panda_dynamics_ros.codegen.program import Program

NOTES = """\
Compile it, or include it where it is used after `#define {upper}_LINKAGE static inline`. It needs nothing but
sin and cos; it allocates nothing, branches nowhere and keeps no state.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
Results may overlap arguments. M is symmetric, {n} x {n}. T is T_base_flange, 16 numbers, column-major as Franka's
O_T_EE: its element in row i and column j is T[4*j + i], counted from 0."""


def c_source(name: str, n: int, notes: list[str], written: Mapping[str, tuple[Function, Program]]) -> str:
    """The file's text. Every global name begins with `name`."""
    upper = name.upper()
    header = [*notes, "", *NOTES.format(upper=upper, n=n).splitlines()]
    prototypes = [f"{_signature(name, n, key, function)};" for key, (function, _) in written.items()]
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
        lines += ["", *_definition(name, n, key, function, program)]
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", ""])


def _signature(name: str, n: int, key: str, function: Function) -> str:
    arguments = ", ".join(f"const double {argument}[{n}]" for argument in function.arguments)
    return f"{name.upper()}_LINKAGE void {name}_{key}({arguments}, double {function.result}[{_size(n, function)}])"


def _size(n: int, function: Function) -> int:
    return {"tau": n, "M": n * n, "T": 16}[function.result]


def _definition(name: str, n: int, key: str, function: Function, program: Program) -> list[str]:
    count = program.count
    lines = [
        f"/* {function.summary}: {count.multiplications} multiplications, {count.additions} additions. */",
        _signature(name, n, key, function),
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
