# SPDX-License-Identifier: Apache-2.0
"""How much to trust the prior, chosen by what predicts motion that was not fitted.

Blocks are held out one after the other; rows nearer to a block than the residual's correlation time are used neither
for the fit nor for its test. Neighbours share their error: without the margin, a fit is tested on what it has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import LinearModel
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.identification.prior_scales import Trust, prior_std
from panda_dynamics_ros.identification.weighted_fit import NormalEquations, Quadratic, quadratic

MARGIN_S = 0.9
WINDOWS = 5
FREE = 100.0
"""A factor at which the prior decides only what the data leaves open."""
CANDIDATES = {
    "bodies": (0.3, 0.6, 1.0, 2.0, 4.0, FREE),
    "friction": (0.0, 0.3, 1.0, 2.0, 5.0, FREE),
    "tilt": (0.0, 0.5, 1.0, 2.0),
    "stribeck": (0.0, 1.0, 3.0),
}


@dataclass(frozen=True, eq=False)
class Fold:
    """Normal equations of the rows for the fit and for the test; of the test also A (N, n, p) and b (N, n)."""

    equations: NormalEquations
    test: NormalEquations
    A: FloatArray
    b: FloatArray


def folds_of(model: LinearModel, samples: MotionSamples, share: FloatArray, margin: float = MARGIN_S) -> list[Fold]:
    """Overlapping windows of a third of the whole, each with what lies further away than `margin` s.

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
                    model.A[test],
                    model.b[test],
                )
            )
    return folds


def held_out_residual(
    model: LinearModel,
    folds: list[Fold],
    weight: FloatArray,
    trust: Trust,
    solve: Callable[[Quadratic], FloatArray] = Quadratic.minimum,
) -> list[FloatArray]:
    """b - A x (rows, n) in the test rows of each fold, N m; x as `solve` finds it from the cost of the other rows."""
    std = prior_std(model.prior, trust)
    solutions = (solve(quadratic(fold.equations, weight, std)) for fold in folds)
    return [fold.b - fold.A @ x for fold, x in zip(folds, solutions, strict=True)]


def torque_rms(residuals: list[FloatArray]) -> FloatArray:
    """RMS (n,) over the rows of all folds."""
    return np.sqrt((np.concatenate(residuals) ** 2).mean(axis=0))


def choose_trust(
    model: LinearModel, folds: list[Fold], weight: FloatArray, start: Trust, stribeck: bool = True
) -> Trust:
    """The factors with the least root sum square of the held-out torque RMS, by turns until none changes.

    Without `stribeck`, that group stays as it is in `start`.
    """
    candidates = {group: factors for group, factors in CANDIDATES.items() if stribeck or group != "stribeck"}

    def score(trust: Trust) -> float:
        std = prior_std(model.prior, trust)
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
