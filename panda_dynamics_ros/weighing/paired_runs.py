# SPDX-License-Identifier: Apache-2.0
"""The payload from runs of one motion with and without it: what repeats in the arm's error cancels.

Runs are aligned by posture (`alignment`) and compared row by row (`paired_fit`). The result is a `PayloadEstimate`
with the meaning that it has everywhere: standard deviations are one sigma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation import EstimatorOptions, PayloadEstimate, Shape
from panda_dynamics_ros.estimation.payload.consistency import ConsistentBody
from panda_dynamics_ros.estimation.payload.publication import published_estimate
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.weighing.alignment import aligned
from panda_dynamics_ros.weighing.paired_fit import BLOCKS, PairedFit, fit_runs
from panda_dynamics_ros.weighing.run_rows import PAUSE, RunRows, rows_of

PAIRED = "from paired runs"
"""Status of such an estimate."""
ROW_S = 0.2
"""s between the rows that are compared. Nearer ones share what the low-pass spreads: the noise would seem too small."""
LEAST_ROWS = 5
SWAPPED = 0.03
"""kg below zero, beyond which loaded and unloaded runs must have been swapped, if the interval says so, too."""
CHANGED_CHI2, CHANGED_MASS, CHANGED_COM = 60.0, 0.03, 0.01
"""A payload counts as changed where mass and centre of mass before and after differ by this chi-square (4 degrees of
freedom: 26 has a probability of 3e-5), and by kg or m that matter."""
UNVERIFIED = 0.7
"""By how much more variance an estimate has than the fit says, over the number of differences that it is from: one
difference hardly shows how long its own noise lasts. The errors of 24 pairs of runs of simulated arms were 1.3 times as
large as the fit says."""
WITHIN_NOISE = 3.5
"""Standard deviations that the largest of some fifty torques stays within."""


@dataclass(frozen=True, eq=False)
class RestCheck:
    """What is left of the torques at rest once the payload is declared: P pauses of the loaded runs.

    Attributes
    ----------
    torque: (P, n), N m, loaded less unloaded less payload.
    noise: (n,), N m, standard deviation that the runs show.
    """

    torque: FloatArray
    noise: FloatArray

    @property
    def largest(self) -> FloatArray:
        """(n,), N m: the largest of each joint, in amount; zero where there was no pause."""
        return np.abs(self.torque).max(axis=0, initial=0.0)

    @property
    def passed(self) -> bool:
        """Whether there was a pause and all torques are within the noise."""
        return len(self.torque) > 0 and bool((self.largest <= WITHIN_NOISE * self.noise).all())


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Result of `weigh_paired_runs`.

    Attributes
    ----------
    estimate: the payload, in the flange frame.
    rest: torques at rest with the payload declared.
    noise: (n,), N m, torque by which runs of one motion differ from each other, one standard deviation of one run.
    motion_s: s in motion that were compared.
    stamp: (K,), s since the first run's begin; q: (K, n), rad, of its rows.
    difference, explained: (K, n), N m, mean of the loaded runs less that of the unloaded ones, and the payload's.
    """

    estimate: PayloadEstimate
    rest: RestCheck
    noise: FloatArray
    motion_s: float
    stamp: FloatArray
    q: FloatArray
    difference: FloatArray
    explained: FloatArray


def weigh_paired_runs(
    robot: RobotDescription,
    loaded: Sequence[JointDataset],
    unloaded: Sequence[JointDataset],
    *,
    shape: Shape | str | None = None,
    **options: float,
) -> PairedRuns:
    """The payload of recorded runs of one motion.

    Parameters
    ----------
    robot: the arm without the payload; its friction and masses need not be right, since their error cancels.
    loaded, unloaded: one or more runs each, in any order. Stamps tell which came first, unless the runs overlap in
        time; unloaded, loaded, loaded, unloaded is the best order against a drift of the friction.
    shape: of the payload, if it is known, as for `PayloadEstimator`.
    options: see `EstimatorOptions`; those of the prior, and `known_mass` and `max_mass`.

    Raises
    ------
    ArgumentError: a run of either kind is missing, an option is unknown, or the shape is malformed.
    DataError: runs are too short, do not show one motion, were swapped, two have the same samples, or the payload
        changed in between.
    """
    if not loaded or not unloaded:
        raise ArgumentError(f"loaded, unloaded: expected a run of each, got {len(loaded)} and {len(unloaded)}")
    settings, body_shape = EstimatorOptions.of(options), Shape.of(shape)
    _refuse_repeated([*loaded, *unloaded])
    carries = [True] * len(loaded) + [False] * len(unloaded)
    runs = _aligned_runs([rows_of(robot, data) for data in (*loaded, *unloaded)])
    fit = fit_runs(runs, carries, robot.residual.std, settings.prior_std)
    together = [[0 if each else -1 for each in carries]] * BLOCKS
    mean, covariance = fit.solve(together, settings.prior_std)
    _refuse_swapped(runs, carries, mean[0], covariance)
    _refuse_changes(fit, runs, carries, settings.prior_std)
    estimate = published_estimate(
        mean[0],
        (1.0 + UNVERIFIED / (len(runs) - 1)) * covariance,
        settings,
        body_shape,
        ConsistentBody(),
        stamp=float(runs[0].stamp[-1]),
        status=PAIRED,
    )
    return _result(estimate, fit, runs, len(loaded))


def _refuse_repeated(runs: Sequence[JointDataset]) -> None:
    """Refuse one recording that is given as two runs, which would seem to have no noise."""
    for first, second in combinations(runs, 2):
        if np.array_equal(first.tau, second.tau) and np.array_equal(first.q, second.q):
            raise DataError(
                f"expected another recording for each run, got the same samples in {first.source} and {second.source}"
            )


def _aligned_runs(runs: Sequence[RunRows]) -> list[RunRows]:
    """All runs at those moments of the first that they have in common, thinned out."""
    first, found, common = runs[0], [runs[0]], np.ones(len(runs[0].stamp), dtype=bool)
    for run in runs[1:]:
        other, same = aligned(first, run)
        found.append(other)
        common &= same
    places, last = [], -np.inf
    still = np.abs(first.dq).max(axis=1) < PAUSE
    for k in np.flatnonzero(common):
        if still[k] or first.stamp[k] - last >= ROW_S - 1e-6:
            places.append(k)
            last = first.stamp[k]
    if len(places) < LEAST_ROWS:
        names = ", ".join(run.name for run in runs)
        raise DataError(
            f"{names}: expected {LEAST_ROWS * ROW_S:g} s of one motion in all runs, got {ROW_S * len(places):.1f} s"
        )
    return [run.at(np.array(places)) for run in found]


def _refuse_swapped(runs: Sequence[RunRows], carries: Sequence[bool], mean: FloatArray, covariance: FloatArray) -> None:
    std = float(np.sqrt(covariance[0, 0]))
    if mean[0] >= -max(SWAPPED, 4.0 * std):
        return
    with_load, without = (
        ", ".join(run.name for run, each in zip(runs, carries, strict=True) if each == kind) for kind in (True, False)
    )
    raise DataError(
        f"{with_load}: expected loaded runs that weigh more than the unloaded {without}, got {mean[0]:.3f} kg; "
        "the runs look swapped"
    )


def _refuse_changes(fit: PairedFit, runs: Sequence[RunRows], carries: Sequence[bool], prior_std: FloatArray) -> None:
    """Refuse runs of which one has, from some block on, another payload than the others of its kind."""
    worst, words = CHANGED_CHI2, ""
    for run, carried in enumerate(carries):
        for block in range(BLOCKS):
            if block == 0 and sum(each == carried for each in carries) == 1:
                continue  # nothing to compare it with
            payload_of = [[0 if each else -1 for each in carries] for _ in range(BLOCKS)]
            for row in payload_of[block:]:
                row[run] = 1
            mean, P = fit.solve(payload_of, prior_std)
            before = mean[0] if carried else np.zeros(PARAMETERS)
            slope = np.zeros((4, 2 * PARAMETERS))
            slope[:, PARAMETERS : PARAMETERS + 4] = np.eye(4)
            if carried:
                slope[:, :4] = -np.eye(4)
            change = mean[1, :4] - before[:4]
            chi2 = float(change @ np.linalg.solve(slope @ P @ slope.T, change))
            heavy = max(abs(before[0]), abs(mean[1, 0]))
            matters = abs(change[0]) > CHANGED_MASS or np.abs(change[1:]).max() > CHANGED_COM * heavy
            if matters and chi2 > worst:
                # A load that is lost and one that is gained in the other run look alike: the loaded run comes first.
                worst = 1.2 * chi2 if carried else chi2
                since = runs[0].stamp[0] - runs[0].begin if block == 0 else fit.end[block - 1] - runs[0].begin
                kind = "loaded" if carried else "unloaded"
                words = (
                    f"{runs[run].name}: expected one payload in all {kind} runs, got {before[0]:.3f} kg and, from "
                    f"about {since:.1f} s of the motion on, {mean[1, 0]:.3f} kg or its centre of mass elsewhere"
                )
    if words:
        raise DataError(words)


def check_at_rest(
    robot: RobotDescription,
    payload: FloatArray,
    loaded: JointDataset,
    unloaded: Sequence[JointDataset],
    noise: FloatArray,
) -> RestCheck:
    """Whether the torques of another loaded run at rest are within the noise once the payload is declared.

    Parameters
    ----------
    payload: (10,), inertial vector in the flange frame.
    loaded: a run that the payload was not found from.
    noise: (n,), N m, as of `PairedRuns.rest`.

    Raises
    ------
    DataError: as `weigh_paired_runs`.
    """
    runs = _aligned_runs([rows_of(robot, data) for data in (loaded, *unloaded)])
    return RestCheck(_at_rest(runs, 1, payload), noise)


def _at_rest(runs: Sequence[RunRows], count: int, payload: FloatArray) -> FloatArray:
    """Torques (P, n) that are left in the pauses of the first `count` runs, the loaded ones."""
    still = np.abs(runs[0].dq).max(axis=1) < PAUSE
    reference = np.mean([run.y[still] for run in runs[count:]], axis=0)
    return np.vstack([run.y[still] - run.Y[still] @ payload - reference for run in runs[:count]])


def _result(estimate: PayloadEstimate, fit: PairedFit, runs: Sequence[RunRows], count: int) -> PairedRuns:
    loaded, unloaded = (np.mean([run.y for run in part], axis=0) for part in (runs[:count], runs[count:]))
    regressor = np.mean([run.Y for run in runs[:count]], axis=0)
    first = runs[0]
    moving = np.array([np.hypot(each.sigma, each.rho) for each in fit.noise])
    resting = np.hypot(moving, [each.slow for each in fit.noise]) * np.sqrt(1.0 + 1.0 / len(runs[count:]))
    return PairedRuns(
        estimate=estimate,
        rest=RestCheck(_at_rest(runs, count, estimate.vector), resting),
        noise=moving,
        motion_s=float(first.motion[-1] - first.motion[0]),
        stamp=first.stamp - first.begin,
        q=first.q,
        difference=loaded - unloaded,
        explained=regressor @ estimate.vector,
    )
