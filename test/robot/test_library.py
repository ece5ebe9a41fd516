# SPDX-License-Identifier: Apache-2.0
"""The arms that come with the package: their data against the numbers that were published."""

from pathlib import Path

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
def test_every_arm_loads_and_every_link_is_physical(name: str) -> None:
    robot = pdr.load_robot(name)
    assert robot.name == name
    assert robot.n == 7
    assert all(link.is_physical() for link in robot.links)
    assert all(link.mass > 0.3 for link in robot.links)


def test_poses_are_the_products_of_document_000(robot: pdr.RobotModel, rng: np.random.Generator) -> None:
    for q in rng.uniform(-3.0, 3.0, (20, 7)):
        # Seven products of numbers below one.
        np.testing.assert_allclose(robot.pose(q, "joint7"), product_of_000(q), rtol=0.0, atol=1e-14)


def test_a_real_arm_stays_within_the_limits(panda: pdr.RobotModel, panda_1khz_log: Path) -> None:
    data, limits = pdr.load_dataset(panda_1khz_log), panda.limits
    assert (data.q > limits.lower).all()
    assert (data.q < limits.upper).all()
    assert (np.abs(data.tau) < limits.effort).all()
    # Its motion was made for 85 % of the limits of velocity, and reached 60 to 90 % in each joint.
    speed = np.abs(data.dq).max(axis=0) / limits.velocity
    assert speed.min() > 0.5
    assert speed.max() < 1.0
