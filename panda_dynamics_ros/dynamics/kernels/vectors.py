# SPDX-License-Identifier: Apache-2.0
"""Three-vectors and rotations as tuples, and matrices of about ten rows, for the compiled kernels.

A vector is (x, y, z); a matrix is its nine entries by rows; a placement (R, p) is the pose of a frame in another. The
compiler keeps tuples in registers, so that code written with these functions allocates nothing. A call to LAPACK costs
more than its work on ten rows (Golub and Van Loan, Matrix Computations, 4th edition, section 4.2).
"""

import math

from panda_dynamics_ros.dynamics.kernels.compiled import compiled as compiled  # imported with the vectors
from panda_dynamics_ros.dynamics.kernels.compiled import part as part

ZERO = (0.0, 0.0, 0.0)
AXIS = (0.0, 0.0, 1.0)  # of every joint, in its own frame


@part
def add(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@part
def scale(s, a):
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


@part
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def cross(a, b):
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@part
def column(R, j):
    """Column j of R: axis j of the inner frame, in the outer one."""
    return (R[j], R[3 + j], R[6 + j])


@part
def rotate(R, a):
    """R a."""
    return (dot(R[:3], a), dot(R[3:6], a), dot(R[6:], a))


@part
def rotate_back(R, a):
    """R^T a."""
    return (dot(column(R, 0), a), dot(column(R, 1), a), dot(column(R, 2), a))


@part
def along(X, Y):
    """The placement X Y of a frame that is placed by Y in the frame at X."""
    (R, p), (B, r) = X, Y
    x, y, z = rotate(R, column(B, 0)), rotate(R, column(B, 1)), rotate(R, column(B, 2))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), add(p, rotate(R, r))


@part
def times(S, a):
    """S a for a symmetric matrix given as (xx, xy, xz, yy, yz, zz)."""
    return (dot(S[:3], a), dot((S[1], S[3], S[4]), a), dot((S[2], S[4], S[5]), a))


@part
def fetch(array, row, start):
    """Three consecutive entries of a row of a 2-D array."""
    return (array[row, start], array[row, start + 1], array[row, start + 2])


@part
def store(array, row, start, a):
    """Write a vector into three consecutive entries of a row."""
    array[row, start], array[row, start + 1], array[row, start + 2] = a


@part
def turned(R, c, s):
    """R times a rotation about z whose cosine and sine are c and s.

    Modified Denavit-Hartenberg frames: Gautier and Khalil 1988, eq. (1) (document 004); document 000, {i-1}H{i}.
    """
    return (
        c * R[0] + s * R[1], c * R[1] - s * R[0], R[2],
        c * R[3] + s * R[4], c * R[4] - s * R[3], R[5],
        c * R[6] + s * R[7], c * R[7] - s * R[6], R[8],
    )  # fmt: skip


# Cosine and sine together, by additions and products only, so that the compiler can compute several angles at a time.
# The argument is reduced after Cody and Waite 1980: x = m pi/2 + r with |r| <= pi/4, and pi/2 in three parts. The first
# two have so few bits that their products with m are exact. The polynomials are those of fdlibm (k_cos.c, k_sin.c),
# with errors below 1 unit in the last place.
LARGEST = 1.0e5  # rad; beyond, m times a part of pi/2 would be rounded
_QUARTER_TURNS = 2.0 / math.pi
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33 bits each
_TO_INTEGER = 1.5 * 2.0**52  # x + this - this is x rounded to the nearest integer
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


@part
def horner(c, x):
    """c[0] + c[1] x + ... + c[5] x^5."""
    return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))))


@part
def reduced_cos_sin(x):
    """cos x and sin x for |x| <= LARGEST, as those of r turned by m quarter turns."""
    m = (x * _QUARTER_TURNS + _TO_INTEGER) - _TO_INTEGER
    r = ((x - m * _HALF_PI[0]) - m * _HALF_PI[1]) - m * _HALF_PI[2]
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    cos_r = w + (((1.0 - w) - half) + z * (z * horner(_COS, z)))
    sin_r = r + z * r * horner(_SIN, z)
    m = m - 4.0 * ((0.25 * m + _TO_INTEGER) - _TO_INTEGER)  # -2 .. 2
    mm = m * m
    cos_m = 1.0 - mm * (7.0 - mm) * (1.0 / 6.0)  # 1, 0, -1 for |m| = 0, 1, 2, exactly
    sin_m = m * (4.0 - mm) * (1.0 / 3.0)  # -1, 0, 1
    return cos_m * cos_r - sin_m * sin_r, cos_m * sin_r + sin_m * cos_r


@part
def cos_sin(x):
    """cos x and sin x of any angle."""
    if abs(x) <= LARGEST:
        return reduced_cos_sin(x)
    return math.cos(x), math.sin(x)


@part
def inner(a, b):
    """a . b of vectors of any length."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


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
