# SPDX-License-Identifier: Apache-2.0
"""Pose formats of document 001 against SciPy's Rotation, at random and at the edges."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from panda_dynamics_ros import PandaDynamicsError, pose
from panda_dynamics_ros.checks import FloatArray

# A few roundings of numbers of order one: 4.5e-16 each, in products of up to five.
ROUNDING = 1e-14


def random_poses(*shape: int, seed: int = 1) -> FloatArray:
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3] = Rotation.random(count + 1, random_state=seed).as_matrix()[:count]  # SciPy 1.11 refuses none
    T[:, :3, 3] = rng.uniform(-1.0, 1.0, (count, 3))
    return T.reshape(*shape, 4, 4)


def half_turns() -> FloatArray:
    """Exact 180 degree rotations, R = 2 u u^T - 1, about every axis with components in {-1, 0, 1}."""
    axes = np.array([u for u in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(u)])
    u = axes / np.linalg.norm(axes, axis=-1, keepdims=True)
    return 2.0 * u[:, :, None] * u[:, None, :] - np.eye(3)


def test_column_major_is_as_document_001_prints_it():
    T = random_poses(1)[0]
    a = pose.to_column_major(T)
    np.testing.assert_array_equal(a[12:15], T[:3, 3])
    np.testing.assert_array_equal(a[:4], T[:, 0])
    np.testing.assert_array_equal(a[[3, 7, 11, 15]], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (0,)])
def test_leading_dimensions_survive_every_round_trip(shape):
    T = random_poses(*shape)
    np.testing.assert_array_equal(pose.from_column_major(pose.to_column_major(T)), T)
    quat = pose.matrix_to_quaternion(T[..., :3, :3])
    assert quat.shape == (*shape, 4)
    np.testing.assert_allclose(pose.pose_to_matrix(T[..., :3, 3], quat), T, atol=ROUNDING)
    measured = pose.matrix_to_measure_pose(T)
    assert measured.shape == (*shape, 6)
    np.testing.assert_allclose(pose.measure_pose_to_matrix(measured), T, atol=ROUNDING)


def test_quaternions_agree_with_scipy():
    R = random_poses(1000)[:, :3, :3]
    quat = pose.matrix_to_quaternion(R)
    assert (quat[:, 3] >= 0.0).all()
    np.testing.assert_allclose(quat, Rotation.from_matrix(R).as_quat(canonical=True), atol=ROUNDING)
    np.testing.assert_allclose(pose.quaternion_to_matrix(quat), Rotation.from_quat(quat).as_matrix(), atol=ROUNDING)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, -2.5, 1e200])
def test_any_norm_but_zero_is_a_rotation(scale):
    quat = Rotation.random(50, random_state=2).as_quat()
    want = Rotation.from_quat(quat).as_matrix()
    np.testing.assert_allclose(pose.quaternion_to_matrix(scale * quat), want, atol=ROUNDING)


def test_a_zero_quaternion_is_refused():
    with pytest.raises(ValueError, match="non-zero norm"):
        pose.quaternion_to_matrix([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])


def test_half_turns_about_axes_of_mixed_sign():
    R = half_turns()
    quat = pose.matrix_to_quaternion(R)
    np.testing.assert_allclose(pose.quaternion_to_matrix(quat), R, atol=ROUNDING)
    u = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)  # erratum 4
    quat = pose.matrix_to_quaternion(2.0 * np.outer(u, u) - np.eye(3))
    np.testing.assert_allclose(quat, [*u, 0.0], atol=ROUNDING)


@pytest.mark.parametrize("off", [1e-3, 1e-9, 0.0])
def test_almost_half_turns_and_almost_identity(off):
    axes = np.random.default_rng(3).normal(size=(200, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    for angle in (np.pi - off, off):
        R = Rotation.from_rotvec(angle * axes).as_matrix()
        np.testing.assert_allclose(pose.quaternion_to_matrix(pose.matrix_to_quaternion(R)), R, atol=ROUNDING)


def test_a_rotation_has_one_quaternion():
    """Of q and -q the one whose w, or where that is 0 the first entry that is not, is positive."""
    for x, y, z, w in pose.matrix_to_quaternion(np.concatenate((random_poses(500)[:, :3, :3], half_turns()))):
        assert (w or x or y or z) > 0.0


def test_erratum_3():
    qx, qy, qz, qw = pose.matrix_to_quaternion(pose.measure_pose_to_matrix([0, 0, 0, 30.0, 20.0, -50.0])[:3, :3])
    z = np.degrees(np.arctan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy**2 + qz**2)))
    x = np.degrees(np.arctan2(2.0 * (qw * qx + qy * qz), 1.0 - 2.0 * (qx**2 + qy**2)))
    np.testing.assert_allclose([x, z], [30.0, -50.0], atol=1e-12)  # degrees of order 100, so roundings of 1e-14 each


def test_angles_agree_with_scipy():
    xyz = np.random.default_rng(4).uniform([-180.0, -89.0, -180.0], [180.0, 89.0, 180.0], (1000, 3))
    reference = Rotation.from_euler("ZYX", xyz[:, ::-1], degrees=True)
    T = pose.measure_pose_to_matrix(np.hstack([np.zeros_like(xyz), xyz]))
    np.testing.assert_allclose(T[:, :3, :3], reference.as_matrix(), atol=ROUNDING)
    # At y = 89 degrees x and z are 1 / cos(y) = 57 times as sensitive: 57 * 180/pi * a few 1e-16.
    np.testing.assert_allclose(pose.matrix_to_measure_pose(T)[:, 3:], xyz, atol=1e-10)


def test_measure_pose_has_millimetres_then_x_y_z_in_degrees():
    T = pose.measure_pose_to_matrix([306.9, -12.5, 486.0, 180.0, 20.0, -45.0])
    np.testing.assert_allclose(T[:3, 3], [0.3069, -0.0125, 0.486], atol=1e-16)
    Rz, Ry, Rx = (Rotation.from_euler(axis, angle, degrees=True) for axis, angle in (("z", -45), ("y", 20), ("x", 180)))
    np.testing.assert_allclose(T[:3, :3], (Rz * Ry * Rx).as_matrix(), atol=ROUNDING)


@pytest.mark.parametrize("y", [90.0, -90.0])
@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-10, 1e-7, 1e-4])
def test_angles_at_gimbal_lock_are_finite_and_give_the_same_matrix(y, off):
    x, z = np.random.default_rng(5).uniform(-180, 180, (2, 200))
    xyz = np.column_stack([x, np.full(200, y - np.copysign(off, y)), z])
    T = np.tile(np.eye(4), (200, 1, 1))
    T[:, :3, :3] = Rotation.from_euler("ZYX", xyz[:, ::-1], degrees=True).as_matrix()
    measured = pose.matrix_to_measure_pose(T)
    assert np.isfinite(measured).all()
    assert (np.abs(measured[:, 4]) <= 90.0).all()
    # Where z = 0 is chosen, cos(y) <= GIMBAL_LOCK = 1e-12 of the first column is left out.
    np.testing.assert_allclose(pose.measure_pose_to_matrix(measured), T, atol=2e-12)


def test_a_row_major_matrix_is_refused_with_advice():
    T = random_poses(3)
    T[0, :3, 3] = 0.0  # one pose of the batch has no translation: the others tell
    with pytest.raises(PandaDynamicsError, match=r"column-major.*row-major.*transpose"):
        pose.from_column_major(T.reshape(3, 16))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.eye(4), r"a \(16 floats, column-major\): expected shape \(\.\.\., 16\), got \(4, 4\)"),
        (np.diag([1.1, 1.0, 1.0, 1.0]).ravel(), "R R"),
    ],
)
def test_what_is_not_a_pose_is_refused(value, message):
    with pytest.raises(PandaDynamicsError, match=message):
        pose.from_column_major(value)


def test_other_formats_refuse_wrong_shapes():
    with pytest.raises(ValueError, match=r"R: expected shape \(\.\.\., 3, 3\)"):
        pose.matrix_to_quaternion(np.eye(4))
    with pytest.raises(ValueError, match=r"p: expected shape \(\.\.\., 6\)"):
        pose.measure_pose_to_matrix(np.zeros(7))
    with pytest.raises(ValueError, match="last row"):
        pose.to_column_major(np.zeros((4, 4)))
    with pytest.raises(ValueError, match="translation: expected a leading shape"):
        pose.pose_to_matrix(np.zeros((2, 3)), np.ones((3, 4)))
