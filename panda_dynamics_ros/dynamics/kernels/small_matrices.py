# SPDX-License-Identifier: Apache-2.0
"""Linear algebra for matrices of about ten rows in compiled code, where a call to LAPACK costs more than its work.

Golub and Van Loan, Matrix Computations, 4th edition, section 4.2.
"""

import math

from panda_dynamics_ros.dynamics.kernels.compiled import part


@part
def factorise(A):
    """A = L L', positive definite; L takes the place of A's lower triangle."""
    for j in range(A.shape[0]):
        for i in range(j, A.shape[0]):
            entry = A[i, j]
            for k in range(j):
                entry -= A[i, k] * A[j, k]
            A[i, j] = math.sqrt(entry) if i == j else entry / A[j, j]


@part
def forward(L, b):
    """b <- L^-1 b, in place; L is the lower triangle."""
    for i in range(b.shape[0]):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]


@part
def solve(L, b):
    """b <- (L L')^-1 b, in place; L is the lower triangle."""
    forward(L, b)
    for i in range(b.shape[0] - 1, -1, -1):
        for k in range(i + 1, b.shape[0]):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]
