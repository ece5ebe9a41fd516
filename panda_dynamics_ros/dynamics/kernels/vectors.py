# SPDX-License-Identifier: Apache-2.0
"""Three-vectors and rotations as tuples, and what `RobotDescription.table` has in them, for the compiled kernels.

A vector is (x, y, z); a matrix is its nine entries by rows. The compiler keeps tuples in registers, so that code
written with these functions allocates nothing.
"""

from __future__ import annotations

from panda_dynamics_ros.dynamics.kernels.compiled import compiled as compiled  # imported with the vectors
from panda_dynamics_ros.dynamics.kernels.compiled import part as part
from panda_dynamics_ros.dynamics.kernels.cos_sin import cos_sin
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, ROTATION, TRANSLATION

ZERO = (0.0, 0.0, 0.0)
AXIS = (0.0, 0.0, 1.0)  # of every joint, in its own frame
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@part
def add(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@part
def sub(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


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
def rotate(R, a):
    """R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@part
def rotate_back(R, a):
    """R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@part
def column(R, j):
    """Column j of R: axis j of the inner frame, in the outer one."""
    return (R[j], R[3 + j], R[6 + j])


@part
def compose(A, B):
    """A B for two rotations."""
    x = rotate(A, (B[0], B[3], B[6]))
    y = rotate(A, (B[1], B[4], B[7]))
    z = rotate(A, (B[2], B[5], B[8]))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@part
def symmetric_times(S, a):
    """S a for a symmetric matrix given as (xx, xy, xz, yy, yz, zz)."""
    return (
        S[0] * a[0] + S[1] * a[1] + S[2] * a[2],
        S[1] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[2] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@part
def vector_at(array, row, start):
    """Three consecutive entries of a row of a 2-D array."""
    return (array[row, start], array[row, start + 1], array[row, start + 2])


@part
def store(array, row, start, a):
    """Write a vector into three consecutive entries of a row."""
    array[row, start] = a[0]
    array[row, start + 1] = a[1]
    array[row, start + 2] = a[2]


@part
def joint_count(table):
    """n of `RobotDescription.table`."""
    return table.shape[0] - 3


@part
def fixed_rotation(table, row):
    """The constant rotation of a row of `RobotDescription.table`."""
    t = table[row]
    k = ROTATION
    return (t[k], t[k + 1], t[k + 2], t[k + 3], t[k + 4], t[k + 5], t[k + 6], t[k + 7], t[k + 8])


@part
def translation(table, row):
    """The constant translation of a row of the table."""
    return (table[row, TRANSLATION], table[row, TRANSLATION + 1], table[row, TRANSLATION + 2])


@part
def slides(table, i):
    """Whether joint i is prismatic."""
    return table[i, PRISMATIC] != 0.0


@part
def link_body(table, i):
    """Mass, first moment and inertia (xx, xy, xz, yy, yz, zz) of link i."""
    t = table[i]
    k = INERTIAL
    inertia = (t[k + 4], t[k + 5], t[k + 6], t[k + 7], t[k + 8], t[k + 9])
    return t[k], (t[k + 1], t[k + 2], t[k + 3]), inertia


@part
def upward(table):
    """The acceleration of a base that feels gravity: minus the gravity vector, in base axes."""
    return scale(-1.0, translation(table, joint_count(table) + 2))


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


@part
def placement(table, i, qi):
    """Rotation and translation of joint i's frame in its parent's, at joint position qi."""
    R, p = fixed_rotation(table, i), translation(table, i)
    if slides(table, i):
        return R, add(p, scale(qi, column(R, 2)))
    c, s = cos_sin(qi)
    return turned(R, c, s), p


@part
def place_joints(table, q, frames):
    """Write the placements of all joints at q (n,) into `frames` (n, 12), with each sine and cosine computed once."""
    for i in range(joint_count(table)):
        R, p = placement(table, i, q[i])
        store(frames, i, 0, (R[0], R[1], R[2]))
        store(frames, i, 3, (R[3], R[4], R[5]))
        store(frames, i, 6, (R[6], R[7], R[8]))
        store(frames, i, 9, p)


@part
def placed(frames, i):
    """`placement` of joint i, read from what `place_joints` wrote."""
    f = frames
    R = (f[i, 0], f[i, 1], f[i, 2], f[i, 3], f[i, 4], f[i, 5], f[i, 6], f[i, 7], f[i, 8])
    return R, vector_at(frames, i, 9)
