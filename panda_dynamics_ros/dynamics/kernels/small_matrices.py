# SPDX-License-Identifier: Apache-2.0
"""Linear algebra for matrices of about ten rows in compiled code, where a call to LAPACK costs more than its work.

Golub and Van Loan, Matrix Computations, 4th edition: L D L^T in section 4.1, Cholesky in section 4.2.
"""

from __future__ import annotations

import math

from panda_dynamics_ros.dynamics.kernels.compiled import compiled


@compiled
def factorise(A):
    """A = L L', positive definite; L takes the place of A's lower triangle."""
    for j in range(A.shape[0]):
        for i in range(j, A.shape[0]):
            entry = A[i, j]
            for k in range(j):
                entry -= A[i, k] * A[j, k]
            A[i, j] = math.sqrt(entry) if i == j else entry / A[j, j]


@compiled
def forward(L, b):
    """b <- L^-1 b, in place; L is the lower triangle."""
    for i in range(b.shape[0]):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]


@compiled
def solve(L, b):
    """b <- (L L')^-1 b, in place; L is the lower triangle."""
    forward(L, b)
    for i in range(b.shape[0] - 1, -1, -1):
        for k in range(i + 1, b.shape[0]):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]


@compiled
def invert(A, columns):
    """`columns` <- A^-1 of a positive definite A, symmetric; A's lower triangle becomes its factor."""
    columns[:] = 0.0
    for i in range(A.shape[0]):
        columns[i, i] = 1.0
    factorise(A)
    for i in range(A.shape[0]):
        solve(A, columns[i])
    for i in range(A.shape[0]):
        for j in range(i):
            columns[i, j] = columns[j, i]


@compiled
def solve_in_place(M, x):
    """x <- M^-1 x for a positive definite M (n, n), by M = L D L^T, into its lower triangle; False if D has a zero.

    Golub and Van Loan, Matrix Computations, section 4.1.2, column by column.
    """
    n = x.shape[0]
    for j in range(n):
        if M[j, j] == 0.0:
            return False
        for i in range(j + 1, n):
            factor = M[i, j] / M[j, j]
            for k in range(j + 1, i + 1):
                M[i, k] -= factor * M[k, j]
            x[i] -= factor * x[j]
        for i in range(j + 1, n):
            M[i, j] /= M[j, j]
    for i in range(n - 1, -1, -1):
        x[i] /= M[i, i]
        for k in range(i + 1, n):
            x[i] -= M[k, i] * x[k]
    return True


@compiled
def solve_rows(M, x):
    """x (rows, n) <- M^-1 x for M (rows, n, n), which is overwritten; False if one of them is singular."""
    solved = True
    for k in range(len(x)):
        solved &= solve_in_place(M[k], x[k])
    return solved
