# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics by the recursive Newton-Euler algorithm (Luh, Walker and Paul 1980), and its special cases.

Every quantity of link i is expressed in joint frame i. Wrenches are taken about the frame's origin, so that they are
linear in the inertial vector (m, m c, I) (De Luca, Robotics 2, slide 4, document 003):
    f = m a + dw x mc + w x (w x mc),    n = I dw + w x (I w) + mc x a.
Gravity enters as an upward acceleration of the base.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import batched, is_one_state, joint_rows, over_rows
from panda_dynamics_ros.dynamics.kernels.vectors import (
    AXIS,
    ZERO,
    add,
    compiled,
    cross,
    dot,
    joint_count,
    placed,
    rotate,
    rotate_back,
    scale,
    store,
    symmetric_times,
    upward,
    vector_at,
)
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, RobotDescription


@compiled
def link_wrench(table, i, a, w, dw):
    """Force and moment about joint frame i's origin that give link i this motion."""
    mass = table[i, INERTIAL]
    mc = vector_at(table, i, INERTIAL + 1)
    k = INERTIAL + 4
    inertia = (table[i, k], table[i, k + 1], table[i, k + 2], table[i, k + 3], table[i, k + 4], table[i, k + 5])
    f = add(scale(mass, a), add(cross(dw, mc), cross(w, cross(w, mc))))
    moment = add(symmetric_times(inertia, dw), cross(w, symmetric_times(inertia, w)))
    return f, add(moment, cross(mc, a))


@compiled
def step_outward(table, i, R, p, dq, ddq, a, w, dw):
    """Acceleration of the origin, angular velocity and acceleration of frame i from those of i - 1."""
    a = rotate_back(R, add(a, add(cross(dw, p), cross(w, cross(w, p)))))
    w, dw = rotate_back(R, w), rotate_back(R, dw)
    if table[i, PRISMATIC] != 0.0:
        return add(a, add(scale(2.0 * dq, cross(w, AXIS)), scale(ddq, AXIS))), w, dw
    return a, (w[0], w[1], w[2] + dq), (dw[0] + w[1] * dq, dw[1] - w[0] * dq, dw[2] + ddq)


@compiled
def newton_euler_sample(table, with_gravity, frames, dq, ddq, wrenches, tau):
    """tau (n,) of one state, its joints placed; `with_gravity` is 1.0 or 0.0, `wrenches` (n, 6) is workspace."""
    a, w, dw = scale(with_gravity, upward(table)), ZERO, ZERO
    for i in range(joint_count(table)):
        R, p = placed(frames, i)
        a, w, dw = step_outward(table, i, R, p, dq[i], ddq[i], a, w, dw)
        f, moment = link_wrench(table, i, a, w, dw)
        store(wrenches, i, 0, f)
        store(wrenches, i, 3, moment)
    project_inward(table, frames, wrenches, tau)


@compiled
def gravity_sample(table, frames, wrenches, tau):
    """tau (n,) of an arm at rest, its joints placed: `newton_euler_sample` without what is zero at rest."""
    up = upward(table)
    for i in range(joint_count(table)):
        up = rotate_back(placed(frames, i)[0], up)
        store(wrenches, i, 0, scale(table[i, INERTIAL], up))
        store(wrenches, i, 3, cross(vector_at(table, i, INERTIAL + 1), up))
    project_inward(table, frames, wrenches, tau)


@compiled
def project_inward(table, frames, wrenches, tau):
    """tau_i is the component along joint i's axis of the wrenches of link i and of all links after it."""
    f, moment = ZERO, ZERO
    for i in range(joint_count(table) - 1, -1, -1):
        f = add(f, vector_at(wrenches, i, 0))
        moment = add(moment, vector_at(wrenches, i, 3))
        tau[i] = dot(AXIS, f) if table[i, PRISMATIC] != 0.0 else dot(AXIS, moment)
        R, p = placed(frames, i)
        f = rotate(R, f)
        moment = add(rotate(R, moment), cross(p, f))


newton_euler_of_one, newton_euler_kernel = batched(newton_euler_sample, columns=6)
gravity_of_one, gravity_kernel = batched(gravity_sample, columns=6)


def inverse_dynamics(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> FloatArray:
    """Joint torques of a motion: tau = M(q) ddq + C(q, dq) dq + g(q), rigid body only.

    Parameters
    ----------
    q, dq, ddq: (..., n), rad, rad/s, rad/s^2 (m for prismatic joints). Leading dimensions broadcast.

    Returns
    -------
    (..., n), N m (N for prismatic joints). Friction is `friction_torques`.

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (..., n).

    Reference: Luh, Walker and Paul 1980; De Luca, Robotics 2, slide 5 (document 003); Gautier and Khalil 1988, eq. (5)
    (document 004).
    """
    if is_one_state(robot, q, dq, ddq):
        tau = np.empty(robot.n)
        if newton_euler_of_one(robot.table, 1.0, q, dq, ddq, tau):
            return tau
    return over_rows(robot, newton_euler_kernel, (robot.n,), 1.0, q=q, dq=dq, ddq=ddq)


def gravity_torques(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Torques that hold the arm still against gravity, g(q): (..., n), N m.

    Parameters
    ----------
    q: (..., n), rad.

    Raises
    ------
    ArgumentError: `q` is not finite, or not of shape (..., n).

    Reference: De Luca, Robotics 2, slide 5, g = dU/dq (document 003): `inverse_dynamics` of an arm at rest.
    """
    if is_one_state(robot, q):
        tau = np.empty(robot.n)
        if gravity_of_one(robot.table, q, tau):
            return tau
    return over_rows(robot, gravity_kernel, (robot.n,), q=q)


def coriolis_torques(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> FloatArray:
    """Coriolis and centrifugal torques, C(q, dq) dq: (..., n), N m.

    Parameters
    ----------
    q, dq: (..., n), rad and rad/s. Leading dimensions broadcast.

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (..., n).

    Reference: De Luca, Robotics 2, slide 5, c(q, dq) (document 003): `inverse_dynamics` without acceleration and
    gravity.
    """
    if is_one_state(robot, q, dq):
        tau = np.empty(robot.n)
        if newton_euler_of_one(robot.table, 0.0, q, dq, np.zeros(robot.n), tau):
            return tau
    shape, (q_rows, dq_rows) = joint_rows(robot, q=q, dq=dq)
    tau = np.empty_like(q_rows)
    newton_euler_kernel(robot.table, 0.0, q_rows, dq_rows, np.zeros_like(q_rows), tau)
    return tau.reshape(*shape, robot.n)
