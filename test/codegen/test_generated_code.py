# SPDX-License-Identifier: Apache-2.0
"""Generated C and Python, compiled and executed, against the package, which is checked against others elsewhere."""

import ctypes
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import States, chain, random_body, random_chain, random_states, transform
from oracles import assert_agrees
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.codegen import FUNCTIONS, GeneratedCode, generate
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.joints import PRESLIDING, Friction
from panda_dynamics_ros.robot.yaml_file import modified_dh

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
    ran([*command, source, "-o", library, "-lm"])
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


# Required: 1e-12 of the largest entry. Seen: 5e-15 for the library's arms, 1e-13 where frames are oblique.
TOLERANCE = 1e-12
ARMS = ["panda", "panda_ledezma", "fr3", "panda with payload", "chain", "slides", "turn", "slide", "weightless"]


def arm_named(name: str) -> pdr.RobotModel:
    rng = np.random.default_rng(60)
    if name in ("panda", "panda_ledezma", "fr3"):
        return pdr.load_robot(name)
    if name == "panda with payload":
        return pdr.load_robot("panda").with_payload(random_body(rng, size=0.05))
    if name == "chain":  # turning and sliding at arbitrary placements, under gravity from anywhere
        return random_chain(6, seed=61)
    if name == "slides":  # right angles, an axis parallel to the one before, two slides
        geometry = [(0.0, 0.3, 0.0, 0.0), (0.2, 0.0, 0.0, 0.4), (0.0, 0.1, -np.pi / 2, np.pi / 2), (0.3, 0.0, 0.0, 0.7)]
        placements = np.array([modified_dh(*row) for row in geometry])
        return chain(placements, (False, True, False, True), tuple(random_body(rng) for _ in range(4)))
    one = chain(
        transform(rng.normal(size=3), rng.normal(size=3))[None], (name == "slide",), (random_body(rng),),
        T_joint_flange=transform(rng.normal(size=3), rng.normal(size=3)),
    )  # fmt: skip
    return replace(one, gravity=np.zeros(3)) if name == "weightless" else one


@pytest.mark.parametrize("name", ARMS)
def test_c_agrees_with_the_package(name, tmp_path):
    """Compiled as C99 with every warning an error."""
    robot = arm_named(name)
    functions = c_functions(robot, tmp_path)
    for key, (arguments, want) in of_the_package(robot, random_states(robot, np.random.default_rng(62))).items():
        assert_agrees(functions[key](*arguments), want, TOLERANCE, axes=want.ndim - 1)


@pytest.mark.parametrize("seed", range(25))
def test_any_chain(seed):
    """Turning and sliding, at right angles, nearly right ones, their rounding, and anywhere: through Python."""
    rng = np.random.default_rng([64, seed])
    n = int(rng.integers(1, 8))
    angles, lengths = [0.0, np.pi / 2, -np.pi / 2, np.pi, 0.7, 1e-4, np.pi / 2 + 1e-5], [0.0, 0.0, 0.3, -0.2]
    placements = [
        modified_dh(rng.choice(lengths), rng.choice(lengths), rng.choice(angles), rng.choice(angles))
        if rng.random() < 0.7
        else transform(rng.choice([1.0, 1e-14]) * rng.normal(size=3), rng.normal(size=3))
        for _ in range(n)
    ]
    robot = chain(
        np.array(placements),
        tuple(bool(sliding) for sliding in rng.random(n) < 0.3),
        tuple(random_body(rng) for _ in range(n)),
        gravity=[(0.0, 0.0, -9.81), (0.0, 9.81, 0.0), (3.0, 4.0, 5.0)][seed % 3],
        T_joint_flange=transform(rng.normal(size=3), rng.normal(size=3)),
    )
    functions = python_functions(robot)
    for key, (arguments, want) in of_the_package(robot, random_states(robot, rng, samples=20)).items():
        # Nearly parallel axes cost a digit or two: terms that almost cancel.
        assert_agrees(functions[key](*arguments), want, 100 * TOLERANCE, axes=want.ndim - 1)


def friction_arms() -> list[pdr.RobotModel]:
    """The sigmoid of the Panda; each term; some terms at some joints; none."""
    panda, rng = pdr.load_robot("panda"), np.random.default_rng(67)
    whole = Friction(*(rng.uniform(0.1, 1.0, 7) for _ in range(9)))
    some = replace(whole, **{key: np.arange(7) % 2 * getattr(whole, key) for key in ("coulomb", "stribeck", "viscous")})
    return [panda, replace(panda, friction=whole), replace(panda, friction=some), pdr.load_robot("fr3")]


@pytest.mark.parametrize("arm", range(4))
@pytest.mark.parametrize("language", ["c", "python", "numpy"])
def test_friction_keeps_its_state_as_the_package_does(arm, language, tmp_path):
    robot, rng = friction_arms()[arm], np.random.default_rng(68)
    q, dq = np.cumsum(1e-3 * rng.standard_normal((200, 7)), axis=0), rng.standard_normal((200, 7))
    memory, s, found, want = np.zeros(7), np.zeros(7), [], []
    if language == "c":
        library, doubles = compiled(generate(robot, name="arm"), tmp_path), ctypes.c_double * 7
    else:
        names: dict[str, Any] = {}
        exec(generate(robot, "python", name="arm", math={"python": "math"}.get(language, language)).source, names)
    for before, now, speed in zip(np.vstack([q[:1], q[:-1]]), q, dq, strict=True):
        if language == "c":
            state, tau = doubles(*s), doubles()
            library.arm_friction_state(doubles(*before), doubles(*now), state)
            library.arm_friction_torques(doubles(*speed), state, tau)
            s, torques = np.array(state), np.array(tau)
        else:
            s = np.array(names["arm_friction_state"](before, now, s))
            torques = np.array(names["arm_friction_torques"](speed, s))
        found.append(torques)
        memory = np.clip(memory + (now - before) / PRESLIDING, -1.0, 1.0)
        want.append(robot.friction_torques(speed, memory))
    np.testing.assert_allclose(found, want, rtol=0.0, atol=1e-12)  # sums of a few terms of some N m


def test_small_angles_are_kept():
    """The cosine of 1e-6 is 1 - 5e-13: not a rounded 1. Seven of them are in the pose to the last digits."""
    placements = np.array([modified_dh(0.1, 0.3, 1e-6, 0.0)] * 7)
    rng = np.random.default_rng(66)
    robot = chain(placements, (False,) * 7, tuple(random_body(rng) for _ in range(7)))
    q = random_states(robot, rng, samples=20).q
    assert_agrees(python_functions(robot)["pose"](q), robot.pose(q), 1e-14, axes=2)


def test_results_may_overlap_arguments(panda, tmp_path):
    library = compiled(generate(panda), tmp_path)
    q, dq, ddq = (row[0] for row in random_states(panda, np.random.default_rng(65), samples=1))
    want = panda.inverse_dynamics(q, dq, ddq)
    arrays = [(ctypes.c_double * 7)(*row) for row in (q, dq, ddq)]
    library.panda_inverse_dynamics(*arrays, arrays[0])
    assert_agrees(np.array(arrays[0]), want, TOLERANCE)


def test_it_may_be_included_in_cpp(panda, tmp_path):
    """As a header with internal linkage, of which a program uses a part."""
    (tmp_path / "panda.c").write_text(generate(panda).source, encoding="utf-8")
    program = """
        #include <cstdio>
        #define PANDA_LINKAGE static inline
        #include "panda.c"
        int main() {
            const double q[7] = {0, -0.785, 0, -2.356, 0, 1.571, 0.785};
            double T[16];
            panda_pose(q, T);
            std::printf("%.17g %.17g %.17g\\n", T[12], T[13], T[14]);
        }"""
    (tmp_path / "main.cpp").write_text(program, encoding="utf-8")
    ran([compiler("c++", "g++", "clang++"), *WARNINGS, "main.cpp", "-o", "main"], cwd=tmp_path)
    printed = ran(["./main"], cwd=tmp_path).stdout
    want = panda.pose([0, -0.785, 0, -2.356, 0, 1.571, 0.785])[:3, 3]
    assert_agrees(np.array([float(word) for word in printed.split()]), want, TOLERANCE)


def test_all_global_names_carry_the_robot_s(panda, tmp_path):
    named = replace(panda, name='7-axis */ Arm "No. 1"')
    code = generate(named)
    assert code.name == "arm_7_axis_arm_no_1"
    library = compiled(code, tmp_path)
    assert all(hasattr(library, f"{code.name}_{key}") for key in FUNCTIONS)
    exec(generate(named, "python").source, {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": "rust"}, "language: expected one of c, python, got 'rust'"),
        ({"functions": ["pose", "jump"]}, r"functions: expected some of gravity_torques, .*, got \['jump'\]"),
        ({"functions": []}, "functions: expected some of .*, got none"),
        ({"name": "my arm"}, "name: expected an identifier, got 'my arm'"),
        ({"name": "größe"}, "name: expected an identifier"),
        ({"language": "python", "math": "os; x"}, "math: expected the name of a module"),
        ({"math": "numpy"}, "math: expected the name of a module"),
    ],
)
def test_mistakes_are_told(panda, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        generate(panda, **arguments)


def test_python_over_arrays_agrees_with_the_package():
    """Many states at once, as on a GPU; NumPy stands for its libraries."""
    robot, rng = pdr.load_robot("panda"), np.random.default_rng(64)
    code = generate(robot, "python", math="numpy")
    names: dict[str, Any] = {}
    exec(code.source, names)
    q, dq, ddq = rng.normal(size=(3, 4, 5, 7))
    first = [np.moveaxis(x, -1, 0) for x in (q, dq, ddq)]
    tau = np.moveaxis(np.stack(names["panda_inverse_dynamics"](*first)), 0, -1)
    assert_agrees(tau, robot.inverse_dynamics(q, dq, ddq), TOLERANCE, axes=1)
    rows = names["panda_mass_matrix"](first[0])
    M = np.array([[np.broadcast_to(entry, (4, 5)) for entry in row] for row in rows]).transpose(2, 3, 0, 1)
    assert_agrees(M, robot.mass_matrix(q), TOLERANCE, axes=2)
