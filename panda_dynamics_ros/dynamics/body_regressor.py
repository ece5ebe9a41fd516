# SPDX-License-Identifier: Apache-2.0
"""The wrench of one body as a linear function of its ten inertial parameters."""

from __future__ import annotations

from panda_dynamics_ros.dynamics.kinematics import frame_sample
from panda_dynamics_ros.dynamics.vectors import (
    IDENTITY,
    ZERO,
    add,
    column,
    compiled,
    compose,
    cross,
    dot,
    placement,
    rotate,
    rotate_back,
    store,
    sub,
)
from panda_dynamics_ros.robot.description import PRISMATIC


@compiled
def wrench_regressor(a, w, dw, A):
    """A (6, 10) with wrench = A (m, m c, I), force first, about the frame's origin, in its axes.

    f = m a + dw x mc + w x (w x mc),   n = I dw + w x (I w) + mc x a   (document 003, slides 3-5).
    With (v, 0, w) instead of (a, w, dw) it gives the momentum, with (-g, 0, 0) the weight.
    """
    A[:] = 0.0
    ww = dot(w, w)
    for i in range(3):
        A[i, 0] = a[i]
        for j in range(3):
            A[i, 1 + j] = w[i] * w[j]
        A[i, 1 + i] -= ww
    _add_skew(A, 0, 1, dw)
    _add_skew(A, 3, 1, (-a[0], -a[1], -a[2]))
    k = 4
    for i in range(3):
        for j in range(i, 3):
            # Unit inertia E_ij (symmetric): E_ij x = x_j e_i + x_i e_j off the diagonal, x_i e_i on it.
            A[3 + i, k] = dw[j]
            A[3 + j, k] = dw[i]
            Ew = _unit_inertia_times(i, j, w)
            gyroscopic = cross(w, Ew)
            for row in range(3):
                A[3 + row, k] += gyroscopic[row]
            k += 1


@compiled
def _add_skew(A, row, col, a):
    A[row, col + 1] -= a[2]
    A[row, col + 2] += a[1]
    A[row + 1, col] += a[2]
    A[row + 1, col + 2] -= a[0]
    A[row + 2, col] -= a[1]
    A[row + 2, col + 1] += a[0]


@compiled
def _unit_inertia_times(i, j, w):
    x = w[j] if i == 0 else 0.0
    y = w[j] if i == 1 else 0.0
    z = w[j] if i == 2 else 0.0
    if i != j:
        x += w[i] if j == 0 else 0.0
        y += w[i] if j == 1 else 0.0
        z += w[i] if j == 2 else 0.0
    return (x, y, z)


@compiled
def unit_twists(table, n, frame, q, S):
    """S (n, 6): unit twist of every joint at the origin of `frame`, in its axes, linear part first.

    Joints beyond the frame get zero rows. This is the body Jacobian, transposed.
    """
    R_end, p_end = frame_sample(table, n, frame, q)
    R, p = IDENTITY, ZERO
    S[:] = 0.0
    for i in range(min(frame + 1, n)):
        R_i, p_i = placement(table, i, q[i])
        R, p = compose(R, R_i), add(p, rotate(R, p_i))
        z = column(R, 2)
        if table[i, PRISMATIC] != 0.0:
            store(S, i, 0, rotate_back(R_end, z))
        else:
            store(S, i, 0, rotate_back(R_end, cross(z, sub(p_end, p))))
            store(S, i, 3, rotate_back(R_end, z))
    return R_end


@compiled
def project(twist, A, row):
    """row (10,) = twist^T A: the generalized force of the wrench A along a unit twist (6,)."""
    for k in range(10):
        total = 0.0
        for r in range(6):
            total += twist[r] * A[r, k]
        row[k] = total
