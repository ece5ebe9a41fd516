# SPDX-License-Identifier: Apache-2.0
"""Hypotheses on a torque signal: which of them explains the torques of the last seconds, by their moments.

With t the measured torque and h that of the arm's model, both through the low-pass filters of the regression, moments

    mean(t_i h_j),    mean(t_i^2),    mean(h_j^2),    mean(t_i)

give the residuals of torques that are constant, of opposite sign, of another unit, without gravity, or with their
columns in another order. Each function returns kind and sentence, empty where no hypothesis is far better.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.robot.effort import CURRENT, MEASURED, WITHOUT_GRAVITY

FAR_BETTER = 0.25  # of the residual's mean square that a hypothesis may leave
SMALL = 0.3  # of the model's mean square: torques as small as these do not hold the arm
CONSTANT = 1e-4  # of their mean square: variance of torques that count as constant
STUCK = 1e-3  # of the variance that the model expects of a joint's torque: one that does not change
TWICE = (1.6, 2.4)  # gain of torques to which gravity was added although they had it
UNIT_REMEDY = {
    MEASURED: "check the unit of effort and the driver's scaling; of motor currents, set effort to current",
    CURRENT: "check motor_constants",
}


@compiled
def update_moments(t, h, e, keep, cross, moments):
    """Exponential means, in place: cross (n, n) of t_i h_j; moments (7, n) of t, h, e, t^2, h^2, e^2, e h."""
    new = 1.0 - keep
    for i in range(t.shape[0]):
        for j in range(t.shape[0]):
            cross[i, j] = keep * cross[i, j] + new * t[i] * h[j]
        values = (t[i], h[i], e[i], t[i] * t[i], h[i] * h[i], e[i] * e[i], e[i] * h[i])
        for k in range(7):
            moments[k, i] = keep * moments[k, i] + new * values[k]


def signal_problem(cross: FloatArray, moments: FloatArray, sigma: FloatArray, effort: str) -> tuple[str, str]:
    """The hypothesis on the signal that explains the torques far better than arm and payload do, if one does."""
    mean_t, _, _, tt, hh, _, _ = moments
    w = sigma**-2.0
    T, H, C = float(w @ tt), float(w @ hh), float(w @ np.diag(cross))
    correlation, gain = C / math.sqrt(max(T * H, 1e-300)), C / max(H, 1e-300)
    if T == 0.0:
        return "zero", (
            "all torques are zero: expected measured joint torques; check that torque sensing is on and that the "
            "topic carries effort"
        )
    if float(w @ (tt - mean_t**2)) < CONSTANT * T:
        return "constant", (
            "the torques stay constant while the arm moves: expected measured joint torques; check whether the "
            "driver repeats its first sample"
        )
    if correlation > 0.9 and not 0.2 < gain < 5.0:
        remedy = UNIT_REMEDY.get(effort, UNIT_REMEDY[MEASURED])
        return "unit", f"the torques are {gain:.2g} times those of the arm: expected N m on the link side; {remedy}"
    if effort == WITHOUT_GRAVITY and correlation > 0.9 and TWICE[0] < gain < TWICE[1]:
        return "gravity twice", (
            f"with gravity added, the torques are {gain:.2g} times those of the arm: expected efforts without "
            "gravity; if the driver leaves gravity in them, set effort to measured"
        )
    if T < SMALL * H:
        return "gravity", (
            "the torques are too small to hold the arm against gravity: expected measured torques with gravity; "
            "torques without gravity, or external torques, do not show a payload, unless effort is without_gravity"
        )
    order, of_order = _best_order(cross, moments, sigma)
    of_sign = T + 2.0 * C + H
    if correlation < -0.5 and of_sign < of_order:
        return "sign", (
            "the torques have the opposite sign of the arm's: expected the torques of the joints on the links; "
            "check the sign convention, and that the base is not mounted upside down"
        )
    if of_order < FAR_BETTER * (T - 2.0 * C + H):
        return "order", (
            f"the torque columns fit the arm in the order {', '.join(map(str, order))}: expected joint 1 to "
            f"{len(order)} from base to flange; check which effort belongs to which joint name"
        )
    return "", ""


def stuck_joint(moments: FloatArray, sigma: FloatArray) -> tuple[str, str]:
    """The joint whose torque does not change although the model's does."""
    mean_t, mean_h, _, tt, hh, _, _ = moments
    variance, expected = tt - mean_t**2, hh - mean_h**2
    stuck = np.flatnonzero((variance < STUCK * expected) & (expected > sigma**2))
    if not len(stuck):
        return "", ""
    return "stuck", (
        f"the torque of joint {stuck[0] + 1} stays at {mean_t[stuck[0]]:.2g} N m while the arm moves: expected its "
        "measured torque; check its sensor, and which effort belongs to which joint name"
    )


def _best_order(cross: FloatArray, moments: FloatArray, sigma: FloatArray) -> tuple[list[int], float]:
    """Which measured column (1-based) fits joint 1, 2, .. best, and the sum of mean((t - h)^2) / sigma^2 then."""
    tt, hh = moments[3], moments[4]
    cost = (tt[:, None] - 2.0 * cross + hh[None, :]) / sigma[None, :] ** 2
    kept = np.where(np.eye(len(tt)) > 0.0, FAR_BETTER, 1.0)  # a column is exchanged where others fit far better
    columns = joints = np.arange(len(tt))
    if not np.array_equal((cost * kept).argmin(axis=1), joints):  # else no order fits better
        from scipy.optimize import linear_sum_assignment  # takes a third of a node's start to import

        columns, joints = linear_sum_assignment(cost * kept)
    return [int(column) for column in columns[np.argsort(joints)] + 1], float(cost[columns, joints].sum())
