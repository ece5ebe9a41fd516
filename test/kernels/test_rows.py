# SPDX-License-Identifier: Apache-2.0
"""Blocks of states against one: the same bits, for every number of rows; cosines and sines against libm; small matrices
against LAPACK, to rounding: entries of order one, condition numbers below 1e3."""

import math

import numpy as np
import pytest
from arms import random_states

from panda_dynamics_ros.dynamics.kernels import batch, vectors
from panda_dynamics_ros.dynamics.kernels.blocks import BLOCK
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.dynamics.kernels.vectors import LARGEST, cos_sin

# Those that compute many states in blocks, or one state after the other, with how many joint arrays they take.
FUNCTIONS = {
    **dict.fromkeys(("pose", "jacobian", "gravity_torques", "mass_matrix"), 1),
    **dict.fromkeys(("coriolis_torques", "coriolis_matrix"), 2),
    **dict.fromkeys(("inverse_dynamics", "forward_dynamics", "regressor", "payload_regressor"), 3),
}


@compiled
def of_one(x, c, s):
    for k in range(x.shape[0]):
        c[k], s[k] = cos_sin(x[k])


def angles(rng: np.random.Generator) -> np.ndarray:
    """Where joints are, many turns away, next to quarter turns, and beyond the reduction's reach."""
    quarters = 0.5 * math.pi * rng.integers(-1000, 1000, 800)
    parts = [rng.uniform(-4.0, 4.0, 8000), rng.uniform(-LARGEST, LARGEST, 8000), quarters, quarters + 1e-9]
    edges = [0.0, -0.0, 1e-300, 0.25 * math.pi, LARGEST, -LARGEST, np.nextafter(LARGEST, np.inf), 1e22]
    return np.concatenate([*parts, edges])


def test_cosine_and_sine_are_those_of_libm(rng):
    x = angles(rng)
    c, s = np.empty_like(x), np.empty_like(x)
    of_one(x, c, s)
    for ours, theirs in ((c, np.cos(x)), (s, np.sin(x))):
        # fdlibm's polynomials are good to 1 unit in the last place, libm to half of one.
        assert (np.abs(ours - theirs) <= 2.0 * np.spacing(np.abs(theirs))).all()
    # Each of the two is rounded to 2^-53.
    np.testing.assert_allclose(c * c + s * s, 1.0, rtol=0.0, atol=4.0 * 2.0**-53)


@pytest.fixture(autouse=True)
def blocks_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MANY", BLOCK)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("rows", [1, 15, 16, 21, 35])
def test_rows_are_what_they_are_alone(function, rows, robot, rng):
    call = getattr(robot, function)
    states = [x.copy() for x in random_states(robot, rng, samples=rows)[: FUNCTIONS[function]]]
    states[0][0, 3] = 3.0 * LARGEST  # one state of a block takes the long way to its cosines
    together = call(*states)
    for k in range(rows):
        assert np.array_equal(together[k], call(*(x[k].copy() for x in states)))


def kernel(part):
    """A function of Python that calls a part of kernels."""

    @compiled
    def call(A, b):
        part(A, b)

    return call


forward, solve = kernel(vectors.forward), kernel(vectors.solve)


@compiled
def factorise(A):
    vectors.factorise(A)


@pytest.fixture(params=[1, 4, 10])
def matrix(request, rng):
    square = rng.normal(size=(request.param, request.param))
    return square @ square.T + np.eye(request.param)


def test_factor(matrix):
    L = matrix.copy()
    factorise(L)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(matrix), atol=1e-12)


def test_solutions(matrix, rng):
    b, L = rng.normal(size=len(matrix)), np.linalg.cholesky(matrix)
    half, whole = b.copy(), b.copy()
    forward(L, half)
    solve(L, whole)
    np.testing.assert_allclose(half, np.linalg.solve(L, b), atol=1e-12)
    np.testing.assert_allclose(whole, np.linalg.solve(matrix, b), atol=1e-12)
