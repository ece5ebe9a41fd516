# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics by the recursive Newton-Euler algorithm (Luh, Walker and Paul 1980), and its special cases.

Every quantity of link i is expressed in joint frame i. Wrenches are taken about the frame's origin, so that they are
linear in the inertial vector (m, m c, I) (De Luca, Robotics 2, slide 4, document 003):
    f = m a + dw x mc + w x (w x mc),    n = I dw + w x (I w) + mc x a.
Gravity enters as an upward acceleration of the base. `link_side_torques` converts a driver's effort.
"""

import numpy as np
from numpy import zeros
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels import blocks, chain
from panda_dynamics_ros.dynamics.kernels.batch import finite, of_states
from panda_dynamics_ros.dynamics.kernels.blocks import BLOCK, FREE, get, put
from panda_dynamics_ros.dynamics.kernels.compiled import compiled, part
from panda_dynamics_ros.dynamics.kernels.vectors import ZERO, add, cross, fetch, rotate, rotate_back, scale, store
from panda_dynamics_ros.robot.description import CURRENT, MEASURED, PRISMATIC, WITHOUT_GRAVITY, RobotDescription


@part
def step_outward(sliding, X, dq, ddq, a, w, dw):
    """Acceleration of the origin, angular velocity and acceleration of frame i, placed by X, from those of i - 1.

    `sliding` is 1.0 for a prismatic joint and 0.0 for a revolute one: a branch would keep the vectoriser away.
    """
    R, p = X
    a = rotate_back(R, add(a, add(cross(dw, p), cross(w, cross(w, p)))))
    w, dw = rotate_back(R, w), rotate_back(R, dw)
    slid, turned = sliding * dq, (1.0 - sliding) * dq
    a = (a[0] + 2.0 * slid * w[1], a[1] - 2.0 * slid * w[0], a[2] + sliding * ddq)
    dw = (dw[0] + w[1] * turned, dw[1] - w[0] * turned, dw[2] + (1.0 - sliding) * ddq)
    return a, (w[0], w[1], w[2] + turned), dw


@part
def to_parent(X, f, moment):
    """Force, and moment about the origin, in the axes of the parent in which X places the frame, about its origin."""
    f = rotate(X[0], f)
    return f, add(rotate(X[0], moment), cross(X[1], f))


@part
def link_wrenches(table, first, motion, frames, dq, ddq, wrenches):
    """Wrenches (n, 6) of link `first` and all beyond; the one before it has the motion (a, w, dw)."""
    a, w, dw = motion
    for i in range(first, chain.joint_count(table)):
        a, w, dw = step_outward(table[i, PRISMATIC], chain.placed(frames, i), dq[i], ddq[i], a, w, dw)
        f, moment = chain.link_wrench(chain.link_body(table, i), a, w, dw)
        store(wrenches, i, 0, f)
        store(wrenches, i, 3, moment)


@part
def newton_euler_sample(table, with_gravity, frames, dq, ddq, wrenches, tau):
    """tau (n,) of one state, its joints placed; `with_gravity` is 1.0 or 0.0, `wrenches` (n, 6) is workspace."""
    base = scale(with_gravity, chain.upward(table)), ZERO, ZERO
    link_wrenches(table, 0, base, frames, dq, ddq, wrenches)
    joint_torques(table, frames, wrenches, tau)


@part
def joint_torques(table, frames, wrenches, tau):
    """tau_i (n,): the component along joint i's axis of the wrenches (n, 6) of link i and of all links after it."""
    f, moment = ZERO, ZERO
    for i in range(chain.joint_count(table) - 1, -1, -1):
        f, moment = add(f, fetch(wrenches, i, 0)), add(moment, fetch(wrenches, i, 3))
        tau[i] = f[2] if chain.slides(table, i) else moment[2]
        f, moment = to_parent(chain.placed(frames, i), f, moment)


@compiled
def newton_euler_of_one(table, with_gravity, q, dq, ddq, tau):
    """tau of stacked states; whether they are finite."""
    n = chain.joint_count(table)
    frames, wrenches = np.empty((n, 12)), np.empty((n, 6))
    for k in range(0, q.shape[0], n):
        chain.place_joints(table, q[k : k + n], frames)
        newton_euler_sample(table, with_gravity, frames, dq[k : k + n], ddq[k : k + n], wrenches, tau[k : k + n])
    return finite(tau)


@compiled
def gravity_of_one(table, q, tau):
    """tau of arms at rest, as `newton_euler_of_one`."""
    rest = np.zeros(q.shape[0])
    return newton_euler_of_one(table, 1.0, q, rest, rest, tau)


@compiled
def coriolis_of_one(table, q, dq, tau):
    """tau without acceleration and gravity, as `newton_euler_of_one`."""
    return newton_euler_of_one(table, 0.0, q, dq, np.zeros(q.shape[0]), tau)


DQ, DDQ, FORCE, MOMENT = FREE, FREE + 1, FREE + 2, FREE + 5  # of each link
A, VELOCITY, DW = FREE + 8, FREE + 11, FREE + 14  # motion of the link before


@part
def start_block(table, W, up, count, q, dq, ddq):
    """Place the joints of the states q, dq, ddq (count, n), and set the motion of the base, which accelerates by up."""
    blocks.place_joints(table, W, count, q, q.shape[1])
    blocks.load(W, DQ, count, dq)
    blocks.load(W, DDQ, count, ddq)
    U = W[0]
    for b in range(count):
        put(U, A, b, up)
        put(U, VELOCITY, b, ZERO)
        put(U, DW, b, ZERO)


@part
def outward_block(table, W, i, count):
    """`step_outward` of a block, from W[i] to W[i + 1]."""
    V, U, sliding = W[i], W[i + 1], table[i, PRISMATIC]
    for b in range(count):
        X, a, w, dw = blocks.placed(V, b), get(V, A, b), get(V, VELOCITY, b), get(V, DW, b)
        a, w, dw = step_outward(sliding, X, V[DQ, b], V[DDQ, b], a, w, dw)
        put(U, A, b, a)
        put(U, VELOCITY, b, w)
        put(U, DW, b, dw)


@compiled(nogil=True)
def newton_euler_blocks(table, with_gravity, q, dq, ddq, tau):
    """tau (rows, n) of q, dq, ddq (rows, n), as `newton_euler_of_one` has it."""
    rows, n = q.shape
    W, up = blocks.workspace(n), scale(with_gravity, chain.upward(table))
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        count, result = last - first, tau[first:last]
        start_block(table, W, up, count, q[first:last], dq[first:last], ddq[first:last])
        for i in range(n):
            outward_block(table, W, i, count)
            V, U, body = W[i], W[i + 1], chain.link_body(table, i)
            for b in range(count):
                f, moment = chain.link_wrench(body, get(U, A, b), get(U, VELOCITY, b), get(U, DW, b))
                put(V, FORCE, b, f)
                put(V, MOMENT, b, moment)
        for i in range(n - 1, -1, -1):
            V, row = W[i], (FORCE if chain.slides(table, i) else MOMENT) + 2
            for b in range(count):
                result[b, i] = V[row, b]
            if i > 0:
                U = W[i - 1]
                for b in range(count):
                    f, moment = to_parent(blocks.placed(V, b), get(V, FORCE, b), get(V, MOMENT, b))
                    put(U, FORCE, b, add(get(U, FORCE, b), f))
                    put(U, MOMENT, b, add(get(U, MOMENT, b), moment))


def gravity_blocks(table: FloatArray, q: FloatArray, tau: FloatArray) -> None:
    """tau (rows, n) of arms at rest at q (rows, n)."""
    rest = np.zeros_like(q)
    newton_euler_blocks(table, 1.0, q, rest, rest, tau)


def coriolis_blocks(table: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
    """tau (rows, n) of q, dq (rows, n), without acceleration and gravity."""
    newton_euler_blocks(table, 0.0, q, dq, np.zeros_like(q), tau)


def inverse_dynamics(robot: RobotDescription, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> FloatArray:
    """Joint torques of a motion: tau = M(q) ddq + C(q, dq) dq + g(q), rigid body only.

    q, dq, ddq: (..., n), rad, rad/s, rad/s^2 (m for prismatic joints). Leading dimensions broadcast.
    Returns (..., n), N m (N for prismatic joints). Friction is `friction_torques`.

    Reference: Luh, Walker and Paul 1980; De Luca, Robotics 2, slide 5 (document 003); Gautier and Khalil 1988, eq. (5)
    (document 004).
    """
    tau = zeros(robot.n)
    return of_states(robot, (q, dq, ddq), newton_euler_of_one, newton_euler_blocks, (robot.table, 1.0, q, dq, ddq, tau))


def gravity_torques(robot: RobotDescription, q: ArrayLike) -> FloatArray:
    """Torques (..., n), N m, that hold the arm still against gravity at q (..., n), rad: g(q).

    Reference: De Luca, Robotics 2, slide 5, g = dU/dq (document 003): `inverse_dynamics` of an arm at rest.
    """
    return of_states(robot, (q,), gravity_of_one, gravity_blocks, (robot.table, q, zeros(robot.n)))


def coriolis_torques(robot: RobotDescription, q: ArrayLike, dq: ArrayLike) -> FloatArray:
    """Coriolis and centrifugal torques, C(q, dq) dq: (..., n), N m, of q, dq (..., n), rad and rad/s, which broadcast.

    Reference: De Luca, Robotics 2, slide 5 (document 003): `inverse_dynamics` with neither acceleration nor gravity.
    """
    return of_states(robot, (q, dq), coriolis_of_one, coriolis_blocks, (robot.table, q, dq, zeros(robot.n)))


def link_side_torques(robot: RobotDescription, q: ArrayLike, effort: ArrayLike) -> FloatArray:
    """Torques (..., n), N m, with gravity in them, of efforts (..., n) of the kind `robot.effort` at q (..., n), rad.

    Currents are multiplied by the motor constants; to torques without gravity, those of the arm's model are added.
    What accelerates the rotors stays in them: momenta of the arm contain it (`RobotDescription.felt_rotor_inertia`).
    """
    q, effort = checks.trailing(q, (robot.n,), "q"), checks.trailing(effort, (robot.n,), "effort")
    if robot.effort == CURRENT:
        return robot.motor_constants * effort
    if robot.effort == WITHOUT_GRAVITY:
        return effort + gravity_torques(robot, q)
    return effort.copy()


def link_side_sample(
    robot: RobotDescription, q: ArrayLike, dq: ArrayLike, effort: ArrayLike, *count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, dq and tau (n,) of one sample, or (N, n) where `count` is N, checked, with tau from the effort.

    Raises ArgumentError: an argument is not finite, or of another shape.
    """
    named, shape = (("q", q), ("dq", dq), ("tau", effort)), (*count, robot.n)
    q, dq, tau = (checks.for_kernel(checks.exactly(value, shape, name)) for name, value in named)
    return q, dq, tau if robot.effort == MEASURED else link_side_torques(robot, q, tau)
