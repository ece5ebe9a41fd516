# SPDX-License-Identifier: Apache-2.0
"""Against LAPACK, to rounding: entries of order one, condition numbers below 1e3."""

import numpy as np
import pytest

from panda_dynamics_ros.dynamics.kernels import small_matrices
from panda_dynamics_ros.dynamics.kernels.compiled import compiled


def kernel(part):
    """A function of Python that calls a part of kernels."""

    @compiled
    def call(A, b):
        part(A, b)

    return call


forward, solve, invert = (
    kernel(part) for part in (small_matrices.forward, small_matrices.solve, small_matrices.invert)
)


@compiled
def factorise(A):
    small_matrices.factorise(A)


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


def test_inverse(matrix):
    inverse = np.empty_like(matrix)
    invert(matrix.copy(), inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), atol=1e-12)
