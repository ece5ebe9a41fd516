# SPDX-License-Identifier: Apache-2.0
"""An arm's own model from its unloaded motion: base parameters and linear friction by weighted least squares.

With zero-phase filtered motion, tau - tau_model = Y_base x + dq f_v + tanh(dq / v) f_c + f_o: 43 + 21 unknowns, the
corrections to the model that one starts from. A joint's samples count as independent every two correlation times
of its residual; a wide prior keeps what the motion does not show where it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import signal

from benchmarks.payload.samples import Samples
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.robot import ResidualModel

CUTOFF, STEP, EVERY = 10.0, 1e-3, 10  # Hz; s; samples of the filtered motion per sample taken
EDGE = 0.1  # s left out at both ends of a stretch
TRANSITION = 0.05  # rad/s, of Coulomb friction
MOMENT_STD, INERTIA_STD = 0.1, 0.03  # kg m and kg m^2, prior of the base parameters' corrections
FRICTION_STD = 0.3  # N m and N m s/rad


def smooth(data: Samples) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """q, dq, ddq, tau (k, n) at 100 Hz, through one zero-phase filter, without the edges."""
    even = np.arange(data.stamp[0], data.stamp[-1], STEP)
    values = np.column_stack([data.q, data.dq, data.tau])
    values = np.column_stack([np.interp(even, data.stamp, column) for column in values.T])
    sections = signal.butter(4, CUTOFF, fs=1.0 / STEP, output="sos")
    q, dq, tau = np.split(signal.sosfiltfilt(sections, values, axis=0), 3, axis=1)
    ddq = np.gradient(dq, STEP, axis=0)
    edge = round(EDGE / STEP)
    q, dq, ddq, tau = (x[edge:-edge:EVERY] for x in (q, dq, ddq, tau))
    return q, dq, ddq, tau


def unexplained(robot: RobotModel, data: Samples) -> FloatArray:
    """(k, n), N m: smooth torque that the model leaves unexplained."""
    q, dq, ddq, tau = smooth(data)
    return tau - robot.inverse_dynamics(q, dq, ddq) - robot.friction_torques(dq)


def _normal_equations(robot: RobotModel, columns: tuple[int, ...], data: Samples) -> tuple[FloatArray, FloatArray]:
    q, dq, ddq, _ = smooth(data)
    n = robot.n
    Y = robot.regressor(q, dq, ddq)[..., columns]
    friction = np.zeros((len(q), n, 3 * n))
    for j in range(n):
        friction[:, j, j] = dq[:, j]
        friction[:, j, n + j] = np.tanh(dq[:, j] / TRANSITION)
        friction[:, j, 2 * n + j] = 1.0
    A = np.concatenate([Y, friction], axis=2)
    weight = EVERY * STEP / (2.0 * robot.residual.correlation_time * robot.residual.std**2)
    weighted = A * weight[:, None]
    weighted, A = weighted.reshape(-1, A.shape[2]), A.reshape(-1, A.shape[2])
    return weighted.T @ A, weighted.T @ unexplained(robot, data).ravel()


def _solution(robot: RobotModel, parts: list[Samples]) -> RobotModel:
    n, columns = robot.n, robot.base_parameters().columns
    prior = [MOMENT_STD if column % 10 < 4 else INERTIA_STD for column in columns] + [FRICTION_STD] * (3 * n)
    L, v = np.diag(1.0 / np.square(prior)), np.zeros(len(prior))
    for part in parts:
        information, vector = _normal_equations(robot, columns, part)
        L, v = L + information, v + vector
    x = np.linalg.solve(L, v)
    theta = np.array(robot.inertial_vector)
    theta[list(columns)] += x[: len(columns)]
    viscous, coulomb, offset = np.asarray(x[len(columns) :], dtype=np.float64).reshape(3, n)
    f = robot.friction
    if f.coulomb.any():
        raise ValueError("robot: expected friction without Coulomb terms, whose width would be mixed with ours")
    friction = replace(
        f, viscous=f.viscous + viscous, coulomb=coulomb, offset=f.offset + offset, transition=np.full(n, TRANSITION)
    )
    links = tuple(InertialParameters.from_vector(vector) for vector in theta.reshape(n, 10))
    return replace(robot, name=f"{robot.name}, own", links=links, friction=friction)


def calibrated(robot: RobotModel, parts: list[Samples]) -> RobotModel:
    """`robot` fitted to unloaded stretches of its motion.

    Its residual model has the RMS of what fits to all other stretches leave of each: what is to be expected on
    unseen motion, rather a little more, since the final fit has seen one stretch more.
    """
    left = [unexplained(_solution(robot, parts[:k] + parts[k + 1 :]), part) for k, part in enumerate(parts)]
    std = np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))
    # Never below a tenth of the published model's, nor above it: then the fit would not be worth having.
    std = np.clip(std, 0.1 * robot.residual.std, robot.residual.std)
    return replace(_solution(robot, parts), residual=ResidualModel(std, robot.residual.correlation_time))
