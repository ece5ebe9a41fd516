# SPDX-License-Identifier: Apache-2.0
"""Symbolic kinematics against the package's other kinematics, Pinocchio, and SciPy's matrix exponential."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy
from arms import chain, random_body, random_chain, transform
from calculus import Array, com_poses, is_zero, substituted, twist_matrix
from conftest import message_of
from oracles import Pinocchio, pin, skew
from scipy.linalg import expm

import panda_dynamics_ros as pdr
from panda_dynamics_ros import symbolic
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.symbolic import ScrewChain, adjoint, exp_twist

EXACT = 1e-13  # both sides are exact; products of some dozen numbers below 10, added in another order


def numbers(array: Any) -> Array:
    return np.asarray(array, dtype=np.float64)


@pytest.fixture(scope="module", params=["panda", "fr3", 1, 3, 6])
def arm(request):
    """The chains turn and slide at placements that no right angle makes simple."""
    if isinstance(request.param, int):
        return random_chain(request.param, seed=40)
    return pdr.load_robot(request.param).with_end_effector(transform((0.3, -0.2, 0.1), (0.1, 0.2, 0.3)))


def test_numbers_are_those_of_the_model_and_of_pinocchio(arm, rng):
    screws, q, oracle = symbolic.exact_chain(arm), rng.uniform(-1, 1, arm.n), Pinocchio(arm)
    for frame in arm.frames:
        assert np.abs(numbers(screws.pose(q, frame)) - arm.pose(q, frame)).max() < EXACT
        assert np.abs(numbers(screws.jacobian(q, frame)) - arm.jacobian(q, frame)).max() < EXACT
    coms = np.stack([oracle.pose(q[None], f"com{link}")[0] for link in range(1, arm.n + 1)])
    assert np.abs(numbers(com_poses(screws, q)) - coms).max() < EXACT
    for link in range(1, arm.n + 1):
        assert np.abs(numbers(screws.com_jacobian(q, link)) - arm.com_jacobian(q, link)).max() < EXACT
    in_world = np.reshape(pin.computeJointJacobians(oracle.model, oracle.data, q), (6, arm.n))
    assert np.abs(numbers(screws.space_jacobian(q)) - in_world).max() < EXACT


@pytest.mark.parametrize("name", ["fr3", 3])
def test_expressions_have_the_values_of_the_numbers(name, rng):
    arm = random_chain(name, seed=40) if isinstance(name, int) else pdr.load_robot(name)
    chain, (q, dq) = symbolic.exact_chain(arm), (sympy.symbols(f"{x}_1:{arm.n + 1}", real=True) for x in ("q", "dq"))
    point, rates = rng.uniform(-1, 1, arm.n), rng.uniform(-1, 1, arm.n)
    values = dict(zip([*q, *dq], [*point, *rates], strict=True))
    pairs = [
        (chain.pose(q, "ee"), arm.pose(point, "ee")),
        (chain.jacobian(q, "joint3"), arm.jacobian(point, "joint3")),
        (chain.com_jacobian(q, 3), arm.com_jacobian(point, 3)),
        (chain.jacobian(q, "joint3") @ dq, arm.jacobian(point, "joint3") @ rates),
        (chain.com_jacobian(q, 3) @ dq, arm.com_jacobian(point, 3) @ rates),
    ]
    for expressions, wanted in pairs:
        assert np.abs(substituted(expressions, values) - wanted).max() < EXACT


def test_exact_chain_has_no_rounding():
    """sin(90 degrees) of the modified DH table is 1, cos is 0, and 0.333 is a fraction."""
    chain = symbolic.exact_chain(pdr.load_robot("panda"))
    assert set(chain.T_base_joint[:, :3, :3].flat) == {-1, 0, 1}
    assert chain.twists[1].tolist() == [sympy.Rational(-333, 1000), 0, 0, 0, 1, 0]
    hand = symbolic.exact_chain(pdr.load_robot("panda", end_effector="hand")).T_flange_ee
    assert hand[0, 0] == hand[0, 1] == sympy.sqrt(2) / 2


def test_erratum_5_the_order_of_cumulative_rotations():
    """Reversed, they are right for the Panda, whose fixed rotations are all about x, and for nothing else."""
    rng = np.random.default_rng(31)
    bodies = tuple(random_body(rng) for _ in range(3))
    turns = [transform(turn, (0.1, 0.2, 0.3)) for turn in ((0.4, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.3, 0.5))]
    for robot, harmless in ((pdr.load_robot("panda"), True), (chain(np.array(turns), (False,) * 3, bodies), False)):
        at_zero = np.array([robot.pose(np.zeros(robot.n), f"joint{i + 1}")[:3, 2] for i in range(robot.n)])
        assert np.abs(numbers(symbolic.exact_chain(robot).twists[:, 3:]) - at_zero).max() < 1e-15
        z, reverse = np.array([0.0, 0.0, 1.0]), []
        for T in robot.placements:  # omega_i_0 as document 002 computes it: R(RPY_{i-1,i}) @ omega_{i-1,0}
            z = T[:3, :3] @ z
            reverse.append(z)
        wrong = np.abs(reverse - at_zero).max()
        assert wrong < 1e-15 if harmless else wrong > 0.1


@pytest.mark.parametrize("angle", [1.0, -2.5, 0.0, 7.0])
def test_exponential_of_a_twist(rng, angle):
    """Turning, sliding and both, at rest too. SciPy's own error is some 1e-15 of the largest power that it sums."""
    general = rng.normal(size=6)
    for V in (general, general * [1, 1, 1, 0, 0, 0], general * [0, 0, 0, 1, 1, 1], np.zeros(6)):
        want = expm(numbers(twist_matrix(V)) * angle)
        assert np.abs(numbers(exp_twist(V, angle)) - want).max() < 1e-12


def test_exponentials_of_expressions():
    """Rodrigues' formula for a unit axis, a translation for none, and the general one for an axis of symbols."""
    x, a, b = sympy.symbols("x a b", real=True)
    turn = exp_twist(np.array([0, 0, 0, 0, 0, 1]), x)
    assert turn[:2, :2].tolist() == [[sympy.cos(x), -sympy.sin(x)], [sympy.sin(x), sympy.cos(x)]]
    assert exp_twist(np.array([a, 2, 0, 0, 0, 0]), x)[:3, 3].tolist() == [a * x, 2 * x, 0]
    general = exp_twist(np.array([0, 0, 0, a, 0, b]), x)
    want = numbers(exp_twist(np.array([0, 0, 0, 0.3, 0.0, -0.4]), 2.0))
    assert np.abs(substituted(general, {a: 0.3, b: -0.4, x: 2.0}) - want).max() < 1e-15  # rounding of sines


def test_adjoints(rng):
    """(Ad(T) V)^ = T V^ T^-1; P Ad P, with P swapping the blocks, is the document's."""
    T, V = transform(rng.normal(size=3), rng.normal(size=3)), rng.normal(size=6)
    Ad, R, p = numbers(adjoint(T)), T[:3, :3], T[:3, 3]
    moved = T @ numbers(twist_matrix(V)) @ np.linalg.inv(T)
    assert np.abs(numbers(twist_matrix(Ad @ V)) - moved).max() < EXACT
    P = np.roll(np.eye(6), 3, axis=0)
    assert np.abs(P @ Ad @ P - np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])).max() < 1e-15


def test_normal_form_finds_zero():
    x, y = sympy.symbols("x y", real=True)
    sin, cos = sympy.sin, sympy.cos
    zero = (sin(x) ** 2 + cos(x) ** 2) ** 3 - 1 + (sin(y) ** 4 - cos(y) ** 4 + 1 - 2 * sin(y) ** 2) * x
    assert is_zero([zero, 0.5 * zero])
    assert not is_zero([zero + sin(x) * cos(y)])


def test_without_sympy_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)  # as on a machine without it: the import fails
    monkeypatch.delitem(sys.modules, symbolic.__name__)
    with pytest.raises(MissingDependencyError, match="symbolic expressions need SymPy: pip install sympy"):
        import_module(symbolic.__name__)


Q, PANDA = np.zeros(7), symbolic.exact_chain(pdr.load_robot("panda"))
REFUSED: dict[str, Callable[[], object]] = {
    "q: expected shape (7,), got (6,)": lambda: PANDA.joint_poses(Q[:6]),
    "q: expected finite numbers or SymPy expressions, got nan": lambda: PANDA.pose([float("nan"), *Q[1:]]),
    "q: expected finite numbers or SymPy expressions, got oo": lambda: PANDA.joint_poses([sympy.oo, *Q[1:]]),
    "q: expected numbers or SymPy expressions, got 'q_1'": lambda: PANDA.pose(["q_1", *Q[1:]]),
    "frame: expected one of base, joint1, ": lambda: PANDA.jacobian(Q, "tool"),
    "link: expected an integer from 1 to 7, got 0": lambda: PANDA.com_jacobian(Q, 0),
    "link: expected an integer from 1 to 7, got 1.0": lambda: PANDA.com_jacobian(Q, 1.0),  # type: ignore[arg-type]
    "robot: expected a robot, got str": lambda: symbolic.exact_chain("panda"),  # type: ignore[arg-type]
    "coms: expected shape (1, 3), got (3,)": lambda: ScrewChain(
        [np.eye(4)], [False], np.zeros(3), np.eye(4), np.eye(4)
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_is_named(message):
    assert message_of(ArgumentError, REFUSED[message]).startswith(message)
