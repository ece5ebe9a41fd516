# SPDX-License-Identifier: Apache-2.0
"""What a fit leaves unexplained in motion that it has not seen, and which weight of the prior makes that least.

Blocks are held out one after the other; rows nearer to a block than the residual's correlation time are used neither
for the fit nor for its test. Neighbours share their error: without the margin, a fit is tested on what it has seen.
What is left in the held-out blocks is modelled as coloured noise, with a standard deviation and a correlation time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import LinearModel
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.identification.weighted_fit import NormalEquations, PriorScale, Quadratic, prior_std, quadratic
from panda_dynamics_ros.robot.limits import ResidualModel

MEAN_OVER_S = 1.0
LONGEST = 5.0
ERROR_RATIO = 0.3
"""Lasting error of an identified arm, over that of the published one (`ResidualModel.error_ratio`): chosen of 0.1, 0.3
and 1 on identified arms of `benchmarks/payload`, where 0.1 is as accurate but its intervals are too narrow."""
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
    std = np.maximum(np.sqrt(variance), floor)
    return ResidualModel(std, np.minimum(times, LONGEST), np.full(len(std), ERROR_RATIO))


def with_slow_part(residual: ResidualModel) -> ResidualModel:
    """The residual with correlation times of at least `SLOW_PART_S`, for an estimator."""
    return replace(residual, correlation_time=np.maximum(residual.correlation_time, SLOW_PART_S))


def _time_of_share(share: float) -> float:
    """a = tau/L for which the mean over L keeps this share of the variance."""

    def excess(a: float) -> float:
        return 2.0 * a * (1.0 - a * (1.0 - np.exp(-1.0 / a))) - share

    lower, upper = 1e-3, 1e2
    if excess(lower) >= 0.0:
        return lower
    return upper if excess(upper) <= 0.0 else float(brentq(excess, lower, upper))


MARGIN_S = 0.9
WINDOWS = 5
FREE = 100.0
"""A factor at which the prior fixes only the parameters that the data does not determine."""
CANDIDATES = {
    "bodies": (0.3, 0.6, 1.0, 2.0, 4.0, FREE),
    "friction": (0.0, 0.3, 1.0, 2.0, 5.0, FREE),
    "tilt": (0.0, 0.5, 1.0, 2.0),
    "stribeck": (0.0, 1.0, 3.0),
}


@dataclass(frozen=True, eq=False)
class Fold:
    """Normal equations of the rows for the fit and for the test; of the test also which rows, and b (N, n)."""

    equations: NormalEquations
    test: NormalEquations
    rows: NDArray[np.bool_]
    b: FloatArray


def folds_of(model: LinearModel, samples: MotionSamples, share: FloatArray, margin: float = MARGIN_S) -> list[Fold]:
    """Overlapping windows of a third of the whole, each with the rows that are further away than `margin` s.

    Empty where the recording is too short to leave anything for the fit.
    """
    # One clock for all pieces: those of different recordings are far apart.
    piece = samples.block
    clock = samples.period * np.arange(len(samples)) + margin * piece
    length = (clock[-1] - clock[0]) / 3.0
    folds = []
    for start in np.linspace(clock[0], clock[-1] - length, WINDOWS):
        test = (clock >= start) & (clock <= start + length)
        fit = (clock < start - margin) | (clock > start + length + margin)
        if fit.sum() >= 0.2 * len(clock):
            folds.append(
                Fold(
                    NormalEquations.of(model, fit, share),
                    NormalEquations.of(model, test),
                    test,
                    model.b[test],
                )
            )
    return folds


def held_out_residual(
    model: LinearModel,
    folds: list[Fold],
    weight: FloatArray,
    prior_scale: PriorScale,
    solve: Callable[[Quadratic], FloatArray] = Quadratic.minimum,
) -> list[FloatArray]:
    """b - A x (rows, n) in the test rows of each fold, N m; x as `solve` finds it from the cost of the other rows."""
    std = prior_std(model.prior, prior_scale)
    solutions = (solve(quadratic(fold.equations, weight, std)) for fold in folds)
    return [model.unexplained(x, fold.rows) for fold, x in zip(folds, solutions, strict=True)]


def torque_rms(residuals: list[FloatArray], n: int) -> FloatArray:
    """RMS (n,) over the rows of all folds; nan where there are none."""
    return np.sqrt((np.concatenate(residuals) ** 2).mean(axis=0)) if residuals else np.full(n, np.nan)


def choose_prior_scale(
    model: LinearModel, folds: list[Fold], weight: FloatArray, start: PriorScale, stribeck: bool = True
) -> PriorScale:
    """The factors with the least root sum square of the held-out torque RMS, by turns until none changes.

    Without `stribeck`, that group stays as it is in `start`.
    """
    candidates = {group: factors for group, factors in CANDIDATES.items() if stribeck or group != "stribeck"}

    def score(prior_scale: PriorScale) -> float:
        std = prior_std(model.prior, prior_scale)
        squares, rows = np.zeros(model.prior.n), 0
        for fold in folds:
            x = quadratic(fold.equations, weight, std).minimum()
            # |b - A x|^2 = b'b - 2 x'A'b + x'A'A x, joint by joint
            squares += (fold.b**2).sum(axis=0) + (fold.test.gram @ x - 2.0 * fold.test.moment) @ x
            rows += len(fold.b)
        return float(np.sqrt(squares.sum() / rows))

    best, least = start, score(start)
    for _ in range(4):
        before = best
        for group, factors in candidates.items():
            for factor in factors:
                trial = replace(best, **{group: factor})
                if trial != best and (value := score(trial)) < least:
                    best, least = trial, value
        if best == before:
            break
    return best
