# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm from recordings of its motion, or of poses (De Luca, document 003, slides 11-13).

The steps: rows of the regression, weights, scale of the prior, fit, physically consistent links, standard deviations.

How far the result may leave the prior is what predicts held-out blocks best. Blocks are held out one after the other;
rows nearer to a block than the residual's correlation time are used neither for the fit nor for its test: neighbours
share their error, so that without the margin a fit is tested on what it has seen. What is left in the held-out blocks
is modelled as coloured noise, with a standard deviation and a correlation time.

An arm that stands still in many poses shows its gravity parameters: tau = Y(q, 0, 0) pi + offset. Each pose is one row,
the mean over the time at rest. What friction holds differs from pose to pose, so poses count as independent, with the
prior's residual as their error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.identification.plausibility import (
    FIRST_SECOND_MOMENT,
    IdentifiabilityWarning,
    ImplausibleRecordingWarning,
    PreparedRecording,
    advice,
    base_gram,
    check_fit,
    check_joints,
    condition_number,
    joints_of,
    not_identified,
    problems_of,
    samples_of,
    too_slow_for,
    without_saturated,
)
from panda_dynamics_ros.identification.regression import (
    LinearModel,
    NormalEquations,
    PriorScale,
    Quadratic,
    error_covariance,
    feasible_minimum,
    linear_model,
    prior_std,
)
from panda_dynamics_ros.identification.result import Identification, identified_robot
from panda_dynamics_ros.identification.rows import MotionSamples, on_link_side, prepare, without_rotors
from panda_dynamics_ros.model import RobotModel, load_robot
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.limits import ResidualModel

PASSES = 2
_LEAST_STD = 1e-3  # N m
FREE = 100.0
"""A factor at which the prior fixes only the parameters that the data does not determine."""
PLAIN = PriorScale(FREE, FREE, 0.0, 0.0)
"""Ordinary least squares over base parameters and friction: the prior fixes only what the data does not determine."""


def identify(
    data: JointDataset | Iterable[JointDataset | PreparedRecording],
    robot: RobotModel | str | Path = "panda",
    *,
    prior_scale: PriorScale | None = None,
) -> Identification:
    """A model of the arm that was recorded, unloaded, in one or several recordings.

    Parameters
    ----------
    data: recordings of exciting motion (`load_dataset`), gone through once: an iterator needs the memory of one.
    robot: the arm to start from, or its name or file; parameters that the motion does not determine keep its values.
    prior_scale: factors on the prior's standard deviations; by default those that predict held-out blocks best.

    Returns
    -------
    Identification, whose `robot` has physically consistent links.

    Raises
    ------
    DataError: recordings do not fit the robot, are too short, constant or standing still.
    ArgumentError: there is no recording.
    MissingDependencyError: the best links cannot exist, and the solver for the nearest that can is not installed.

    Warns
    -----
    IdentifiabilityWarning: the motion does not determine some parameters; the message names them.
    ImplausibleRecordingWarning: the arm seems loaded, or to be another one, or the result predicts held-out blocks
        worse than the prior; the message names the likely cause. The result says so, too, and is saved by force only.

    Reference: De Luca, document 003, slides 11-13; Gaz et al., RA-L 2019, for the friction that the prior has.
    """
    prior = robot if isinstance(robot, RobotModel) else load_robot(robot)
    seen = [
        recording if isinstance(recording, PreparedRecording) else PreparedRecording(prior, recording)
        for recording in ([data] if isinstance(data, JointDataset) else data)
    ]
    samples = without_saturated(without_rotors(samples_of(seen), prior), prior)
    model = linear_model(prior, samples)
    equations, base = NormalEquations.of(model), prior.base_parameters()
    unidentifiable = not_identified(equations, base, prior.n)
    unidentifiable += tuple(name for name in too_slow_for(prior, samples, base) if name not in unidentifiable)
    if unidentifiable:
        warnings.warn(IdentifiabilityWarning(advice(unidentifiable)), stacklevel=2)
    folds = folds_of(model, samples)
    chosen, residual = prior_scale or PriorScale(), prior.residual
    for _ in range(PASSES):  # the weights of the rows follow from what fits leave, and fits from the weights
        weight = _weight(residual, samples)
        if folds and prior_scale is None:
            chosen = choose_prior_scale(model, folds, weight, chosen)
        left = held_out_residual(model, folds, weight, chosen)
        if not folds:
            left = [model.unexplained(Quadratic.of(equations, weight, prior_std(prior, chosen)).minimum())]
        residual = residual_model(np.concatenate(left), samples.period, np.full(prior.n, _LEAST_STD))
    weight, std = _weight(residual, samples), prior_std(prior, chosen)
    cost = Quadratic.of(equations, weight, std)
    x = feasible_minimum(prior, cost)
    check_fit(model, samples, x)
    # Where the links had to be made possible, so have those of the fits that are tested.
    solve = Quadratic.minimum if np.array_equal(x, cost.minimum()) else partial(feasible_minimum, prior)
    return _identification(
        identified_robot(prior, x, with_slow_part(residual)),
        model,
        samples,
        [(each.source, each.joint) for each in seen],
        chosen,
        held_out=held_out_residual(model, folds, weight, chosen, solve),
        folds=folds,
        covariance=error_covariance(cost, model, samples, residual, weight),
        weight=_weight(prior.residual, samples),
        time=residual.correlation_time if folds else np.full(prior.n, np.nan),
        condition=condition_number(base_gram(equations, base)),
        not_identified=unidentifiable,
    )


def identify_gravity(
    data: JointDataset | Sequence[JointDataset], robot: RobotModel | str | Path = "panda"
) -> Identification:
    """An arm with the masses and centres of mass that hold it still in the poses that were recorded.

    Second moments stay as near to the prior's as the new masses allow; friction keeps all but its offset.

    Parameters
    ----------
    data: recordings in which the unloaded arm stands still for half a second here and there, or one row per pose.
    robot: the arm to start from, or its name or file.

    Raises
    ------
    ArgumentError: there is no recording.
    DataError: recordings do not fit the robot, or the arm never stands still.
    MissingDependencyError: the best links cannot exist, and the solver for the nearest that can is not installed.

    Warns
    -----
    IdentifiabilityWarning: the poses do not determine all gravity parameters; the message names them.
    """
    recordings = [data] if isinstance(data, JointDataset) else list(data)
    if not recordings:
        raise ArgumentError("data: expected at least one recording, got none")
    prior = robot if isinstance(robot, RobotModel) else load_robot(robot)
    check_joints(recordings, prior)
    poses = static_poses(*(on_link_side(recording, prior) for recording in recordings))
    model, base = linear_model(prior, poses), prior.base_parameters()
    equations = NormalEquations.of(model)
    unidentifiable = not_identified(equations, base, prior.n)
    gravity = {column: name for name, column in zip(base.names, base.columns, strict=True) if _is_of_gravity(column)}
    unseen = [name for name in unidentifiable if name in gravity.values()]
    if unseen:
        joints = ", ".join(map(str, joints_of(unseen)))
        text = (
            f"{', '.join(unseen)} cannot be identified from these {len(poses)} poses and stay near the prior's; add "
            f"poses that differ in joints {joints} and the one after each, also by a quarter turn"
        )
        warnings.warn(IdentifiabilityWarning(text), stacklevel=2)
    turns = [np.arange(len(poses)) % FOLDS == k for k in range(min(FOLDS, len(poses)) if len(poses) >= 3 else 0)]
    folds, weight = [Fold.of(model, ~test, test) for test in turns], 1.0 / prior.residual.std**2
    chosen = PriorScale(stribeck=0.0)  # which no pose shows
    if folds:
        chosen = choose_prior_scale(model, folds, weight, chosen)
    cost = Quadratic.of(equations, weight, prior_std(prior, chosen))
    return _identification(
        identified_robot(prior, feasible_minimum(prior, cost), prior.residual),
        model,
        poses,
        [(recording.source, recording.names[0]) for recording in recordings],
        chosen,
        held_out=held_out_residual(model, folds, weight, chosen),
        folds=folds,
        covariance=cost.covariance(),
        weight=weight,
        time=np.full(prior.n, np.nan),  # one row for each pose
        condition=condition_number(equations.gram.sum(axis=0)[np.ix_(list(gravity), list(gravity))]),
        not_identified=unidentifiable,
    )


def _identification(
    found: RobotModel,
    model: LinearModel,
    samples: MotionSamples,
    sources: list[tuple[str, str]],
    chosen: PriorScale,
    *,
    held_out: list[FloatArray],
    folds: list[Fold],
    covariance: FloatArray,
    weight: FloatArray,
    time: FloatArray,
    condition: float,
    not_identified: tuple[str, ...],
) -> Identification:
    """The result, with a warning for each of its problems."""
    n = model.prior.n
    cross_validated, prior_alone = torque_rms(held_out, n), torque_rms([fold.b for fold in folds], n)
    problems = problems_of(sources, model, samples, weight, cross_validated, prior_alone)
    for problem in problems:
        warnings.warn(ImplausibleRecordingWarning(problem), stacklevel=3)
    torques = found.inverse_dynamics(samples.q, samples.dq, samples.ddq) + found.friction_torques(samples.dq, samples.s)
    return Identification.of(
        found,
        model.prior,
        covariance,
        torque_rms=torque_rms([samples.tau - torques], n),
        prior_torque_rms=torque_rms([model.b], n),
        cross_validated_rms=cross_validated,
        cross_validated_time=time,
        condition_number=condition,
        not_identified=not_identified,
        problems=problems,
        prior_scale=chosen,
        samples=len(samples),
        outliers=samples.outliers,
    )


def _weight(residual: ResidualModel, samples: MotionSamples) -> FloatArray:
    """1 / (sigma^2 kappa) (n,): kappa neighbouring rows share one error."""
    kappa = np.maximum(1.0, 2.0 * with_slow_part(residual).correlation_time / samples.period)
    return 1.0 / (residual.std**2 * kappa)


STILL = 0.01  # rad/s
SHORTEST_S, SETTLING_S = 0.4, 0.2
"""s: least time at rest in a pose, and the part of it that is left out at its beginning."""
POSE_RATE_HZ = 5.0
"""A recording that is slower than this holds one row for each pose."""
FOLDS = 8


def static_poses(*recordings: JointDataset) -> MotionSamples:
    """One row for each time that the arm stood still, with velocities and accelerations of zero.

    Raises
    ------
    DataError: it never does.
    """
    q, tau, outliers = [], [], 0
    for recording in recordings:
        if recording.rate_hz < POSE_RATE_HZ:
            still = (np.abs(recording.dq) < STILL).all(axis=1)
            q += list(recording.q[still])
            tau += list(recording.tau[still])
            continue
        rows = prepare(recording)
        outliers += rows.outliers
        still = np.asarray((np.abs(rows.dq) < STILL).all(axis=1))
        cuts = np.flatnonzero(np.diff(still) | (np.diff(rows.block) != 0.0)) + 1
        for part in np.split(np.arange(len(rows)), cuts):
            if still[part[0]] and len(part) * rows.period >= SHORTEST_S:
                settled = part[round(SETTLING_S / rows.period) :]
                q.append(rows.q[settled].mean(axis=0))
                tau.append(rows.tau[settled].mean(axis=0))
    if not q:
        names = ", ".join(recording.source for recording in recordings)
        raise DataError(
            f"{names}: expected an arm that stands still for {SHORTEST_S:g} s in several poses, got none; no gravity "
            "parameter can be identified; leave --gravity-only away for a recording of motion"
        )
    number = np.arange(len(q), dtype=np.float64)
    zero = np.zeros((len(q), len(q[0])))
    return MotionSamples(number, np.array(q), zero, zero, np.array(tau), zero, number, 1.0, outliers)


def _is_of_gravity(column: int) -> bool:
    """Whether this inertial parameter is a mass or a first moment."""
    return column % 10 < FIRST_SECOND_MOMENT


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

    @classmethod
    def of(cls, model: LinearModel, fit: NDArray[np.bool_], test: NDArray[np.bool_]) -> Fold:
        """Of the rows for the fit and for the test."""
        return cls(NormalEquations.of(model, fit), NormalEquations.of(model, test), test, model.b[test])


def folds_of(model: LinearModel, samples: MotionSamples) -> list[Fold]:
    """Overlapping windows of a third of the whole, each with the rows that are further away than `MARGIN_S`.

    Empty where the recording is too short to leave anything for the fit.
    """
    # One clock for all pieces: those of different recordings are far apart.
    clock = samples.period * np.arange(len(samples)) + MARGIN_S * samples.block
    length = (clock[-1] - clock[0]) / 3.0
    folds = []
    for start in np.linspace(clock[0], clock[-1] - length, WINDOWS):
        test = (clock >= start) & (clock <= start + length)
        fit = (clock < start - MARGIN_S) | (clock > start + length + MARGIN_S)
        if fit.sum() >= 0.2 * len(clock):
            folds.append(Fold.of(model, fit, test))
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
    solutions = (solve(Quadratic.of(fold.equations, weight, std)) for fold in folds)
    return [model.unexplained(x, fold.rows) for fold, x in zip(folds, solutions, strict=True)]


def torque_rms(residuals: list[FloatArray], n: int) -> FloatArray:
    """RMS (n,) over the rows of all folds; nan where there are none."""
    return np.sqrt((np.concatenate(residuals) ** 2).mean(axis=0)) if residuals else np.full(n, np.nan)


def choose_prior_scale(model: LinearModel, folds: list[Fold], weight: FloatArray, start: PriorScale) -> PriorScale:
    """The factors with the least root sum square of the held-out torque RMS, by turns until none changes."""

    def score(prior_scale: PriorScale) -> float:
        std = prior_std(model.prior, prior_scale)
        squares = 0.0
        for fold in folds:
            x = Quadratic.of(fold.equations, weight, std).minimum()
            # |b - A x|^2 = b'b - 2 x'A'b + x'A'A x, joint by joint
            squares += float(((fold.b**2).sum(axis=0) + (fold.test.gram @ x - 2.0 * fold.test.moment) @ x).sum())
        return squares

    best, least = start, score(start)
    for _ in range(4):
        before = best
        for group, factors in CANDIDATES.items():
            for factor in factors:
                trial = replace(best, **{group: factor})
                if trial != best and (value := score(trial)) < least:
                    best, least = trial, value
        if best == before:
            break
    return best
