# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm from recordings of its motion (De Luca, document 003, slides 11-13).

The steps: rows of the regression, weights, scale of the prior, fit, physically consistent links, standard deviations.

How far the result may leave the prior is what predicts held-out blocks best. Blocks are held out one after the other;
rows nearer to a block than the residual's correlation time are used neither for the fit nor for its test: neighbours
share their error, so that without the margin a fit is tested on what it has seen. What is left in the held-out blocks
is modelled as coloured noise, with a standard deviation and a correlation time.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.model import RobotModel, load_robot
from panda_dynamics_ros.dynamics.motion_samples import prepare
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.identification import problems, regression
from panda_dynamics_ros.identification.regression import LinearModel, PriorScale, Quadratic, rms
from panda_dynamics_ros.robot import Friction, InertialParameters, ResidualModel, write_robot
from panda_dynamics_ros.robot.joint_dataset import JointDataset, each_dataset


@dataclass(frozen=True, eq=False)
class Identification:
    """A model of one's own arm, and how good it is.

    robot: the identified arm with its friction, residual and the direction of gravity, to use at once.
    prior: the arm that the identification started from.
    base_names: p names of base parameters, as `robot.base_parameters()` of an upright arm has them.
    base_values, base_std: (p,), of the identified arm; kg, kg m or kg m^2.
    torque_rms, prior_torque_rms: (n,), N m, of measured minus modelled torque on the fitted rows.
    cross_validated_rms: (n,), N m, on blocks that were held out.
    cross_validated_time: (n,), s, correlation time of their residual, by the variance of its means over 1 s.
    condition_number: of the stacked base regressor.
    not_identified: names of the parameters that the motion does not determine; they keep the prior's values.
    problems: sentences on why the recording does not look like one of the unloaded arm; empty for a plausible one.
    prior_scale: factors on the prior's standard deviations, by group of parameters, as cross-validation chose.
    samples, outliers: rows that were fitted, and recorded samples that were replaced.
    """

    robot: RobotModel
    prior: RobotModel
    base_names: tuple[str, ...]
    base_values: FloatArray
    base_std: FloatArray
    torque_rms: FloatArray
    prior_torque_rms: FloatArray
    cross_validated_rms: FloatArray
    cross_validated_time: FloatArray
    condition_number: float
    not_identified: tuple[str, ...]
    problems: tuple[str, ...]
    prior_scale: PriorScale
    samples: int
    outliers: int

    @property
    def friction(self) -> Friction:
        """Of the identified arm."""
        return self.robot.friction

    @property
    def tilt(self) -> FloatArray:
        """Angles (2,) by which gravity leans to the base's two horizontal axes, x and y of an upright arm, rad."""
        gravity = self.robot.gravity
        return np.arcsin(self.prior.horizontal @ gravity / max(float(np.linalg.norm(gravity)), 1e-9))

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the identified arm to a .yaml file for `load_robot`, and return the path.

        force: write an arm with `problems`, too.
        Raises ArgumentError: `path` does not end in .yaml, or cannot be written.
        Raises DataError: there are `problems`, and no `force`.
        """
        if self.problems and not force:
            raise DataError(f"{'; '.join(self.problems)}; nothing is written without force (--force)")
        rms = ", ".join(f"{value:.3f}" for value in self.torque_rms)
        held_out = ", ".join(f"{value:.3f}" for value in self.cross_validated_rms)
        comment = f"Identified from {self.samples} rows, starting from {self.prior.name}.\n"
        return write_robot(self.robot, path, f"{comment}Torque RMS in N m: {rms}; cross-validated: {held_out}.")


def identified_robot(prior: RobotModel, x: FloatArray, residual: ResidualModel) -> RobotModel:
    """The prior with the changes x (p,) of the linear model: links, friction, direction of gravity.

    Where prior and change both have a Coulomb step, the sum has the identified width; the prior's own share is exact
    where it has none, or where its width is the same. So it is with the Stribeck velocity.
    """
    place, old = regression.friction_slice(prior.n), prior.friction
    bodies = (x[: place.start] + prior.inertial_vector).reshape(prior.n, -1)
    changes = dict(zip(regression.FRICTION_TERMS, x[place].reshape(prior.n, -1).T, strict=True))
    stribeck = changes["stribeck"] != 0.0
    size = float(np.linalg.norm(prior.gravity))
    leaning = prior.gravity + size * x[place.stop :] @ prior.horizontal
    return replace(
        prior,
        name=f"{prior.name.removesuffix(' (identified)')} (identified)",
        links=tuple(InertialParameters.from_vector(vector) for vector in bodies),
        friction=replace(
            old,
            transition=np.where((changes["coulomb"] != 0.0) | stribeck, regression.TRANSITION, old.transition),
            stribeck_velocity=np.where(stribeck, regression.STRIBECK_VELOCITY, old.stribeck_velocity),
            **{name: getattr(old, name) + change for name, change in changes.items()},
        ),
        gravity=leaning * (size / max(float(np.linalg.norm(leaning)), 1e-9)),
        residual=residual,
        residual_map=None,  # one of the prior's is of what the prior left
    )


GRAVITY_ONLY = "gravity only"


@dataclass(frozen=True, eq=False)
class Validation:
    """Torques of one recording.

    source: where the recording came from.
    time: (N,), s, from the first row on.
    measured: (N, n), N m, filtered as for an identification.
    predicted: (N, n), N m, by the name of the model.
    """

    source: str
    time: FloatArray
    measured: FloatArray
    predicted: dict[str, FloatArray]

    def torque_rms(self, model: str) -> FloatArray:
        """RMS (n,) of measured minus predicted torque, N m."""
        return rms(self.measured - self.predicted[model])


def validate(recording: JointDataset, models: dict[str, RobotModel]) -> Validation:
    """The torques that each of the `models` predicts, beside gravity only (of the first).

    models: one or more.
    Raises DataError: the recording is too short.
    Raises ArgumentError: a model has another number of joints.
    """
    first, *_ = models.values()
    rows = prepare([replace(recording, tau=first.link_side_torques(recording.q, recording.tau))])
    predicted = {GRAVITY_ONLY: first.gravity_torques(rows.q)}
    predicted |= {name: regression.modelled_torques(robot, rows) for name, robot in models.items()}
    tau = rows.tau - first.felt_rotor_inertia * rows.ddq
    return Validation(recording.source, rows.stamp - rows.stamp[0], tau, predicted)


PASSES = 2
_LEAST_STD = 1e-3  # N m
FREE = 100.0  # a factor at which the prior fixes only the parameters that the data does not determine
CANDIDATES = {
    "bodies": (0.3, 0.6, 1.0, 2.0, 4.0, FREE),
    "friction": (0.0, 0.3, 1.0, 2.0, 5.0, FREE),
    "tilt": (0.0, 0.5, 1.0, 2.0),
    "stribeck": (0.0, 1.0, 3.0),
}
MARGIN_S, WINDOWS = 0.9, 5
MEAN_OVER_S, LONGEST_S = 1.0, 5.0
ERROR_RATIO = 0.3
"""Lasting error of an identified arm, over that of the published one (`ResidualModel.error_ratio`): chosen of 0.1, 0.3
and 1 on identified arms of `benchmarks/payload`, where 0.1 is less accurate and its intervals are too narrow."""
SLOW_PART_S = 0.4
"""s: vibration can hide the slow part of a real arm's residual, which has 0.4 to 0.9 s and biases an estimate."""


def identify(
    data: JointDataset | Iterable[JointDataset],
    robot: RobotModel | str | Path = "panda",
    *,
    prior_scale: PriorScale | None = None,
) -> Identification:
    """A model of the arm that was recorded, unloaded, in one or several recordings.

    data: recordings of exciting motion (`load_dataset`), gone through once: an iterator needs the memory of one.
    robot: the arm to start from, or its name or file; parameters that the motion does not determine keep its values.
    prior_scale: factors on the prior's standard deviations; by default those that predict held-out blocks best.
    Returns Identification, whose `robot` has physically consistent links.
    Raises DataError: recordings do not fit the robot, are too short, constant or standing still.
    Raises ArgumentError: there is no recording, or it is none.
    Raises MissingDependencyError: the best links cannot exist, and the solver for those that can is not installed.
    Warns IdentifiabilityWarning: the motion does not determine some parameters; the message names them.
    Warns ImplausibleRecordingWarning: the arm seems loaded, or to be another one, or the result predicts held-out
        blocks worse than the prior; the message names the likely cause. The result is saved by force only.

    Reference: De Luca, document 003, slides 11-13; Gaz et al., RA-L 2019, for the friction that the prior has.
    """
    prior = robot if isinstance(robot, RobotModel) else load_robot(robot)
    samples = problems.usable(prior, prepare(problems.plausible(prior, each) for each in each_dataset(data)))
    model = LinearModel(prior, samples)
    gram, base, n = model.gram(), prior.base_parameters(), prior.n
    unidentifiable = problems.not_identified(gram, model)
    folds = folds_of(model)
    chosen = prior_scale or PriorScale()
    weight = prior_weight = _weight(prior.residual, samples.period)
    for _ in range(PASSES):  # the weights of the rows follow from what fits leave, and fits from the weights
        if prior_scale is None:
            chosen = choose_prior_scale(model, folds, weight, chosen)
        residual = residual_model(held_out_residual(model, folds, weight, chosen), samples.period)
        weight = _weight(residual, samples.period)
    cost = Quadratic.of(gram, weight, regression.prior_std(prior, chosen))
    x = regression.feasible_minimum(prior, cost)
    problems.check_fit(model, x)
    # Where the links had to be made possible, so have those of the fits that are tested.
    solve = Quadratic.minimum if np.array_equal(x, cost.minimum()) else partial(regression.feasible_minimum, prior)
    held_out = rms(held_out_residual(model, folds, weight, chosen, solve))
    prior_held_out = rms(np.concatenate([model.b[rows] for *_, rows in folds]))
    found_problems = problems.problems_of(model, gram, prior_weight, held_out, prior_held_out)
    for problem in found_problems:
        warnings.warn(problems.ImplausibleRecordingWarning(problem), stacklevel=2)
    found = identified_robot(prior, x, _with_slow_part(residual))
    covariance = regression.error_covariance(cost, model, residual, weight)[: 10 * n, : 10 * n]
    base_gram = gram.sum(axis=0)[np.ix_(base.columns, base.columns)]
    return Identification(
        robot=found,
        prior=prior,
        base_names=base.names,
        base_values=base.mapping @ found.inertial_vector,
        base_std=np.sqrt(np.einsum("ij,jk,ik->i", base.mapping, covariance, base.mapping)),
        torque_rms=rms(samples.tau - regression.modelled_torques(found, samples)),
        prior_torque_rms=rms(model.b),
        cross_validated_rms=held_out,
        cross_validated_time=residual.correlation_time,
        condition_number=problems.condition_number(base_gram),  # of the stacked base regressor (document 003, slide 12)
        not_identified=unidentifiable,
        problems=found_problems,
        prior_scale=chosen,
        samples=len(samples),
        outliers=samples.outliers,
    )


def _weight(residual: ResidualModel, period: float) -> FloatArray:
    """1 / (sigma^2 kappa) (n,): kappa neighbouring rows share one error."""
    return 1.0 / (residual.std**2 * np.maximum(1.0, 2.0 * _with_slow_part(residual).correlation_time / period))


def _with_slow_part(residual: ResidualModel) -> ResidualModel:
    """The residual with correlation times of at least `SLOW_PART_S`, for an estimator."""
    return replace(residual, correlation_time=np.maximum(residual.correlation_time, SLOW_PART_S))


def residual_model(residual: FloatArray, period: float) -> ResidualModel:
    """Standard deviation about zero, and correlation time by the variance of means over 1 s.

    For the autocorrelation e^(-|t|/tau), the variance of a mean over L is sigma^2 2a (1 - a (1 - e^(-1/a))), a = tau/L.
    The time at which the autocorrelation falls to 1/e would be that of the vibration on top; it is what adds up over
    many rows that makes an estimate wrong.

    residual: (N, n), N m, consecutive rows. period: s, between rows.
    """
    length = max(1, min(round(MEAN_OVER_S / period), len(residual) // 3))
    whole = len(residual) // length
    means = residual[: whole * length].reshape(whole, length, -1).mean(axis=1)
    variance = np.maximum((residual**2).mean(axis=0), 1e-20)
    a = np.geomspace(1e-3, 1e2, 2000)
    times = length * period * np.interp((means**2).mean(axis=0) / variance, 2.0 * a * (1.0 + a * np.expm1(-1.0 / a)), a)
    std = np.maximum(np.sqrt(variance), _LEAST_STD)
    return ResidualModel(std, np.minimum(times, LONGEST_S), np.full(len(std), ERROR_RATIO))


Fold: TypeAlias = tuple[FloatArray, FloatArray, NDArray[np.bool_]]
"""`LinearModel.gram` of the rows for the fit and of those for the test, and which rows (N,) the test has."""


def folds_of(model: LinearModel) -> list[Fold]:
    """Overlapping windows of a third of the whole, each with the rows that are further away than `MARGIN_S`."""
    # One clock for all pieces: those of different recordings are far apart.
    clock = model.samples.period * np.arange(len(model.b)) + MARGIN_S * model.samples.block
    length = (clock[-1] - clock[0]) / 3.0
    folds = []
    for start in np.linspace(clock[0], clock[-1] - length, WINDOWS):
        test = (clock >= start) & (clock <= start + length)
        fit = (clock < start - MARGIN_S) | (clock > start + length + MARGIN_S)
        if fit.sum() >= 0.2 * len(clock):
            folds.append((model.gram(fit), model.gram(test), test))
    return folds


def held_out_residual(
    model: LinearModel,
    folds: list[Fold],
    weight: FloatArray,
    prior_scale: PriorScale,
    solve: Callable[[Quadratic], FloatArray] = Quadratic.minimum,
) -> FloatArray:
    """b - A x (N, n) in the test rows of all folds, N m; x as `solve` finds it from the cost of the other rows."""
    std = regression.prior_std(model.prior, prior_scale)
    return np.concatenate([model.unexplained(solve(Quadratic.of(fit, weight, std)), rows) for fit, _, rows in folds])


def choose_prior_scale(model: LinearModel, folds: list[Fold], weight: FloatArray, start: PriorScale) -> PriorScale:
    """The factors with the least root sum square of the held-out torque RMS, by turns until none changes."""

    @cache
    def score(prior_scale: PriorScale) -> float:
        std, squares = regression.prior_std(model.prior, prior_scale), 0.0
        for fit, test, _ in folds:
            left = np.append(-Quadratic.of(fit, weight, std).minimum(), 1.0)
            squares += float((test @ left @ left).sum())
        return squares

    best = start
    for group, factors in 4 * list(CANDIDATES.items()):
        best = min([best, *(replace(best, **{group: factor}) for factor in factors)], key=score)
    return best
