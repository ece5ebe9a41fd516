# SPDX-License-Identifier: Apache-2.0
"""What an arm may get wrong, as a linear model of few unknowns: see `arm_error_model`."""

from __future__ import annotations

from panda_dynamics_ros.dynamics.body_regressor import carry_twists, joint_twist, project_wrench
from panda_dynamics_ros.dynamics.vectors import (
    ZERO,
    add,
    compiled,
    cross,
    joint_count,
    placed,
    rotate_back,
    scale,
    store,
    upward,
    vector_at,
)


@compiled
def link_momentum_sample(table, frames, dq, S, Y_momentum, Y_bias):
    """Upper triangles of the regressors (n, 10 n) of every link's momentum and bias, the joints placed.

    S (n + 1, 6) is workspace. Without its payload the arm has p = Y_momentum pi and bias = Y_bias pi.
    """
    n = joint_count(table)
    rates = S[n:]
    v, w, up = ZERO, ZERO, upward(table)
    for i in range(n):
        R, p = placed(frames, i)
        v, w, up = rotate_back(R, add(v, cross(w, p))), rotate_back(R, w), rotate_back(R, up)
        carry_twists(S, i, R, p)
        joint_twist(table, i, S)
        v = add(v, scale(dq[i], vector_at(S, i, 0)))
        w = add(w, scale(dq[i], vector_at(S, i, 3)))
        v_j, w_j = ZERO, ZERO
        for j in range(i + 1):
            linear, angular = vector_at(S, j, 0), vector_at(S, j, 3)
            v_j, w_j = add(v_j, scale(dq[j], linear)), add(w_j, scale(dq[j], angular))
            along = project_wrench(S, j, v, ZERO, w)
            weight = project_wrench(S, j, up, ZERO, ZERO)
            # V_j x S_j, the rate of S_j with its own link's motion.
            store(rates, 0, 0, add(cross(w_j, linear), cross(v_j, angular)))
            store(rates, 0, 3, cross(w_j, angular))
            rate = project_wrench(rates, 0, v, ZERO, w)
            for k in range(10):
                Y_momentum[j, 10 * i + k] = along[k]
                Y_bias[j, 10 * i + k] = weight[k] - rate[k]
