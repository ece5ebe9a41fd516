# SPDX-License-Identifier: Apache-2.0
"""The sparse Gaussian process against the dense formulas, and its file against whatever else a file may hold."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest
import yaml

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.residual_map import MOST_POINTS, ResidualMap, coordinates, covariance

ROWS, SLOW = 150, 0.05  # rad/s: at constant velocity s = tanh(dq / SLOW)


def states(rng: np.random.Generator, count: int = ROWS) -> tuple[FloatArray, FloatArray]:
    """Postures within a few tenths of a radian: near enough to say something about each other."""
    return rng.uniform(-0.2, 0.2, (count, 7)), rng.uniform(0.1, 0.3, (count, 7))


def steady(q, dq):
    """The map's coordinates at constant velocity."""
    return coordinates(q, dq, np.tanh(dq / SLOW))


def learnt(panda: pdr.RobotModel, q: FloatArray, dq: FloatArray, y: FloatArray) -> pdr.RobotModel:
    """The arm with a map whose inducing points are the rows themselves: then the sparse process is the dense one."""
    points = steady(q, dq)
    k = covariance(points, points)
    known = ResidualMap(points, k @ k, k @ y, (y**2).sum(axis=0), np.array(float(len(y))), panda.residual.std)
    return replace(panda, residual_map=known)


def residual_torques(robot, q, dq, s=None):
    """Mean and standard deviation (N, 7), N m, as the estimator has them; s is that of constant velocity."""
    known, s = robot.residual_map, np.tanh(dq / SLOW) if s is None else s
    mean, unexplained = (np.array(each) for each in zip(*map(known.at, coordinates(q, dq, s)), strict=True))
    return mean, known.sigma * np.sqrt(unexplained)


@pytest.fixture
def arm(panda, rng):
    """A robot with a map, and the rows q, dq, y that it was learnt from."""
    q, dq = states(rng)
    y = 0.2 * np.sin(q + np.roll(q, 1, axis=1)) + 0.05 * rng.standard_normal(q.shape)
    return learnt(panda, q, dq, y), q, dq, y


def test_mean_and_variance_are_those_of_the_dense_process(arm, rng):
    robot, q, dq, y = arm
    new_q, new_dq = states(rng, 20)
    mean, std = residual_torques(robot, new_q, new_dq)
    known = robot.residual_map
    x, new = steady(q, dq), steady(new_q, new_dq)
    for j in range(7):
        K = covariance(x, x) + (known.noise[j] / known.sigma[j]) ** 2 * np.eye(ROWS)
        k = covariance(new, x)
        # The jitter on K(Z, Z), and points that count as far, make up the difference.
        np.testing.assert_allclose(mean[:, j], k @ np.linalg.solve(K, y[:, j]), atol=1e-3)
        variance = 1.0 - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
        np.testing.assert_allclose((std[:, j] / known.sigma[j]) ** 2, variance, atol=3e-3)


def test_noise_is_the_most_likely_one(arm):
    robot, q, dq, y = arm
    known = robot.residual_map
    x = steady(q, dq)
    for j in range(7):

        def log_likelihood(noise: float, j: int = j) -> float:
            C = known.sigma[j] ** 2 * covariance(x, x) + noise**2 * np.eye(ROWS)
            return float(-0.5 * (y[:, j] @ np.linalg.solve(C, y[:, j]) + np.linalg.slogdet(C)[1]))

        best = known.noise[j]
        # A step of the grid is 21 %.
        assert log_likelihood(best) >= max(log_likelihood(best / 1.21), log_likelihood(1.21 * best)) - 1e-3


def test_where_nothing_was_learnt_there_is_the_prior(arm, panda):
    robot, q, dq, _ = arm
    mean, std = residual_torques(robot, q + 3.0, dq)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(std, np.broadcast_to(panda.residual.std, std.shape), rtol=1e-12)


def test_an_arm_at_rest_has_the_residual_of_the_way_on_which_it_came(panda):
    """A residual of the sign of dq, learnt in slow motion to and fro at one place; then the arm stands there."""
    dq = np.repeat(np.array([[1.0], [-1.0]]), ROWS, axis=0) * np.full(7, 0.2)
    y = 0.1 * np.sign(dq)
    robot = learnt(panda, np.zeros_like(dq) + np.linspace(0.0, 1e-3, len(dq))[:, None], dq, y)
    rest = np.zeros((2, 7))
    mean, std = residual_torques(robot, rest, rest, np.sign(dq[[0, -1]]))
    # What dq alone tells: k = exp(-(0.2 / SPEED)^2 7 / 2) = 0.87.
    np.testing.assert_allclose(mean, 0.87 * y[[0, -1]], rtol=0.1)
    assert (std < 0.6 * panda.residual.std).all()
    np.testing.assert_allclose(residual_torques(robot, rest, rest)[0], 0.0, atol=0.01)


def test_other_arms_have_no_map(arm):
    robot = arm[0]
    assert robot.mounted((np.pi, 0.0, 0.0)).residual_map is None
    assert robot.without_friction().residual_map is None
    assert robot.mounted().residual_map is robot.residual_map


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("points", np.zeros((MOST_POINTS + 1, 21)), "at most"),
        ("points", np.zeros((ROWS, 20)), "expected shape"),
        ("gram", np.full((ROWS, ROWS), np.nan), "finite"),
        ("gram", np.triu(np.ones((ROWS, ROWS))), "symmetric"),
        ("gram", np.eye(ROWS) - 2.0 * np.eye(ROWS)[[0]].T @ np.eye(ROWS)[[0]], "positive semi-definite"),
        ("rows", np.array(-1.0), "no negative"),
        ("sigma", np.zeros(7), "positive"),
    ],
)
def test_what_is_no_map_is_refused(arm, field, value, message):
    known = arm[0].residual_map
    with pytest.raises(ArgumentError, match=message):
        replace(known, **{field: value})


@pytest.fixture
def saved(arm, tmp_path):
    return pdr.write_robot(arm[0], tmp_path / "mine.yaml")


def test_a_file_brings_the_map_back_bit_for_bit(arm, saved):
    before, after = arm[0].residual_map, pdr.load_robot(saved).residual_map
    for name in ("points", "gram", "moment", "square", "rows", "sigma"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_a_path_out_of_the_folder_is_refused(saved):
    content = yaml.safe_load(saved.read_text())
    for name in ("../mine.residual.npz", "/etc/passwd", 3, ["mine.residual.npz"]):
        saved.write_text(yaml.safe_dump(content | {"residual_map": name}))
        with pytest.raises(RobotDescriptionError, match="file beside"):
            pdr.load_robot(saved)
    saved.write_text(yaml.safe_dump(content | {"residual_map": "other.npz"}))
    with pytest.raises(RobotDescriptionError, match=r"other\.npz"):
        pdr.load_robot(saved)


def test_a_file_of_something_else_is_refused(saved):
    path = saved.with_name("mine.residual.npz")
    whole = path.read_bytes()
    with np.load(path) as content:
        arrays = dict(content)
    np.savez(path, **arrays | {"points": np.array([{"a": 1}], dtype=object)})  # a pickle, which would run code
    with pytest.raises(RobotDescriptionError, match=r"mine\.residual\.npz"):
        pdr.load_robot(saved)
    np.savez_compressed(path, **arrays | {"points": np.zeros((1000, 1000))})  # larger once unpacked
    with pytest.raises(RobotDescriptionError, match="at most"):
        pdr.load_robot(saved)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("points.npy", b"")
    with pytest.raises(RobotDescriptionError, match="something else"):
        pdr.load_robot(saved)
    rng = np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(whole[: int(rng.integers(1, len(whole) + 1))])
        for place in rng.integers(0, len(damaged), 8):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        with pytest.raises(RobotDescriptionError):
            pdr.load_robot(saved)
