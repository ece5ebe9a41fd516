# SPDX-License-Identifier: Apache-2.0
"""An arm that swings freely keeps its energy: forward dynamics, kinematics and gravity in one check."""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_chain
from oracles import potential_energy

import panda_dynamics_ros as pdr


def total_energy(robot: pdr.RobotModel, q: np.ndarray, dq: np.ndarray) -> float:
    return float(0.5 * dq @ robot.mass_matrix(q) @ dq + potential_energy(robot, q))


def swing(robot: pdr.RobotModel, q: np.ndarray, dq: np.ndarray, dt: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Free motion by the classical Runge-Kutta method of fourth order."""
    zero = np.zeros(robot.n)
    for _ in range(steps):
        k1, a1 = dq, robot.forward_dynamics(q, dq, zero)
        k2 = dq + 0.5 * dt * a1
        a2 = robot.forward_dynamics(q + 0.5 * dt * k1, k2, zero)
        k3 = dq + 0.5 * dt * a2
        a3 = robot.forward_dynamics(q + 0.5 * dt * k2, k3, zero)
        k4 = dq + dt * a3
        a4 = robot.forward_dynamics(q + dt * k3, k4, zero)
        q = q + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        dq = dq + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q, dq


@pytest.mark.parametrize("name", ["panda", "chain"])
def test_free_swing_keeps_its_energy(name: str) -> None:
    robot = random_chain(4, seed=13) if name == "chain" else pdr.load_robot(name)
    q0 = np.linspace(0.4, -0.6, robot.n)
    start = total_energy(robot, q0, np.zeros(robot.n))
    errors = []
    for steps in (200, 400):
        q, dq = swing(robot, q0, np.zeros(robot.n), 0.4 / steps, steps)
        kinetic = 0.5 * dq @ robot.mass_matrix(q) @ dq
        assert kinetic > 1.0, "the arm hardly moved"  # J
        errors.append(abs(total_energy(robot, q, dq) - start) / kinetic)
    assert errors[0] < 1e-7, errors  # seen: 4e-9
    # The rest is the integrator's: halving the step takes 2^4 or 2^5 off, where a wrong equation would take nothing.
    assert errors[1] < errors[0] / 12 or errors[1] < 1e-12, errors
