# SPDX-License-Identifier: Apache-2.0
"""Friction torques of a robot's friction parameters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.kernels.batch import finite, is_one_state, joint_rows
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.description import RobotDescription


@compiled
def sigmoid(x):
    """1 / (1 + e^-x); 0 where e^-x overflows."""
    return 1.0 / (1.0 + math.exp(-x))


@compiled
def friction_sample(friction, dq, tau):
    """tau (n,) of joint velocities dq (n,) for a `Friction.table` (n, 9)."""
    for i in range(dq.shape[0]):
        viscous, coulomb, offset, transition = friction[i, 0], friction[i, 1], friction[i, 2], friction[i, 3]
        amplitude, slope, shift = friction[i, 4], friction[i, 5], friction[i, 6]
        v = dq[i]
        if friction[i, 7] != 0.0:  # Stribeck
            coulomb += friction[i, 7] * math.exp(-((v / friction[i, 8]) ** 2))
        linear = viscous * v + coulomb * math.tanh(v / transition) + offset
        tau[i] = linear + amplitude * (sigmoid(slope * (v + shift)) - sigmoid(slope * shift))


@compiled
def friction_of_one(friction, dq, tau):
    """tau (n,) of joint velocities dq (n,); False if they are not finite."""
    friction_sample(friction, dq, tau)
    return finite(dq)


@compiled
def friction_kernel(friction, dq, tau):
    """tau (rows, n) of joint velocities dq (rows, n)."""
    for k in range(dq.shape[0]):
        friction_sample(friction, dq[k], tau[k])


def friction_torques(robot: RobotDescription, dq: ArrayLike) -> FloatArray:
    """Friction torques: viscous, Coulomb, offset, sigmoid and Stribeck terms.

    Parameters
    ----------
    dq: (..., n), rad/s.

    Returns
    -------
    (..., n), N m: measured torque = inverse_dynamics + friction_torques.

    Raises
    ------
    ArgumentError: `dq` is not finite, or not of shape (..., n).

    Reference: Gaz et al., RA-L 2019, supplementary material, eq. (1); De Luca, Robotics 2, slide 7 (document 003). The
    terms are written out in `Friction`.
    """
    if is_one_state(robot, dq):
        tau = np.empty(robot.n)
        if friction_of_one(robot.friction.table, dq, tau):
            return tau
    shape, (dq_rows,) = joint_rows(robot, dq=dq)
    tau = np.empty_like(dq_rows)
    friction_kernel(robot.friction.table, dq_rows, tau)
    return tau.reshape(*shape, robot.n)
