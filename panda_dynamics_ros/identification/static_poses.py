# SPDX-License-Identifier: Apache-2.0
"""Gravity parameters from an arm that stands still in many poses: no velocity, no acceleration, no excitation.

    tau = g(q) + offset,    g(q) = Y(q, 0, 0) pi

Each pose is one row: the mean over the time at rest. Stiction, which also holds the arm, differs from pose to
pose: poses count as independent, with the prior's residual as their error.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.identification.columns import LinearModel, linear_model
from panda_dynamics_ros.identification.cross_validation import Fold, choose_prior_scale, held_out_residual, torque_rms
from panda_dynamics_ros.identification.data_checks import check_joints
from panda_dynamics_ros.identification.feasible import feasible_minimum
from panda_dynamics_ros.identification.identifiability import (
    FIRST_SECOND_MOMENT,
    IdentifiabilityWarning,
    condition_number,
    joints_of,
    not_identified,
)
from panda_dynamics_ros.identification.plausibility import ImplausibleRecordingWarning, problems_of
from panda_dynamics_ros.identification.preprocessing import MotionSamples, on_link_side, prepare
from panda_dynamics_ros.identification.result import Identification, identified_robot
from panda_dynamics_ros.identification.weighted_fit import NormalEquations, PriorScale, prior_std, quadratic
from panda_dynamics_ros.model import RobotModel, load_robot
from panda_dynamics_ros.robot.joint_dataset import JointDataset

STILL = 0.01  # rad/s
SHORTEST_S, SETTLING_S = 0.4, 0.2
"""s: least time at rest in a pose, and the part of it that is left out at its beginning."""
POSE_RATE_HZ = 5.0
"""A recording that is slower than this holds one row for each pose."""
FOLDS = 8


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
    recordings = [on_link_side(recording, prior) for recording in recordings]
    poses = static_poses(*recordings)
    model, base = linear_model(prior, poses), prior.base_parameters()
    equations = NormalEquations.of(model)
    unidentifiable = not_identified(equations, base, prior.n)
    unseen = _of_gravity(unidentifiable, base.names, base.columns)
    if unseen:
        warnings.warn(IdentifiabilityWarning(_advice(unseen, len(poses))), stacklevel=2)
    folds, weight = _folds(model, len(poses)), 1.0 / prior.residual.std**2
    chosen = PriorScale(stribeck=0.0)
    if folds:
        chosen = choose_prior_scale(model, folds, weight, chosen, stribeck=False)
    held_out = held_out_residual(model, folds, weight, chosen)
    cross_validated, prior_alone = torque_rms(held_out, prior.n), torque_rms([fold.b for fold in folds], prior.n)
    problems = problems_of(
        [(data.source, data.names[0]) for data in recordings], model, poses, weight, cross_validated, prior_alone
    )
    for problem in problems:
        warnings.warn(ImplausibleRecordingWarning(problem), stacklevel=2)
    cost = quadratic(equations, weight, prior_std(prior, chosen))
    x = feasible_minimum(prior, cost)
    found = identified_robot(prior, x, prior.residual)
    columns = [column for column in base.columns if column % 10 < FIRST_SECOND_MOMENT]
    return Identification.of(
        found,
        prior,
        cost.covariance(),
        torque_rms=torque_rms([model.unexplained(x)], prior.n),
        prior_torque_rms=torque_rms([model.b], prior.n),
        cross_validated_rms=cross_validated,
        cross_validated_time=np.full(prior.n, np.nan),  # one row for each pose
        condition_number=condition_number(equations.gram.sum(axis=0)[np.ix_(columns, columns)]),
        not_identified=unidentifiable,
        problems=problems,
        prior_scale=chosen,
        samples=len(poses),
        outliers=poses.outliers,
    )


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
    return MotionSamples(number, np.array(q), zero, zero, np.array(tau), number, 1.0, outliers)


def _folds(model: LinearModel, poses: int) -> list[Fold]:
    """Every eighth pose held out in turn; none for fewer than three poses."""
    folds = []
    for k in range(min(FOLDS, poses) if poses >= 3 else 0):
        test = np.arange(poses) % FOLDS == k
        equations = NormalEquations.of(model, ~test), NormalEquations.of(model, test)
        folds.append(Fold(*equations, test, model.b[test]))
    return folds


def _of_gravity(unidentifiable: tuple[str, ...], names: tuple[str, ...], columns: tuple[int, ...]) -> tuple[str, ...]:
    place = dict(zip(names, columns, strict=True))
    return tuple(name for name in unidentifiable if name in place and place[name] % 10 < FIRST_SECOND_MOMENT)


def _advice(unseen: tuple[str, ...], poses: int) -> str:
    joints = ", ".join(map(str, joints_of(unseen)))
    return (
        f"{', '.join(unseen)} cannot be identified from these {poses} poses and stay near the prior's; add poses that "
        f"differ in joints {joints} and the one after each, also by a quarter turn"
    )
