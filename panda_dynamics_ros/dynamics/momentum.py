# SPDX-License-Identifier: Apache-2.0
"""Generalized momentum and its rate: the equation of motion without accelerations.

With p = M(q) dq and Mdot = C + C^T, the equation of motion becomes
    dp/dt = tau - bias,    bias = g(q) - C(q, dq)^T dq,
as in the momentum observer (De Luca and Mattone, ICRA 2005). Both p and the bias are linear in the
inertial parameters. For link momentum h_i and H_j = sum of h_i over the links that joint j moves,
    p_j = S_j . H_j,    (C^T dq)_j = (V_j x S_j) . H_j,
which is dT/dq_j of the kinetic energy (Gautier and Khalil 1988, eq. (6), document 004).
"""

from panda_dynamics_ros.dynamics.kernels import chain
from panda_dynamics_ros.dynamics.kernels.compiled import part
from panda_dynamics_ros.dynamics.kernels.vectors import ZERO, add, cross, fetch, rotate_back, scale, store
from panda_dynamics_ros.dynamics.newton_euler import to_parent
from panda_dynamics_ros.dynamics.regressor import project_wrench, unit_twists
from panda_dynamics_ros.robot.description import PRISMATIC


@part
def momentum_sample(table, frames, dq, work, p, bias):
    """p (n,) and bias (n,) of the arm, its joints placed; `work` (n, 9): velocity of each link, and its way up."""
    n = chain.joint_count(table)
    v, w, up = ZERO, ZERO, chain.upward(table)
    for i in range(n):
        R, r = chain.placed(frames, i)
        v, w, up = rotate_back(R, add(v, cross(w, r))), rotate_back(R, w), rotate_back(R, up)
        sliding = table[i, PRISMATIC]
        v, w = (v[0], v[1], v[2] + sliding * dq[i]), (w[0], w[1], w[2] + (1.0 - sliding) * dq[i])
        store(work, i, 0, v)
        store(work, i, 3, w)
        store(work, i, 6, up)
    linear, angular, force, moment = ZERO, ZERO, ZERO, ZERO
    for i in range(n - 1, -1, -1):
        v, w, body = fetch(work, i, 0), fetch(work, i, 3), chain.link_body(table, i)
        a, b = chain.momentum_of(body, v, w)
        linear, angular = add(linear, a), add(angular, b)
        a, b = chain.momentum_of(body, fetch(work, i, 6), ZERO)
        force, moment = add(force, a), add(moment, b)
        # (V x S) . H = - S . (V x* H), the rate of H where it moves along with the link
        if chain.slides(table, i):
            p[i], bias[i] = linear[2], force[2] + cross(w, linear)[2]
        else:
            p[i], bias[i] = angular[2], moment[2] + cross(v, linear)[2] + cross(w, angular)[2]
        X = chain.placed(frames, i)
        linear, angular = to_parent(X, linear, angular)
        force, moment = to_parent(X, force, moment)


@part
def payload_momentum_sample(table, frame, frames, dq, S, Y_momentum, Y_bias):
    """Regressors (n, 10) of a payload in `frame`, the joints placed; S (n, 6) is workspace."""
    n = chain.joint_count(table)
    R, _ = unit_twists(table, frame, frames, S)
    v, w = ZERO, ZERO
    for j in range(n):
        linear, angular = fetch(S, j, 0), fetch(S, j, 3)
        v, w = add(v, scale(dq[j], linear)), add(w, scale(dq[j], angular))
    up = rotate_back(R, chain.upward(table))
    v_j, w_j = ZERO, ZERO
    for j in range(n):
        linear, angular = fetch(S, j, 0), fetch(S, j, 3)
        v_j, w_j = add(v_j, scale(dq[j], linear)), add(w_j, scale(dq[j], angular))
        weight = project_wrench(linear, angular, up, ZERO, ZERO)
        momentum_row = project_wrench(linear, angular, v, ZERO, w)
        # V_j x S_j, the rate of S_j with its own link's motion.
        moved = add(cross(w_j, linear), cross(v_j, angular))
        along_rate = project_wrench(moved, cross(w_j, angular), v, ZERO, w)
        for k in range(10):
            Y_momentum[j, k], Y_bias[j, k] = momentum_row[k], weight[k] - along_rate[k]
