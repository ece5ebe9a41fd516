# SPDX-License-Identifier: Apache-2.0
"""Generated source brought to life: C through the system's compiler and ctypes, Python through exec."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from arms import States

from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen import FUNCTIONS, GeneratedCode, generate

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
Call = Callable[..., FloatArray]


def compiler(*names: str) -> str:
    """The first of these programs that is there; skips the test where none is."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no compiler: none of {', '.join(names)} is on this machine")
    return found


def compiled(code: GeneratedCode, folder: Path, *options: str) -> ctypes.CDLL:
    """The generated C as a library."""
    source, library = folder / f"{code.name}.c", folder / f"{code.name}.so"
    source.write_text(code.source, encoding="utf-8")
    command = [compiler("cc", "gcc", "clang"), "-std=c99", "-O1", *WARNINGS, *options, "-shared", "-fPIC"]
    done = subprocess.run([*command, str(source), "-o", str(library), "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def c_functions(robot: RobotModel, folder: Path) -> dict[str, Call]:
    """Functions of the generated C, over rows of states, in this package's shapes."""
    code = generate(robot, "c", name="arm")
    library = compiled(code, folder)
    return {key: _over_rows(library, f"{code.name}_{key}", robot.n, key) for key in FUNCTIONS}


def _over_rows(library: ctypes.CDLL, name: str, n: int, key: str) -> Call:
    function = getattr(library, name)
    function.restype = None
    size = {"mass_matrix": n * n, "pose": 16}.get(key, n)

    def call(*arguments: FloatArray) -> FloatArray:
        results = np.empty((len(arguments[0]), size))
        arguments = tuple(np.ascontiguousarray(argument) for argument in arguments)
        for k in range(len(results)):
            function(*(ctypes.c_void_p(array.ctypes.data + 8 * array.shape[1] * k) for array in (*arguments, results)))
        if key == "pose":
            return results.reshape(-1, 4, 4).swapaxes(-1, -2)  # column-major
        return results.reshape(-1, n, n) if key == "mass_matrix" else results

    return call


def python_functions(robot: RobotModel) -> dict[str, Call]:
    """Functions of the generated Python, over rows of states."""
    code = generate(robot, "python", name="arm")
    names: dict[str, Callable[..., list[float]]] = {}
    exec(code.source, names)

    def over_rows(function: Callable[..., list[float]]) -> Call:
        return lambda *arguments: np.array([function(*rows) for rows in zip(*arguments, strict=True)])

    return {key: over_rows(names[f"arm_{key}"]) for key in FUNCTIONS}


def of_the_package(robot: RobotModel, states: States) -> dict[str, tuple[tuple[FloatArray, ...], FloatArray]]:
    """Arguments and result of each function as the package has them."""
    q, dq, ddq = states
    return {
        "gravity_torques": ((q,), robot.gravity_torques(q)),
        "coriolis_torques": ((q, dq), robot.coriolis_torques(q, dq)),
        "inverse_dynamics": ((q, dq, ddq), robot.inverse_dynamics(q, dq, ddq)),
        "mass_matrix": ((q,), robot.mass_matrix(q)),
        "pose": ((q,), robot.pose(q)),
    }
