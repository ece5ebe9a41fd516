# SPDX-License-Identifier: Apache-2.0
"""Noise of a joint's filtered external torque as a function of the posture, learnt from short-term differences.

The noise of measured velocities is about the same in all joints and postures, but its effect on the momentum
p = M(q) dq is not: with noise of variance r in each velocity, the momentum of joint i has variance r h_i,

    h_i = sum_j M_ij(q)^2,

which grows fiftyfold for the first joint from a folded arm to a stretched one. So the mean square of a joint's torque
step e is split into two parts, by least squares with exponential forgetting:

    E[e^2] = a + c h.

Where the posture has hardly changed, a and c cannot be distinguished: c then tends to that of VELOCITY_NOISE.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix_kernel, mass_matrix_of_one
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled

VELOCITY_NOISE = 0.004  # rad/s: of a Panda's dq; first differences of a recording at 1 kHz have .003 to .005
PRIOR_SHARE = 0.01
"""Weight of the prior of c: that of postures whose h has this relative variance."""

MEANS = 4
"""Entries of a joint's row of `means`: of h, h^2, e^2, e^2 h."""


@compiled
def squared_inertia(table, q, h):
    """h (n,), kg^2 m^4, of joint positions q (n,), in place."""
    n = q.shape[0]
    M = scratch((n, n))
    mass_matrix_of_one(table, q, M)
    sum_squares(M, h)


@compiled
def sum_squares(M, h):
    """h (n,), the sum of squares of each row of M (n, n), in place."""
    for i in range(h.shape[0]):
        h[i] = 0.0
        for j in range(h.shape[0]):
            h[i] += M[i, j] * M[i, j]


@compiled
def sums_of_squares(M, h):
    """The same for M (N, n, n) and h (N, n)."""
    for k in range(h.shape[0]):
        sum_squares(M[k], h[k])


def squared_inertias(table: FloatArray, q: FloatArray) -> FloatArray:
    """`squared_inertia` (N, n) of joint positions q (N, n), to the last bit."""
    (count, n), h = q.shape, np.empty_like(q)
    M = np.empty((count, n, n))
    mass_matrix_kernel(table, q, M)
    sums_of_squares(M, h)
    return h


@compiled
def velocity_noise_gain(w, dt):
    """Prior of c: the variance of VELOCITY_NOISE after two low-pass filters of pole w, one of them of d/dt p.

    White noise of variance r in each sample has the variance r w^3 dt / 4 after w^2 s / (s + w)^2. Linear
    interpolation between samples reduces it by e^(-w dt): by 2 % from 100 Hz on, by a quarter at 30 Hz.
    """
    return VELOCITY_NOISE * VELOCITY_NOISE * w * w * 0.25 * w * dt * math.exp(-w * dt)


@compiled
def initialise_noise(means, h, variance):
    """Initialise the means with e^2 = `variance` at this h."""
    means[0], means[1], means[2], means[3] = h, h * h, variance, variance * h


@compiled
def noise_parts(means, least, prior):
    """(a, c), with a >= least and c >= 0; `prior` of c. A joint that moves no inertia (h = 0) has only a."""
    h, hh, ee, eeh = means[0], means[1], means[2], means[3]
    if h == 0.0:
        return max(ee, least), 0.0
    share = PRIOR_SHARE * hh
    c = max((eeh - h * ee + share * prior) / (hh - h * h + share), 0.0)
    a = ee - c * h
    if a < least:
        a, c = least, max((ee - least) / h, 0.0)
    return a, c


@compiled
def update_noise(means, gain, h, squared):
    """Update the means by e^2 = `squared` at h with weight `gain`."""
    means[0] += gain * (h - means[0])
    means[1] += gain * (h * h - means[1])
    means[2] += gain * (squared - means[2])
    means[3] += gain * (squared * h - means[3])
