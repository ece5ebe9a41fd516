# SPDX-License-Identifier: Apache-2.0
"""Expressions through the functions that numbers go through, and the tools around them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sympy
from arms import random_chain
from calculus import is_zero, substituted

import panda_dynamics_ros as pdr
from panda_dynamics_ros import symbolic
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.symbolic import product_of_exponentials as poe
from panda_dynamics_ros.symbolic import twists
from panda_dynamics_ros.symbolic.expressions import exponential_terms
from panda_dynamics_ros.symbolic.screw_chain import ScrewChain


@pytest.fixture(scope="module", params=["fr3", 3])
def arm(request: pytest.FixtureRequest) -> pdr.RobotModel:
    """The chain turns and slides at placements that no right angle makes simple."""
    return random_chain(request.param, seed=40) if request.param == 3 else pdr.load_robot(request.param)


def test_expressions_have_the_values_of_the_numbers(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    chain, q, dq = symbolic.exact_chain(arm), symbolic.joint_symbols(arm.n), symbolic.joint_symbols(arm.n, "dq")
    point, rates = rng.uniform(-1, 1, arm.n), rng.uniform(-1, 1, arm.n)
    values = dict(zip([*q, *dq], [*point, *rates], strict=True))
    link = 3
    pairs = [
        (poe.pose(chain, q, "ee"), poe.pose(arm, point, "ee")),
        (poe.com_poses(chain, q)[link - 1], poe.com_poses(arm, point)[link - 1]),
        (poe.jacobian(chain, q, "joint3"), arm.jacobian(point, "joint3")),
        (poe.com_jacobian(chain, q, link), arm.com_jacobian(point, link)),
        (poe.velocity(chain, q, dq, "joint3"), poe.velocity(arm, point, rates, "joint3")),
    ]
    for expressions, numbers in pairs:
        assert expressions.dtype == object
        # The same products, added in another order.
        assert np.abs(substituted(expressions, values) - numbers).max() < 1e-13


def test_chain_mixes_joints() -> None:
    assert set(random_chain(3, seed=40).prismatic) == {True, False}


def test_exact_chain_has_no_rounding() -> None:
    """sin(90 degrees) of the modified DH table is 1, cos is 0, and 0.333 is a fraction."""
    chain = symbolic.exact_chain(pdr.load_robot("panda"))
    assert set(chain.T_base_joint[:, :3, :3].flat) == {-1, 0, 1}
    assert chain.twists[1].tolist() == [sympy.Rational(-333, 1000), 0, 0, 0, 1, 0]
    hand = symbolic.exact_chain(pdr.load_robot("panda", end_effector="hand")).T_flange_ee
    assert hand[0, 0] == hand[0, 1] == sympy.sqrt(2) / 2


def test_exponentials_of_expressions() -> None:
    """Rodrigues' formula for a unit axis, a quadratic for none, and the general one for an axis of symbols."""
    x, a, b = sympy.symbols("x a b", real=True)
    turn = twists.exp_twist([0, 0, 0, 0, 0, 1], x)
    assert turn[:2, :2].tolist() == [[sympy.cos(x), -sympy.sin(x)], [sympy.sin(x), sympy.cos(x)]]
    slide = twists.exp_twist([a, 2, 0, 0, 0, 0], x)
    assert slide[:3, 3].tolist() == [a * x, 2 * x, 0]
    at_rest = exponential_terms(np.zeros((), dtype=object), np.array(x))
    assert [term.item() for term in at_rest] == [x, x**2 / 2, x**3 / 6]
    general = twists.exp_rotation([a, 0, b], x)
    numbers = substituted(general, {a: 0.3, b: -0.4, x: 2.0})
    assert np.abs(numbers - twists.exp_rotation([0.3, 0.0, -0.4], 2.0)).max() < 1e-15  # rounding of sines


def test_normal_form_finds_zero() -> None:
    x, y = sympy.symbols("x y", real=True)
    sin, cos = sympy.sin, sympy.cos
    zero = (sin(x) ** 2 + cos(x) ** 2) ** 3 - 1 + (sin(y) ** 4 - cos(y) ** 4 + 1 - 2 * sin(y) ** 2) * x
    assert is_zero([zero, 0.5 * zero])
    assert not is_zero([zero + sin(x) * cos(y)])


def test_without_sympy_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, panda: pdr.RobotModel) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)  # as on a machine without it: the import fails
    for call in (
        symbolic.document_panda,
        lambda: symbolic.joint_symbols(3),
        lambda: symbolic.exact_chain(panda),
    ):
        with pytest.raises(MissingDependencyError, match="symbolic expressions need SymPy: pip install sympy"):
            call()
    assert poe.pose(panda, np.zeros(7)).shape == (4, 4)


def test_what_does_not_fit_is_named(panda: pdr.RobotModel) -> None:
    q = symbolic.joint_symbols(7)
    with pytest.raises(ArgumentError, match=r"^q: expected shape \(\.\.\., 7\), got \(6,\)"):
        poe.pose(panda, q[:6])
    for bad in (sympy.oo, sympy.nan, sympy.zoo, q[1] * sympy.oo):
        with pytest.raises(ArgumentError, match=r"^q: expected finite numbers or SymPy expressions, got"):
            poe.pose(panda, [bad, *q[1:]])
    with pytest.raises(ArgumentError, match=r"^q: expected numbers or SymPy expressions, got 'q_1'"):
        poe.pose(panda, ["q_1", *q[1:]])
    for n in (0, -1, 2.0, True, "7"):
        with pytest.raises(ArgumentError, match=r"^n: expected a positive integer, got"):
            symbolic.joint_symbols(n)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"^robot: expected a robot, got ScrewChain"):
        symbolic.exact_chain(ScrewChain.of(panda))  # type: ignore[arg-type]
