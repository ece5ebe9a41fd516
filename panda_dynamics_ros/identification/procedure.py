# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm from recordings (De Luca, document 003, slides 11-13).

The steps: rows of the regression, weights, scale of the prior, fit, physically consistent links, standard deviations.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.identification.columns import LinearModel, linear_model
from panda_dynamics_ros.identification.cross_validation import (
    FREE,
    Fold,
    choose_prior_scale,
    folds_of,
    held_out_residual,
    residual_model,
    torque_rms,
    with_slow_part,
)
from panda_dynamics_ros.identification.data_checks import RecordingChecks, check_fit, without_saturated
from panda_dynamics_ros.identification.feasible import feasible_minimum
from panda_dynamics_ros.identification.identifiability import (
    IdentifiabilityWarning,
    advice,
    base_gram,
    condition_number,
    not_identified,
    too_slow_for,
)
from panda_dynamics_ros.identification.plausibility import ImplausibleRecordingWarning, problems_of
from panda_dynamics_ros.identification.preprocessing import MotionSamples, Pieces, on_link_side, without_rotors
from panda_dynamics_ros.identification.result import Identification, identified_robot
from panda_dynamics_ros.identification.weighted_fit import (
    NormalEquations,
    PriorScale,
    Quadratic,
    error_covariance,
    prior_std,
    quadratic,
)
from panda_dynamics_ros.model import RobotModel, load_robot
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.limits import ResidualModel

PASSES = 2
_HUBER = 3.0  # sigmas beyond which a row counts less (iteratively reweighted least squares)
_SLOW, _SLOW_SHARE = 0.03, 0.1  # rad/s: below it, presliding makes friction something else than a function of velocity
_LEAST_STD = 1e-3  # N m


class PreparedRecordings:
    """What `identify` keeps of recordings: they can be prepared one by one, also by processes of other machines.

    Parameters
    ----------
    prior: the arm to start from.
    recording: the first one.

    Raises
    ------
    DataError: the number of joints is not the arm's.
    ArgumentError: gravity is not in the efforts of the arm's kind.
    """

    def __init__(self, prior: RobotModel, recording: JointDataset | None = None) -> None:
        self.checks, self.pieces = RecordingChecks(prior), Pieces()
        if recording is not None:
            on_links = on_link_side(recording, prior)
            if self.checks.add(on_links):
                self.pieces.add(on_links)

    def join(self, other: PreparedRecordings) -> None:
        """Take those of another, after one's own."""
        self.checks.join(other.checks)
        self.pieces.join(other.pieces)


def identify(
    data: JointDataset | Iterable[JointDataset | PreparedRecordings],
    robot: RobotModel | str | Path = "panda",
    *,
    prior_scale: PriorScale | None = None,
    stribeck: bool = True,
) -> Identification:
    """A model of the arm that was recorded, unloaded, in one or several recordings.

    Parameters
    ----------
    data: recordings of exciting motion (`load_dataset`), gone through once: an iterator needs the memory of one.
    robot: the arm to start from, or its name or file; parameters that the motion does not determine keep its values.
    prior_scale: factors on the prior's standard deviations; by default those that predict held-out blocks best.
    stribeck: whether Stribeck friction is tried, which is kept where it predicts held-out blocks better.

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
    recordings = [data] if isinstance(data, JointDataset) else data
    prior = robot if isinstance(robot, RobotModel) else load_robot(robot)
    seen = PreparedRecordings(prior)
    for recording in recordings:
        seen.join(recording if isinstance(recording, PreparedRecordings) else PreparedRecordings(prior, recording))
    if not seen.checks.names:
        raise ArgumentError("data: expected at least one recording, got none")
    seen.checks.check()
    samples = without_saturated(without_rotors(seen.pieces.samples(), prior), prior)
    model = linear_model(prior, samples)
    equations = NormalEquations.of(model)
    base = prior.base_parameters()
    unidentifiable = not_identified(equations, base, prior.n)
    unidentifiable += tuple(name for name in too_slow_for(prior, samples, base) if name not in unidentifiable)
    if unidentifiable:
        warnings.warn(IdentifiabilityWarning(advice(unidentifiable)), stacklevel=2)
    folds, chosen, residual, share = _weights(model, samples, prior_scale, stribeck)
    weight, std = _weight(residual, samples), prior_std(prior, chosen)
    cost = quadratic(NormalEquations.of(model, share=share), weight, std)
    x = feasible_minimum(prior, cost)
    check_fit(model, samples, x)
    # Where the links had to be made possible, so have those of the fits that are tested.
    solve = Quadratic.minimum if np.array_equal(x, cost.minimum()) else partial(feasible_minimum, prior)
    held_out = held_out_residual(model, folds, weight, chosen, solve)
    cross_validated, prior_alone = torque_rms(held_out, prior.n), torque_rms([fold.b for fold in folds], prior.n)
    problems = problems_of(
        seen.checks.names, model, samples, _weight(prior.residual, samples), cross_validated, prior_alone
    )
    for problem in problems:
        warnings.warn(ImplausibleRecordingWarning(problem), stacklevel=2)
    covariance = error_covariance(cost, model, samples, residual, weight, share, std)
    found = identified_robot(prior, x, with_slow_part(residual))
    return Identification.of(
        found,
        prior,
        covariance,
        torque_rms=_rms(samples.tau - _torques(found, samples)),
        prior_torque_rms=_rms(model.b),
        cross_validated_rms=cross_validated,
        cross_validated_time=residual.correlation_time if held_out else np.full(prior.n, np.nan),
        condition_number=condition_number(base_gram(equations, base)),
        not_identified=unidentifiable,
        problems=problems,
        prior_scale=chosen,
        samples=len(samples),
        outliers=samples.outliers,
    )


def _weights(
    model: LinearModel, samples: MotionSamples, prior_scale: PriorScale | None, stribeck: bool
) -> tuple[list[Fold], PriorScale, ResidualModel, FloatArray]:
    """Folds, scale of the prior, residual model and the share (N, n) of each row: iteratively reweighted."""
    residual = model.prior.residual
    floor = np.full(model.prior.n, _LEAST_STD)
    share = np.where(np.abs(samples.dq) < _SLOW, _SLOW_SHARE, 1.0)
    slow, chosen = share, prior_scale or (PriorScale() if stribeck else PriorScale(stribeck=0.0))
    for _ in range(PASSES):
        folds, weight = folds_of(model, samples, share), _weight(residual, samples)
        if folds:
            chosen = prior_scale or choose_prior_scale(model, folds, weight, chosen, stribeck)
            unexplained = np.concatenate(held_out_residual(model, folds, weight, chosen))
        else:
            std = prior_std(model.prior, chosen)
            x = quadratic(NormalEquations.of(model, share=share), weight, std).minimum()
            unexplained = model.unexplained(x)
        residual = residual_model(unexplained, samples.period, floor)
        x = quadratic(
            NormalEquations.of(model, share=share), _weight(residual, samples), prior_std(model.prior, chosen)
        ).minimum()
        error = np.abs(model.unexplained(x)) / residual.std
        share = slow * np.minimum(1.0, _HUBER / np.maximum(error, _HUBER))
    return folds, chosen, residual, share


def _weight(residual: ResidualModel, samples: MotionSamples) -> FloatArray:
    """1 / (sigma^2 kappa) (n,): kappa neighbouring rows share one error."""
    kappa = np.maximum(1.0, 2.0 * with_slow_part(residual).correlation_time / samples.period)
    return 1.0 / (residual.std**2 * kappa)


def _torques(robot: RobotModel, samples: MotionSamples) -> FloatArray:
    return robot.inverse_dynamics(samples.q, samples.dq, samples.ddq) + robot.friction_torques(samples.dq)


def _rms(residual: FloatArray) -> FloatArray:
    return np.sqrt((residual**2).mean(axis=0))


PLAIN = PriorScale(FREE, FREE, 0.0, 0.0)
"""Ordinary least squares over base parameters and friction: the prior fixes only what the data does not determine."""
