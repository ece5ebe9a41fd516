# SPDX-License-Identifier: Apache-2.0
"""The payload from runs of one motion with and without it: what repeats in the arm's error cancels.

At row k of the motion, run i of R has the torque that the arm's model leaves

    y_i = r + Y_i theta_i + (a_i + T_i A) + (b_i + T_i B) s + e_i.

r is what the model of the arm leaves at this posture and speed. It is in all runs, and leaves nothing in the R - 1
orthonormal contrasts of the runs (Helmert's), whose noise is then that of a single run and independent. What changes
from run to run is a torque offset a and friction b of each joint, s the sign of its speed; both drift with the time T
at which the runs were made. An order of runs such as unloaded, loaded, loaded, unloaded makes theta independent of A
and B. Of the noise e of a joint, m the time in motion, kappa how near to standstill the joint is,

    cov(e_k, e_l) = sigma^2 exp(-abs(m_k - m_l) / tau) + (rho^2 + kappa_k sigma^2) delta_kl.

Contrasts are whitened by its Cholesky factor; theta is the regularised least squares estimate, and sigma, tau and rho
are the most probable ones for what it leaves, by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation import EstimatorOptions, PayloadEstimate, Shape
from panda_dynamics_ros.estimation.paired_rows import RunRows, rows_of, same_moments
from panda_dynamics_ros.estimation.publication import ConsistentBody, published_estimate
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joint_dataset import JointDataset

PAIRED = "from paired runs"
"""Status of such an estimate."""
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
BLOCKS = 8
"""Parts of the motion, to see whether a payload changed."""
ROUNDS = 4
"""Of estimating payload and noise by turns."""
CHANGE = 0.04
"""Usual change of a joint's offset and friction from run to run, in units of the arm's residual; drift over a session
as much again, twice. The runs say how much more or less it was."""
SIGN_SPEED = 0.05
"""rad/s, above which the speed has its sign."""
TYPICAL, SPREAD = np.array([0.07, 0.3, 0.03]), np.array([0.7, 0.5, 1.0])
"""sigma and rho in units of the arm's residual, tau in s: between two passes of the public 1 kHz log; and one standard
deviation of their logarithms, over arms and motions."""
MOST_CORRELATED = 200
"""Rows whose noise is taken as correlated with each other: 40 s, of noise that keeps its value for less than one."""


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
    estimate: the payload, in the flange frame. rest: torques at rest with the payload declared.
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
    for one, other in combinations([*loaded, *unloaded], 2):
        if np.array_equal(one.tau, other.tau) and np.array_equal(one.q, other.q):  # runs would seem to have no noise
            raise DataError(
                f"expected another recording for each run, got the same samples in {one.source} and {other.source}"
            )
    count, runs = len(loaded), same_moments([rows_of(robot, data) for data in (*loaded, *unloaded)])
    fit = _Fit.of(runs, count, robot.residual.std, settings.prior_std)
    mean, covariance = (values[..., :PARAMETERS] for values in fit.posterior(_one_payload(runs, count)))
    covariance = (1.0 + UNVERIFIED / (len(runs) - 1)) * covariance[:PARAMETERS]
    if mean[0] < -max(SWAPPED, 4.0 * float(np.sqrt(covariance[0, 0]))):
        names = [", ".join(run.name for run in part) for part in (runs[:count], runs[count:])]
        raise DataError(
            f"{names[0]}: expected loaded runs that weigh more than the unloaded {names[1]}, got {mean[0]:.3f} kg; "
            "the runs look swapped"
        )
    _refuse_changes(fit, runs, count)
    stamp, body = float(runs[0].stamp[-1]), ConsistentBody()
    estimate = published_estimate(mean, covariance, settings, body_shape, body, stamp=stamp, status=PAIRED)
    sigma, _, rho = fit.noise.T
    moving = np.hypot(sigma, rho)
    resting = np.hypot(moving, sigma) * np.sqrt(1.0 + 1.0 / len(unloaded))
    first, kinds = runs[0], (runs[:count], runs[count:])
    with_load, without = (np.mean([run.y for run in part], axis=0) for part in kinds)
    return PairedRuns(
        estimate=estimate,
        rest=RestCheck(_at_rest(runs, count, estimate.vector), resting),
        noise=moving,
        motion_s=float(first.motion[-1] - first.motion[0]),
        stamp=first.stamp - first.begin,
        q=first.q,
        difference=with_load - without,
        explained=np.mean([run.Y for run in runs[:count]], axis=0) @ estimate.vector,
    )


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
    return RestCheck(_at_rest(same_moments([rows_of(robot, data) for data in (loaded, *unloaded)]), 1, payload), noise)


def _at_rest(runs: Sequence[RunRows], count: int, payload: FloatArray) -> FloatArray:
    """Torques (P, n) that are left in the pauses of the first `count` runs, the loaded ones."""
    still = runs[0].still
    reference = np.mean([run.y[still] for run in runs[count:]], axis=0)
    return np.vstack([run.y[still] - run.Y[still] @ payload - reference for run in runs[:count]])


# ---- the fit -----------------------------------------------------------------------------------------------------


def _one_payload(runs: Sequence[RunRows], count: int) -> list[list[int]]:
    """Which payload each run carries in each part of the motion: 0 in the loaded ones, -1 for none."""
    return [[0] * count + [-1] * (len(runs) - count) for _ in range(BLOCKS)]


@dataclass(frozen=True, eq=False)
class _Fit:
    """Information of R aligned runs on their payloads and changes x = (theta_1 .. theta_R, changes of joint 1, 2, ..).

    information: (BLOCKS, size, size), and vector: (BLOCKS, size), of each part of the motion. prior_std: (10,) and
    changes_std: (changes,), of a payload and of the joints' changes. noise: (n, 3), sigma, tau, rho. end: (BLOCKS,),
    rows at which parts end.
    """

    information: FloatArray
    vector: FloatArray
    prior_std: FloatArray
    changes_std: FloatArray
    noise: FloatArray
    end: NDArray[np.intp]

    @classmethod
    def of(cls, runs: Sequence[RunRows], count: int, residual: FloatArray, prior_std: FloatArray) -> _Fit:
        """The fit of runs, of which the first `count` carry the payload, for an arm whose model leaves `residual`."""
        R, n, motion = len(runs), len(residual), runs[0].motion
        series = [_contrasts(runs, joint) for joint in range(n)]
        slowness = np.max([run.slowness for run in runs], axis=0).T
        end = np.ceil(np.arange(1, BLOCKS + 1) * len(motion) / BLOCKS).astype(np.intp)
        noise, ratio = TYPICAL * np.column_stack((residual, np.ones(n), residual)), np.ones(4)
        for turn in range(ROUNDS + 1):
            kinds = np.concatenate((np.repeat(ratio[:2], R), 2.0 * ratio[2:]))  # offsets, frictions, drift of both
            changes_std = np.concatenate([CHANGE * each * kinds for each in residual])
            own = [np.r_[: 10 * R, 10 * R + j * len(kinds) : 10 * R + (j + 1) * len(kinds)] for j in range(n)]
            information = np.zeros((BLOCKS, *[10 * R + len(changes_std)] * 2))
            vector = np.zeros(information.shape[:2])
            for joint in range(n):
                white, _ = whitened(series[joint], motion, slowness[joint], *noise[joint])
                for b, part in enumerate(np.split(white, end[:-1])):
                    H, y = part[..., :-1].reshape(-1, len(own[joint])), part[..., -1].ravel()
                    information[b][np.ix_(own[joint], own[joint])] += H.T @ H
                    vector[b][own[joint]] += H.T @ y
            fit = cls(information, vector, prior_std, changes_std, noise, end)
            if turn == ROUNDS:
                break
            x, P = fit.posterior(_one_payload(runs, count))
            changes, spread = x[PARAMETERS:].reshape(n, -1), np.diag(P)[PARAMETERS:].reshape(n, -1)
            ratio = _ratio((changes**2 + spread) / (CHANGE * residual[:, None]) ** 2, R)
            noise = np.array([
                most_probable(
                    _left(series[j], x, P, np.r_[:10, 10 + j * len(kinds) : 10 + (j + 1) * len(kinds)], count, R),
                    *(motion, slowness[j], residual[j]),
                )
                for j in range(n)
            ])  # fmt: skip
        return fit

    def posterior(self, payload_of: Sequence[Sequence[int]]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of P payloads and of the joints' changes.

        `payload_of`[block][run] is 0..P-1, or -1 for none.
        """
        payloads, changes = 1 + max(max(row) for row in payload_of), len(self.changes_std)
        L = np.diag(np.concatenate((np.tile(self.prior_std, payloads), self.changes_std)) ** -2.0)
        v = np.zeros(len(L))
        for information, vector, row in zip(self.information, self.vector, payload_of, strict=True):
            choice = np.array([[float(payload == each) for each in range(payloads)] for payload in row])
            G = linalg.block_diag(np.kron(choice, np.eye(PARAMETERS)), np.eye(changes))
            L += G.T @ information @ G
            v += G.T @ vector
        scale = 1.0 / np.sqrt(np.diag(L))
        P = np.linalg.inv(scale[:, None] * L * scale) * np.outer(scale, scale)
        return P @ v, P


def _contrasts(runs: Sequence[RunRows], joint: int) -> FloatArray:
    """Columns (K, R - 1, c) of one joint: payloads of all runs, changes of offset and friction, their drift, and y."""
    by_start = sorted(runs, key=lambda run: run.stamp[0])
    overlap = any(later.stamp[0] < earlier.stamp[-1] for earlier, later in pairwise(by_start))
    time = np.array([0.0 if overlap else np.mean(run.stamp) for run in runs])  # whose order is unknown if they overlap
    time = (time - time.mean()) / max(np.ptp(time) / 2.0, 1e-9)
    weights, sign = linalg.helmert(len(runs)), np.mean([np.tanh(run.dq[:, joint] / SIGN_SPEED) for run in runs], axis=0)
    shape = (len(sign), *weights.shape)
    offset, drift = np.broadcast_to(weights, shape), np.broadcast_to(weights @ time[:, None], (*shape[:2], 1))
    payload = [w[:, None] * run.Y[:, None, joint] for w, run in zip(weights.T, runs, strict=True)]
    y = np.array([run.y[:, joint] for run in runs]).T @ weights.T
    s = sign[:, None, None]
    return np.concatenate((*payload, offset, s * offset, drift, s * drift, y[..., None]), axis=2)


def _left(columns: FloatArray, x: FloatArray, P: FloatArray, own: NDArray[np.intp], count: int, R: int) -> FloatArray:
    """What x (of covariance P) leaves of a joint's contrasts, and beside it one sigma of what was taken away.

    Without the latter the noise would seem too small by what the fit followed of it (expectation maximisation).
    """
    payload = columns[..., : PARAMETERS * R].reshape(*columns.shape[:2], R, PARAMETERS)[:, :, :count].sum(axis=2)
    design = np.concatenate((payload, columns[..., PARAMETERS * R : -1]), axis=2)
    variance, axes = np.linalg.eigh(P[np.ix_(own, own)])
    unsure = design @ (axes * np.sqrt(np.maximum(variance, 0.0)))
    return np.concatenate((columns[..., -1:] - design @ x[own][:, None], unsure), axis=2)


def _ratio(square: FloatArray, R: int) -> FloatArray:
    """Size of each kind of change relative to `CHANGE`, with a prior of 1, from squares (n, 2 R + 2) of the changes."""
    kinds = (square[:, :R], square[:, R : 2 * R], square[:, -2:-1] / 4.0, square[:, -1:] / 4.0)
    return np.sqrt([(len(square) + kind.sum()) / (len(square) + kind.size) for kind in kinds])


def whitened(
    columns: FloatArray, motion: FloatArray, slowness: FloatArray, sigma: float, tau: float, rho: float
) -> tuple[FloatArray, float]:
    """Columns (K, C, c) times the inverse Cholesky factor of the noise of each contrast, and log det of the factors."""
    white, logs = np.empty_like(columns), 0.0
    for k in range(0, len(motion), MOST_CORRELATED):
        part = slice(k, k + MOST_CORRELATED)
        m = motion[part]
        covariance = sigma**2 * np.exp(-np.abs(m[:, None] - m) / tau) + np.diag(rho**2 + slowness[part] * sigma**2)
        factor, flat = np.linalg.cholesky(covariance), columns[part].reshape(len(m), -1)
        white[part] = linalg.solve_triangular(factor, flat, lower=True, check_finite=False).reshape(columns[part].shape)
        logs += columns.shape[1] * float(np.log(np.diag(factor)).sum())
    return white, logs


def most_probable(columns: FloatArray, motion: FloatArray, slowness: FloatArray, residual: float) -> FloatArray:
    """Sigma, tau and rho of a series (K, C, c), the maximum a posteriori; the prior is that of two passes of an arm."""
    scale = TYPICAL * [residual, 1.0, residual]

    def cost(logs: FloatArray) -> float:
        white, log_det = whitened(columns, motion, slowness, *(scale * np.exp(logs)))
        return float(0.5 * np.sum(white**2) + log_det + 0.5 * np.sum((logs / SPREAD) ** 2))

    options = {"initial_simplex": np.vstack((np.zeros(3), np.diag(SPREAD))), "xatol": 0.02, "fatol": 0.05}
    found = optimize.minimize(cost, np.zeros(3), method="Nelder-Mead", options=options)
    return np.asarray(scale * np.exp(found.x))


# ---- runs that cannot be compared --------------------------------------------------------------------------------


def _refuse_changes(fit: _Fit, runs: Sequence[RunRows], count: int) -> None:
    """Refuse runs of which one has, from some block on, another payload than the others of its kind."""
    worst, words, first = CHANGED_CHI2, "", runs[0]
    for number, run in enumerate(runs):
        carries = number < count
        alone = (count if carries else len(runs) - count) == 1
        for block in range(1 if alone else 0, BLOCKS):  # from the first on, one run has nothing to be compared with
            payload_of = _one_payload(runs, count)
            for row in payload_of[block:]:
                row[number] = 1
            both, P = (values[..., : 2 * PARAMETERS] for values in fit.posterior(payload_of))
            before, after = both[:4] if carries else np.zeros(4), both[PARAMETERS : PARAMETERS + 4]
            change = after - before
            slope = np.hstack((-carries * np.eye(4, PARAMETERS), np.eye(4, PARAMETERS)))
            chi2 = float(change @ np.linalg.solve(slope @ P[: 2 * PARAMETERS] @ slope.T, change))
            heavy = max(abs(before[0]), abs(after[0]))
            matters = abs(change[0]) > CHANGED_MASS or np.abs(change[1:]).max() > CHANGED_COM * heavy
            if matters and chi2 > worst:
                # A load that is lost and one that is gained in the other run look alike: the loaded run comes first.
                worst = 1.2 * chi2 if carries else chi2
                since = first.stamp[0 if block == 0 else fit.end[block - 1] - 1] - first.begin
                words = (
                    f"{run.name}: expected one payload in all {'loaded' if carries else 'unloaded'} runs, got "
                    f"{before[0]:.3f} kg and, from about {since:.1f} s of the motion on, {after[0]:.3f} kg or its "
                    "centre of mass elsewhere"
                )
    if words:
        raise DataError(words)
