# SPDX-License-Identifier: Apache-2.0
"""What a fit leaves unexplained, as a coloured noise: its standard deviation and its correlation time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.robot.limits import ResidualModel

MEAN_OVER_S = 1.0
LONGEST = 5.0
SLOW_PART_S = 0.4
"""s: vibration can hide the slow part of a real arm's residual, which has 0.4 to 0.9 s and biases an estimate."""


def residual_model(residual: FloatArray, period: float, floor: FloatArray) -> ResidualModel:
    """Standard deviation about zero, and correlation time by the variance of means over 1 s.

    For the autocorrelation e^(-|t|/tau), the variance of a mean over L is sigma^2 2a (1 - a (1 - e^(-1/a))), a = tau/L.
    The time at which the autocorrelation falls to 1/e would be that of the vibration on top; it is what adds up over
    many rows that makes an estimate wrong.

    Parameters
    ----------
    residual: (N, n), N m, consecutive rows.
    period: s, between rows.
    floor: (n,), N m, the least standard deviation.
    """
    length = min(max(1, round(MEAN_OVER_S / period)), max(1, len(residual) // 3))
    whole = len(residual) // length
    means = residual[: whole * length].reshape(whole, length, -1).mean(axis=1)
    variance = np.maximum((residual**2).mean(axis=0), 1e-20)
    shares = (means**2).mean(axis=0) / variance
    times = [_time_of_share(float(share)) * length * period for share in shares]
    return ResidualModel(std=np.maximum(np.sqrt(variance), floor), correlation_time=np.minimum(times, LONGEST))


def with_slow_part(residual: ResidualModel) -> ResidualModel:
    """The residual with correlation times of at least `SLOW_PART_S`: what an estimator should expect."""
    return replace(residual, correlation_time=np.maximum(residual.correlation_time, SLOW_PART_S))


def _time_of_share(share: float) -> float:
    """a = tau/L for which the mean over L keeps this share of the variance."""

    def excess(a: float) -> float:
        return 2.0 * a * (1.0 - a * (1.0 - np.exp(-1.0 / a))) - share

    lower, upper = 1e-3, 1e2
    if excess(lower) >= 0.0:
        return lower
    return upper if excess(upper) <= 0.0 else float(brentq(excess, lower, upper))
