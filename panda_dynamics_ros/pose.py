# SPDX-License-Identifier: Apache-2.0
"""Conversions between Franka's pose formats (Roboception, "Franka Emika Pose Format", document 001).

A pose is T_a_b, shape (..., 4, 4), translation in m. The other formats:

- column-major: 16 numbers as RaceCom messages, state machines, `O_T_EE` and `F_T_EE` have them;
- quaternion x, y, z, w, with a translation in m. Quaternions that this module returns have unit norm and
  w >= 0; where w = 0 the first non-zero of x, y, z is positive. Each rotation thus has exactly one quaternion;
- "Measure Pose" app: x, y, z in mm, then rotation x, y, z in degrees with R = Rz(z) Ry(y) Rx(x).

Every function broadcasts over leading dimensions. A wrong shape, a number that is not finite, a matrix that is no
rotation or rigid transform, or a quaternion of zero norm is an `ArgumentError`.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

GIMBAL_LOCK = 1e-12  # below this cos(y) the angles x and z turn about the same axis, and z = 0 is chosen


def to_column_major(T: ArrayLike) -> FloatArray:
    """The 16 numbers (..., 16) of a pose T_a_b (..., 4, 4), m, column by column; the translation is a_12, a_13, a_14.

    Reference: document 001, "Pose representation in RaceCom messages and state machines".
    """
    T = checks.rigid_transform(T, "T")
    return np.ascontiguousarray(np.swapaxes(T, -1, -2)).reshape(*T.shape[:-2], 16)


def from_column_major(a: ArrayLike, name: str = "a") -> FloatArray:
    """The pose T_a_b (..., 4, 4), m, of column-major numbers (..., 16); an ArgumentError for a row-major matrix, too.

    A row-major pose without translation is a valid column-major one (of the inverse rotation) and cannot be told apart.
    Errors call the numbers `name`.
    """
    name += " (16 floats, column-major)"
    rows = checks.trailing(a, (16,), name)
    T = np.swapaxes(rows.reshape(*rows.shape[:-1], 4, 4), -1, -2)
    row, column = (np.abs(end - (0.0, 0.0, 0.0, 1.0)).max(axis=-1) for end in (T[..., 3, :], T[..., :, 3]))
    if ((row > checks.TOLERANCE) & (column <= checks.TOLERANCE)).any():
        got = "a row-major matrix, with the translation in entries 3, 7 and 11: transpose it"
        raise ArgumentError(f"{name}: expected the translation in entries 12, 13 and 14, got {got}")
    return np.ascontiguousarray(checks.rigid_transform(T, name))


def matrix_to_quaternion(R: ArrayLike) -> FloatArray:
    """The unit quaternion (x, y, z, w), (..., 4), w >= 0, of a rotation matrix (..., 3, 3).

    The entries of R are those of 4 q q^T in other combinations; the row of 4 q q^T with the largest diagonal
    entry is parallel to q and at least as long as q. The formula of document 001 takes the roots of the
    diagonal and loses the signs where w = 0, at exactly 180 degrees (docs/sources.md).
    """
    R = checks.rotation_matrix(R, "R")
    return np.array([unit_quaternion(each) for each in R.reshape(-1, 3, 3)]).reshape(*R.shape[:-2], 4)


def unit_quaternion(R: FloatArray) -> list[float]:
    """`matrix_to_quaternion` of one matrix (3, 3), which is not checked: of a pose at 1 kHz, say."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    xy, xz, yz, xw, yw, zw = b + d, c + g, f + h, h - f, c - g, d - b
    outer = (
        (1.0 + a - e - i, xy, xz, xw),
        (xy, 1.0 - a + e - i, yz, yw),
        (xz, yz, 1.0 - a - e + i, zw),
        (xw, yw, zw, 1.0 + a + e + i),
    )
    x, y, z, w = outer[max(range(4), key=lambda k: outer[k][k])]
    norm = math.copysign(math.hypot(x, y, z, w), w or x or y or z)
    return [entry / norm + 0.0 for entry in (x, y, z, w)]  # + 0.0 turns -0.0 into 0.0


def _matrices(*rows: Sequence[FloatArray]) -> FloatArray:
    """Matrices (..., k, l) of k rows of l entries (...)."""
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_to_matrix(quat: ArrayLike) -> FloatArray:
    """The rotation matrix (..., 3, 3) of a quaternion (x, y, z, w), (..., 4), of any non-zero norm.

    Reference: document 001, "Conversion from quaternion and translation to transformation".
    """
    q = checks.trailing(quat, (4,), "quat")
    largest = np.abs(q).max(axis=-1, keepdims=True)
    if (largest == 0.0).any():
        raise ArgumentError("quat: expected a quaternion (x, y, z, w) of non-zero norm, got (0, 0, 0, 0)")
    q = q / largest  # first, so that squares neither overflow nor vanish
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)  # s = 1
    return _matrices(
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


def pose_to_matrix(translation: ArrayLike, quat: ArrayLike) -> FloatArray:
    """The pose of a translation (..., 3) in m and a quaternion (..., 4); leading shapes broadcast.

    Reference: document 001, "Conversion from quaternion and translation to transformation".
    """
    return rigid(quaternion_to_matrix(quat), checks.trailing(translation, (3,), "translation"))


def rigid(R: FloatArray, t: FloatArray) -> FloatArray:
    """[[R, t], [0, 1]] (..., 4, 4) of rotations (..., 3, 3) and translations (..., 3); leading shapes broadcast."""
    try:
        shape = np.broadcast_shapes(R.shape[:-2], t.shape[:-1])
    except ValueError as error:
        expected = f"a leading shape that broadcasts with {R.shape[:-2]}"
        raise ArgumentError(f"translation: expected {expected}, got {t.shape[:-1]}") from error
    T = np.zeros((*shape, 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, t, 1.0
    return T


def matrix_to_measure_pose(T: ArrayLike) -> FloatArray:
    """What the "Measure Pose" app shows for a pose (..., 4, 4): x, y, z in mm, rotation x, y, z in degrees, (..., 6).

    -90 <= y <= 90 degrees. At y = +-90 degrees, where x and z turn about one axis, z is 0.

    Reference: document 001, "Conversion from quaternion to Rotation-XYZ", with x and z interchanged (docs/sources.md).
    """
    T = checks.rigid_transform(T, "T")
    R = T[..., :3, :3]
    cos_y = np.hypot(R[..., 0, 0], R[..., 1, 0])
    y = np.arctan2(-R[..., 2, 0], cos_y)  # better conditioned near 90 degrees than the asin of document 001
    z = np.where(cos_y > GIMBAL_LOCK, np.arctan2(R[..., 1, 0], R[..., 0, 0]), 0.0)
    # Row 1 of Rz(z)^T R = Ry Rx is (0, cos x, -sin x): x fits the z chosen, also where rounding decided on z.
    sin_x = np.sin(z) * R[..., 0, 2] - np.cos(z) * R[..., 1, 2]
    cos_x = np.cos(z) * R[..., 1, 1] - np.sin(z) * R[..., 0, 1]
    degrees = np.degrees(np.stack([np.arctan2(sin_x, cos_x), y, z], axis=-1)) + 0.0
    return np.concatenate([1000.0 * T[..., :3, 3], degrees], axis=-1)


def measure_pose_to_matrix(p: ArrayLike) -> FloatArray:
    """The pose T_a_b, (..., 4, 4), m, of (x, y, z in mm, rotation x, y, z in degrees), (..., 6).

    Reference: document 001: R = Rz(z) Ry(y) Rx(x).
    """
    p = checks.trailing(p, (6,), "p")
    return rigid(rotation_from_rpy(np.radians(p[..., 3:])), p[..., :3] / 1000.0)


def rotation_from_rpy(rpy: FloatArray) -> FloatArray:
    """R = Rz(yaw) Ry(pitch) Rx(roll), (..., 3, 3), of angles (..., 3) in rad about fixed axes, as URDF has them."""
    (sx, sy, sz), (cx, cy, cz) = (np.moveaxis(f(rpy), -1, 0) for f in (np.sin, np.cos))
    return _matrices(
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )
