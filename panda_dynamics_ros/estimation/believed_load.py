# SPDX-License-Identifier: Apache-2.0
"""The load that Franka's own model contains, from a recording with its external torques.

tau_J - tau_ext_hat_filtered is the torque of Franka's model: of the arm, the end effector that is set in Desk, and
the load of `setLoad`. What our model leaves of it is that of the load, and of an end effector that our model does not
have. With low-pass filters F (see `regression`), offsets o by which the two models differ, and white noise e,

    F[tau_J - tau_ext - arm] = F[Y] theta + o + e,

solved by weighted least squares with priors of theta and o. Friction has no part in it: Franka's model has none.
"""

from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.estimate import com_covariance
from panda_dynamics_ros.estimation.regression import ARM, recorded_rows
from panda_dynamics_ros.robot import RobotDescription

BANDWIDTH = 1.0  # Hz: well below that of tau_ext_hat_filtered, whose own delay then hardly matters
ROW = 0.05  # s from one row of the regression to the next
CORRELATION = 0.5  # s over which what neither explains is alike
MODEL_OFFSET = 0.07  # N m: by as much two models of the same arm differ in gravity
MODEL_MASS = 0.015  # kg: what such offsets, which change with the posture, may pretend at half a metre
PRIOR = np.concatenate([[10.0], np.full(3, 1.0), np.full(6, 0.02)])  # kg, kg m, kg m^2
LEAST_ROWS, MAX_GAP = 20, 0.5  # the gap in s


class BelievedLoad(NamedTuple):
    """What Franka's model carries beyond our model of the arm, with standard deviations.

    mass, mass_std: kg.
    com, com_std: (3,), m, in the flange frame; std is infinite in effect (metres) where the mass is small.
    """

    mass: float
    mass_std: float
    com: FloatArray
    com_std: FloatArray


def believed_load(
    robot: RobotDescription, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray, tau_ext: FloatArray
) -> BelievedLoad | None:
    """The load in Franka's model, from N samples.

    robot: our model of the arm, with the end effector if Franka's is not to be counted as load.
    stamp: (N,), s, increasing. q, dq, tau, tau_ext: (N, n), rad, rad/s, N m: Franka's tau_J and tau_ext_hat_filtered.
    Returns none where there is less than a second of samples with finite tau_ext.
    """
    n, model = robot.n, tau - tau_ext
    k = np.isfinite(model).all(axis=1)
    found = recorded_rows(robot.without_friction(), stamp[k], q[k], dq[k], model[k], BANDWIDTH, ROW, MAX_GAP)
    rows = [np.hstack((filtered[:, : ARM + 1], np.eye(n))) for _, _, filtered in found]
    if len(rows) < LEAST_ROWS:
        return None
    A, torques = np.delete(rows, ARM, axis=2), np.array(rows)[..., ARM]
    prior = np.diag(np.concatenate([PRIOR, np.full(n, MODEL_OFFSET)]) ** -2.0)
    variance = np.full(n, MODEL_OFFSET**2)
    for _ in range(3):  # until the joints' noise and the solution agree
        weighted = A * (ROW / CORRELATION / variance)[:, None]
        covariance = np.linalg.inv(np.einsum("kji,kjl->il", weighted, A) + prior)
        theta = covariance @ np.einsum("kji,kj->i", weighted, torques)
        variance = np.maximum(((torques - A @ theta) ** 2).mean(axis=0), 1e-4 * MODEL_OFFSET**2)
    mass = max(float(theta[0]), 1e-3)
    com = theta[1:4] / mass
    com_std = np.sqrt(np.diag(com_covariance(mass, com, covariance)))
    return BelievedLoad(float(theta[0]), float(np.hypot(np.sqrt(covariance[0, 0]), MODEL_MASS)), com, com_std)
