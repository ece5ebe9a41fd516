# SPDX-License-Identifier: Apache-2.0
"""The arms that come with the package: their data against the numbers that were published, and the Gaz model against
the real Panda that it was identified on: signs, order of joints and units at once."""

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.robot import library_names

# Document 000: the table of modified DH parameters, and the matrix of its equation, row by row.
DH = [
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -np.pi / 2),
    (0.0, 0.316, np.pi / 2),
    (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0.0, 0.0, np.pi / 2),
    (0.088, 0.0, np.pi / 2),
]


def product_of_000(q: np.ndarray) -> np.ndarray:
    """S_H_7 of document 000."""
    T = np.eye(4)
    for (a, d, alpha), theta in zip(DH, q, strict=True):
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        rows = [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
        T = T @ np.array(rows, dtype=float)
    return T


@pytest.mark.parametrize("name", library_names())
def test_every_arm_loads_and_every_link_is_physical(name):
    robot = pdr.load_robot(name)
    assert robot.name == name
    assert robot.n == 7
    assert all(link.is_physical() for link in robot.links)
    assert all(link.mass > 0.3 for link in robot.links)


def test_poses_are_the_products_of_document_000(robot, rng):
    for q in rng.uniform(-3.0, 3.0, (20, 7)):
        # Seven products of numbers below one.
        np.testing.assert_allclose(robot.pose(q, "joint7"), product_of_000(q), rtol=0.0, atol=1e-14)


def test_a_real_arm_stays_within_the_limits(panda, panda_1khz_log):
    data, limits = pdr.load_dataset(panda_1khz_log), panda.limits
    assert (data.q > limits.lower).all()
    assert (data.q < limits.upper).all()
    assert (np.abs(data.tau) < limits.effort).all()
    # Its motion was made for 85 % of the limits of velocity, and reached 60 to 90 % in each joint.
    speed = np.abs(data.dq).max(axis=0) / limits.velocity
    assert speed.min() > 0.5
    assert speed.max() < 1.0


# RMS of tau - rigid - friction that was published with the log, N m.
PUBLISHED_RESIDUAL = np.array([0.26, 0.58, 0.24, 0.29, 0.15, 0.10, 0.07])
SMOOTHING = 0.02  # s, standard deviation of a Gaussian: passes 8 Hz, and the motion ends near 1 Hz


@pytest.fixture(scope="module")
def samples(panda_1khz_log):
    """q, dq, ddq, tau on an even 1 kHz grid, smoothed without lag; ddq is the derivative of the smoothed dq."""
    log = np.loadtxt(panda_1khz_log, delimiter=",", skiprows=1)
    time = np.arange(log[0, 0], log[-1, 0], 1e-3)
    even = np.stack([np.interp(time, log[:, 0], column) for column in log.T[1:]], axis=-1)
    u = np.arange(-0.1, 0.1005, 1e-3)
    weights = np.exp(-0.5 * (u / SMOOTHING) ** 2)
    weights /= weights.sum()
    smooth = np.stack([np.convolve(column, weights, "valid") for column in even.T], axis=-1)
    slopes = np.stack([np.convolve(column, -u / SMOOTHING**2 * weights, "valid") for column in even.T], axis=-1)
    return smooth[:, :7], smooth[:, 7:14], slopes[:, 7:14], smooth[:, 14:]


def rms(residual: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((residual**2).mean(axis=0)))


def test_residual_is_the_published_one(panda, samples):
    q, dq, ddq, tau = samples
    residual = rms(tau - panda.inverse_dynamics(q, dq, ddq) - panda.friction_torques(dq))
    # The published figures have two digits, are of the whole log, and were smoothed otherwise.
    np.testing.assert_allclose(residual, PUBLISHED_RESIDUAL, rtol=0.2)


def test_every_part_of_the_model_explains_something(panda, samples):
    q, dq, ddq, tau = samples
    friction, gravity = panda.friction_torques(dq), panda.gravity_torques(q)
    full = rms(tau - panda.inverse_dynamics(q, dq, ddq) - friction)
    assert (full < rms(tau - panda.inverse_dynamics(q, dq, ddq))).all(), "without friction"
    assert (full < rms(tau - gravity)).all(), "at rest"
    # Joints 5 to 7 have next to no velocity products; in the others these are well above the residual.
    assert (full < rms(tau - panda.inverse_dynamics(q, 0 * dq, ddq) - friction))[:4].all(), "without Coriolis"


def test_residual_model_of_the_library_is_that_of_the_log(panda):
    """What the estimator takes for the disturbance's level is what the log has."""
    np.testing.assert_allclose(panda.residual.std, PUBLISHED_RESIDUAL, rtol=1e-12)
