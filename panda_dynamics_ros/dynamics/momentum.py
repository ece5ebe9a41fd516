# SPDX-License-Identifier: Apache-2.0
"""Generalized momentum and what drives it: the dynamics without accelerations.

With p = M(q) dq and Mdot = C + C^T, the equation of motion becomes
    dp/dt = tau - bias,    bias = g(q) - C(q, dq)^T dq,
as in the momentum observer of De Luca and Mattone (ICRA 2005). Both p and the bias are linear in the
inertial parameters. For link momentum h_i and H_j = sum of h_i over the links that joint j moves,
    p_j = S_j . H_j,    (C^T dq)_j = (V_j x S_j) . H_j,
which is dT/dq_j of the kinetic energy of document 004, eq. (6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.batch import joint_rows
from panda_dynamics_ros.dynamics.body_regressor import project, unit_twists, wrench_regressor
from panda_dynamics_ros.dynamics.newton_euler import AXIS, link_wrench
from panda_dynamics_ros.dynamics.vectors import (
    ZERO,
    add,
    compiled,
    cross,
    dot,
    placement,
    rotate,
    rotate_back,
    scale,
    store,
    vector_at,
)
from panda_dynamics_ros.robot.description import PRISMATIC, TRANSLATION, RobotDescription


@compiled
def momentum_sample(table, q, dq, work, p, bias):
    """p (n,) and bias (n,) of the arm; `work` (n, 18) holds velocity, momentum and weight of each link."""
    n = q.shape[0]
    v, w = ZERO, ZERO
    up = scale(-1.0, vector_at(table, n + 2, TRANSLATION))
    for i in range(n):
        R, r = placement(table, i, q[i])
        v, w, up = rotate_back(R, add(v, cross(w, r))), rotate_back(R, w), rotate_back(R, up)
        if table[i, PRISMATIC] != 0.0:
            v = (v[0], v[1], v[2] + dq[i])
        else:
            w = (w[0], w[1], w[2] + dq[i])
        store(work, i, 0, v)
        store(work, i, 3, w)
        linear, angular = link_wrench(table, i, v, ZERO, w)
        store(work, i, 6, linear)
        store(work, i, 9, angular)
        force, moment = link_wrench(table, i, up, ZERO, ZERO)
        store(work, i, 12, force)
        store(work, i, 15, moment)
    linear, angular, force, moment = ZERO, ZERO, ZERO, ZERO
    for i in range(n - 1, -1, -1):
        linear, angular = add(linear, vector_at(work, i, 6)), add(angular, vector_at(work, i, 9))
        force, moment = add(force, vector_at(work, i, 12)), add(moment, vector_at(work, i, 15))
        w = vector_at(work, i, 3)
        if table[i, PRISMATIC] != 0.0:
            p[i] = linear[2]
            bias[i] = force[2] - dot(cross(w, AXIS), linear)
        else:
            p[i] = angular[2]
            v = vector_at(work, i, 0)
            bias[i] = moment[2] - dot(cross(v, AXIS), linear) - dot(cross(w, AXIS), angular)
        R, r = placement(table, i, q[i])
        linear, force = rotate(R, linear), rotate(R, force)
        angular = add(rotate(R, angular), cross(r, linear))
        moment = add(rotate(R, moment), cross(r, force))


@compiled
def momentum_kernel(table, q, dq, p, bias):
    """p and bias (rows, n) of joint positions and velocities (rows, n)."""
    work = np.empty((q.shape[1], 18))
    for k in range(q.shape[0]):
        momentum_sample(table, q[k], dq[k], work, p[k], bias[k])


@compiled
def payload_momentum_sample(table, frame, q, dq, S, A_momentum, A_weight, Y_momentum, Y_bias):
    """Regressors (n, 10) of a payload in `frame`; S (n, 6), A_* (6, 10) are workspace."""
    n = q.shape[0]
    R = unit_twists(table, n, frame, q, S)
    v, w = ZERO, ZERO
    for j in range(n):
        v = add(v, scale(dq[j], vector_at(S, j, 0)))
        w = add(w, scale(dq[j], vector_at(S, j, 3)))
    up = rotate_back(R, scale(-1.0, vector_at(table, n + 2, TRANSLATION)))
    wrench_regressor(v, ZERO, w, A_momentum)
    wrench_regressor(up, ZERO, ZERO, A_weight)
    v, w = ZERO, ZERO
    for j in range(n):
        linear, angular = vector_at(S, j, 0), vector_at(S, j, 3)
        v, w = add(v, scale(dq[j], linear)), add(w, scale(dq[j], angular))
        project(S[j], A_weight, Y_bias[j])
        # V_j x S_j, the rate of S_j with its own link's motion.
        store(S, j, 0, add(cross(w, linear), cross(v, angular)))
        store(S, j, 3, cross(w, angular))
        project(S[j], A_momentum, Y_momentum[j])
        for k in range(10):
            Y_bias[j, k] -= Y_momentum[j, k]
        store(S, j, 0, linear)
        store(S, j, 3, angular)
        project(S[j], A_momentum, Y_momentum[j])


@compiled
def payload_momentum_kernel(table, frame, q, dq, Y_momentum, Y_bias):
    """Regressors (rows, n, 10) of joint positions and velocities (rows, n), for a payload in `frame`."""
    S, A_momentum, A_weight = np.empty((q.shape[1], 6)), np.empty((6, 10)), np.empty((6, 10))
    for k in range(q.shape[0]):
        payload_momentum_sample(table, frame, q[k], dq[k], S, A_momentum, A_weight, Y_momentum[k], Y_bias[k])


def momentum(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Generalized momentum p = M(q) dq and bias = g(q) - C(q, dq)^T dq, so that dp/dt = tau - bias.

    Parameters
    ----------
    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.

    Returns
    -------
    p: (..., n), N m s (N s for prismatic joints).
    bias: (..., n), N m (N for prismatic joints).

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (..., n).

    Reference: De Luca and Mattone, ICRA 2005.
    """
    shape, (q_rows, dq_rows) = joint_rows(robot, q=q, dq=dq)
    p, bias = np.empty_like(q_rows), np.empty_like(q_rows)
    momentum_kernel(robot.table, q_rows, dq_rows, p, bias)
    return p.reshape(*shape, robot.n), bias.reshape(*shape, robot.n)


def payload_momentum_regressors(
    robot: RobotDescription, q: ArrayLike, dq: ArrayLike, frame: str = "flange"
) -> tuple[FloatArray, FloatArray]:
    """Regressors of a payload's momentum and bias: p_L = Y_p theta, bias_L = Y_b theta.

    Parameters
    ----------
    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.
    frame: the frame of the payload's inertial vector theta: flange, ee or the last joint.

    Returns
    -------
    Y_p, Y_b: (..., n, 10); the payload's torque is d/dt(Y_p theta) + Y_b theta.

    Raises
    ------
    ArgumentError: an argument is not finite or not of shape (..., n), or the frame is not in the last link.

    Reference: De Luca and Mattone, ICRA 2005, for the momentum; document 003, slides 4 and 20, for theta.
    """
    robot.last_joint_frame(frame)
    shape, (q_rows, dq_rows) = joint_rows(robot, q=q, dq=dq)
    Y_momentum = np.empty((len(q_rows), robot.n, 10))
    Y_bias = np.empty_like(Y_momentum)
    payload_momentum_kernel(robot.table, robot.frame_index(frame), q_rows, dq_rows, Y_momentum, Y_bias)
    return Y_momentum.reshape(*shape, robot.n, 10), Y_bias.reshape(*shape, robot.n, 10)
