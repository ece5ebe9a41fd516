# SPDX-License-Identifier: Apache-2.0
"""Friction torques, and the direction of dry friction along the way of the joints."""

import math

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import joint_rows
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.joints import PRESLIDING


@compiled
def sigmoid(x):
    """1 / (1 + e^-x); 0 where e^-x overflows."""
    return 1.0 / (1.0 + math.exp(-x))


@compiled
def friction_of_joint(row, v, s):
    """Friction torque of one joint, by its row (9,) of a `Friction.table`, velocity v and direction s of dry friction.

    s: of `presliding_states`, or tanh(v / row[3]) in the steady state.
    """
    dry = row[1]
    if row[7] != 0.0:  # Stribeck
        dry += row[7] * math.exp(-((v / row[8]) ** 2))
    amplitude, slope, shift = row[4], row[5], row[6]
    return row[0] * v + dry * s + row[2] + amplitude * (sigmoid(slope * (v + shift)) - sigmoid(slope * shift))


@compiled
def friction_memory_kernel(friction, dq, s, tau):
    """tau (rows, n) of joint velocities dq and directions of dry friction s (rows, n)."""
    for k in range(dq.shape[0]):
        for i in range(dq.shape[1]):
            tau[k, i] = friction_of_joint(friction[i], dq[k, i], s[k, i])


def friction_torques(robot: RobotDescription, dq: ArrayLike, presliding: ArrayLike | None = None) -> FloatArray:
    """Friction torques: viscous, Coulomb, offset, sigmoid and Stribeck terms.

    dq: (..., n), rad/s.
    presliding: (..., n), direction s of dry friction in [-1, 1] (`presliding_states`); by default
        its steady state at constant velocity, tanh(dq / transition).
    Returns (..., n), N m: measured torque = inverse_dynamics + friction_torques.

    Reference: Gaz et al., RA-L 2019, supplementary material, eq. (1); De Luca, Robotics 2, slide 7 (document 003). The
    terms are written out in `Friction`.
    """
    shape, rows = joint_rows(robot, dq=dq, **({} if presliding is None else {"presliding": presliding}))
    s = np.tanh(rows[0] / robot.friction.transition) if presliding is None else rows[1]
    tau = np.empty_like(rows[0])
    friction_memory_kernel(robot.friction.table, rows[0], s, tau)
    return tau.reshape(*shape, robot.n)


@compiled
def presliding_step(bounds, before, after):
    """Move the bounds (2, n) of the direction s of dry friction, in place, along the way from q to q (n,), rad.

        s <- clip(s + (after - before) / PRESLIDING, -1, 1)

    Measured positions, never the integral of a velocity: differences of positions add up to where the joint is,
    however noisy they are, so that s stays what it is while the joint rests.
    """
    for b in range(2):
        for i in range(after.shape[0]):
            bounds[b, i] = min(max(bounds[b, i] + (after[i] - before[i]) / PRESLIDING, -1.0), 1.0)


@compiled
def presliding_rows(q, bounds, s, half_width):
    """s and its half width (N, n) along positions q (N, n), from the bounds (2, n) before the first, in place."""
    for k in range(q.shape[0]):
        presliding_step(bounds, q[max(k - 1, 0)], q[k])
        for i in range(q.shape[1]):
            s[k, i] = 0.5 * (bounds[0, i] + bounds[1, i])
            half_width[k, i] = 0.5 * (bounds[1, i] - bounds[0, i])


def presliding_states(q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Direction s of dry friction (`robot.Friction`) along a recording without gaps.

    Where the joint began is unknown, so that s starts from both ends, -1 and 1: it is the middle between the two, its
    half width half their distance. They meet for good once the joint has gone twice PRESLIDING one way. A position that
    is wrong for one sample does harm; lost samples do not.

    q: (N, n), measured positions, rad, as they are: a low-pass comes after, since the element is not linear.
    Returns s, half_width: (N, n), in [-1, 1] and [0, 1].
    Raises ArgumentError: q is not a finite array (N, n).
    """
    rows = checks.real_array(q, "q")
    if rows.ndim != 2:
        raise ArgumentError(f"q: expected shape (N, n), got {rows.shape}")
    s, half_width = np.empty((2, *rows.shape))
    presliding_rows(checks.for_kernel(rows), np.outer([-1.0, 1.0], np.ones(rows.shape[1])), s, half_width)
    return s, half_width
