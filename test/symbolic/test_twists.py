# SPDX-License-Identifier: Apache-2.0
"""Twists, their exponentials and adjoints, against SciPy's matrix exponential and fifty digits of mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from arms import transform
from numpy.typing import NDArray
from oracles import skew
from scipy.linalg import expm

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.symbolic import twists
from panda_dynamics_ros.symbolic.expressions import exponential_terms

Array = NDArray[np.float64]


def random_twists(rng: np.random.Generator) -> Array:
    """Turning, sliding and both, at rest too: (v, w)."""
    general = rng.normal(size=(30, 6))
    return np.concatenate([general, general * [1, 1, 1, 0, 0, 0], general * [0, 0, 0, 1, 1, 1], np.zeros((1, 6))])


@pytest.mark.parametrize("angle", [1.0, -2.5, 1e-3, 1e-9, 0.0, 7.0])
def test_exponential_of_a_twist(rng: np.random.Generator, angle: float) -> None:
    V = random_twists(rng)
    want = expm(twists.twist_matrix(V) * angle)
    got = twists.exp_twist(V, angle)
    # SciPy's own error is some 1e-15 of the largest power it sums, |V angle| below 30.
    assert np.abs(got - want).max() < 1e-12
    assert np.abs(twists.exp_rotation(V[:, 3:], angle) - want[:, :3, :3]).max() < 1e-12
    assert np.array_equal(got[:, 3], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(V), 4)))


def test_pure_translation_moves_by_the_velocity_times_time() -> None:
    T = twists.exp_twist([0.1, -0.2, 0.3, 0.0, 0.0, 0.0], 2.0)
    assert T.tolist() == [[1, 0, 0, 0.2], [0, 1, 0, -0.4], [0, 0, 1, 0.6], [0, 0, 0, 1]]


@pytest.mark.parametrize("speed", [1.0, 0.37, 1e-4])
def test_no_digit_is_lost_at_any_angle(speed: float) -> None:
    """sin, 1 - cos and x - sin of angles from 1e-160 to 100, on both sides of where the series takes over."""
    angles = np.concatenate([10.0 ** np.linspace(-160, 2, 300), np.linspace(0.49, 0.51, 41) / speed])
    terms = exponential_terms(np.array(speed) ** 2, angles)
    with mpmath.workdps(400):  # 1 - cos(1e-160) begins at the 320th digit
        for k, angle in enumerate(angles):
            n = mpmath.sqrt(mpmath.mpf(float(np.array(speed) ** 2)))
            x = n * mpmath.mpf(float(angle))
            exact = (mpmath.sin(x) / n, (1 - mpmath.cos(x)) / n**2, (x - mpmath.sin(x)) / n**3)
            # The angle itself is rounded to 1e-16 before its sine is taken, which near a zero of it is that much of x.
            scale = (angle, angle**2, angle**3)
            for term, want, size in zip(terms, exact, scale, strict=True):
                if size > 1e-300:  # smaller ones have fewer digits in float64
                    assert abs(mpmath.mpf(float(term[k])) - want) <= 1e-14 * abs(want) + 2e-16 * size / max(1, angle)


def test_document_002_orders_angular_part_first(rng: np.random.Generator) -> None:
    """P Ad P, with P swapping the blocks, is its Ad = [[R, 0], [[p] R, R]]; 4x4 matrices are the same."""
    T = transform(rng.normal(size=3), rng.normal(size=3))
    R, p = T[:3, :3], T[:3, 3]
    P = np.roll(np.eye(6), 3, axis=0)
    document = np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])
    assert np.abs(P @ twists.adjoint(T) @ P - document).max() < 1e-15


def test_adjoint_carries_a_twist_to_another_frame(rng: np.random.Generator) -> None:
    """(Ad(T) V)^ = T V^ T^-1, Ad(T1 T2) = Ad(T1) Ad(T2), Ad^-1 and T^-1 are inverses."""
    T1, T2 = (np.array([transform(rng.normal(size=3), rng.normal(size=3)) for _ in range(20)]) for _ in range(2))
    V = rng.normal(size=(20, 6))
    moved = (twists.adjoint(T1) @ V[..., None])[..., 0]
    # A few products of numbers below 10.
    assert np.abs(twists.twist_matrix(moved) - T1 @ twists.twist_matrix(V) @ np.linalg.inv(T1)).max() < 1e-13
    assert np.abs(twists.adjoint(T1 @ T2) - twists.adjoint(T1) @ twists.adjoint(T2)).max() < 1e-13
    assert np.abs(twists.adjoint_inverse(T1) - np.linalg.inv(twists.adjoint(T1))).max() < 1e-13
    assert np.abs(twists.inverse_transform(T1) - np.linalg.inv(T1)).max() < 1e-13


def test_com_shift_is_a_translation_in_base_axes(rng: np.random.Generator) -> None:
    """Document 002: T_CoM = T_i (T_mi - 1) + 1 = [[1, r_mi - r_i], [0, 1]]."""
    T, c = transform(rng.normal(size=3), rng.normal(size=3)), rng.normal(size=3)
    T_mi = np.eye(4)
    T_mi[:3, 3] = c
    want = np.eye(4)
    want[:3, 3] = (T @ T_mi)[:3, 3] - T[:3, 3]
    assert np.abs(twists.com_shift(T, c) - want).max() < 1e-15
    assert np.abs(twists.com_shift(T, c) - (T @ (T_mi - np.eye(4)) + np.eye(4))).max() < 1e-15


def test_leading_dimensions_broadcast(rng: np.random.Generator) -> None:
    V, angles = rng.normal(size=(4, 6)), rng.normal(size=(5, 1))
    T = twists.exp_twist(V, angles)
    assert T.shape == (5, 4, 4, 4)
    assert np.array_equal(T[3, 2], twists.exp_twist(V[2], angles[3, 0]))
    assert twists.adjoint(T).shape == (5, 4, 6, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: twists.skew([1, 2]), "a: expected shape (..., 3), got (2,)"),
        (lambda: twists.skew([1, 2, float("nan")]), "a: expected finite numbers, got nan at index (2,)"),
        (lambda: twists.twist_matrix(np.ones(5)), "twist: expected shape (..., 6), got (5,)"),
        (lambda: twists.exp_twist(np.ones(6), "x"), "angle: expected an array of real numbers, got "),
        (lambda: twists.exp_twist(np.ones(6), np.inf), "angle: expected finite numbers, got inf"),
        (lambda: twists.exp_rotation(np.ones(4), 1), "w: expected shape (..., 3), got (4,)"),
        (lambda: twists.rigid(np.eye(4), np.ones(3)), "R: expected shape (..., 3, 3), got (4, 4)"),
        (lambda: twists.rigid(np.eye(3), np.ones(4)), "p: expected shape (..., 3), got (4,)"),
        (lambda: twists.adjoint(np.eye(3)), "T_a_b: expected shape (..., 4, 4), got (3, 3)"),
        (lambda: twists.adjoint_inverse(np.eye(3)), "T_a_b: expected shape (..., 4, 4), got (3, 3)"),
        (lambda: twists.inverse_transform(np.eye(3)), "T_a_b: expected shape (..., 4, 4), got (3, 3)"),
        (lambda: twists.com_shift(np.eye(4), [1, 2]), "com: expected shape (..., 3), got (2,)"),
        (lambda: twists.skew(np.array([1, None, 2])), "a: expected numbers or SymPy expressions, got None"),
        (lambda: twists.skew([[1, 2, 3], [1]]), "a: expected an array, got [[1, 2, 3], [1]]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_what_does_not_broadcast_is_named() -> None:
    with pytest.raises(
        ArgumentError, match=r"twist, angle: expected leading shapes that broadcast, got twist \(2, 6\), angle"
    ):
        twists.exp_twist(np.ones((2, 6)), np.ones(3))
