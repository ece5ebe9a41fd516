# SPDX-License-Identifier: Apache-2.0
"""Generated functions as one Python file that needs nothing but the standard library."""

from __future__ import annotations

from collections.abc import Mapping

from panda_dynamics_ros.codegen.functions import Function
from panda_dynamics_ros.codegen.program import Program

NOTES = """\
It needs nothing but math; arguments are sequences of {n} numbers, results are lists, matrices lists of rows.
q, dq, ddq: joint position, velocity and acceleration, rad and seconds (m where a joint slides); tau: N m (N).
M is symmetric, {n} x {n}. T is T_base_flange, 4 x 4."""


def python_source(name: str, n: int, notes: list[str], written: Mapping[str, tuple[Function, Program]]) -> str:
    """The file's text. Every function's name begins with `name`."""
    header = [*notes, "", *NOTES.format(n=n).splitlines()]
    lines = [*(f"# {line}".rstrip() for line in header), "", "from math import cos, sin"]
    for key, (function, program) in written.items():
        lines += ["", "", *_definition(name, n, key, function, program)]
    return "\n".join([*lines, ""])


def _definition(name: str, n: int, key: str, function: Function, program: Program) -> list[str]:
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
