# SPDX-License-Identifier: Apache-2.0
"""The payload from runs of one motion with and without it: what repeats in the arm's error cancels.

At row k of the motion, run i of R has the torque that the arm's model leaves

    y_i = r + Y_i theta_i + (a_i + T_i A) + (b_i + T_i B) s + e_i.

r is what the model of the arm leaves at this posture and speed. It is in all runs, and leaves nothing in the R - 1
orthonormal contrasts of the runs (Helmert's), whose noise is then that of a single run and independent. From run to
run a torque offset a and friction b of each joint change, s the sign of its speed; both drift with the time T of the
runs, which the order unloaded, loaded, loaded, unloaded makes independent of theta. Of the noise e of a joint, m the
time in motion, kappa how near to standstill the joint is,

    cov(e_k, e_l) = sigma^2 [exp(-abs(m_k - m_l) / TAU) + (WHITE^2 + kappa_k) delta_kl].

Contrasts are whitened by its Cholesky factor; theta is the regularised least squares estimate, and sigma of each joint
follows from what it leaves, by turns (expectation maximisation).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np
from scipy import linalg

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.estimation.options import EstimatorOptions, Shape, shape_problem
from panda_dynamics_ros.estimation.paired_rows import RunRows, rows_of, same_moments
from panda_dynamics_ros.estimation.publication import published_estimate
from panda_dynamics_ros.robot.description import RobotDescription, require_robot
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joint_dataset import JointDataset, each_dataset

PAIRED = "from paired runs"  # status of such an estimate
SWAPPED = 0.03  # kg below zero, beyond which loaded and unloaded runs must have been swapped, if the interval says so
CERTAIN = 4.0  # standard deviations, beyond which a mass contradicts what is known of it
CHANGED_CHI2, CHANGED_MASS, CHANGED_COM = 60.0, 0.03, 0.01
"""A payload counts as changed where mass and centre of mass before and after differ by this chi-square (4 degrees of
freedom: 26 has a probability of 3e-5), and by kg or m that matter."""
UNVERIFIED = 0.7
"""By how much more variance an estimate has than the fit says, over the number of differences that it is from. The
errors of 24 pairs of runs of simulated arms were 1.3 times as large as the fit says."""
WITHIN_NOISE = 3.5  # standard deviations that the largest of some fifty torques stays within
BLOCKS = 8  # parts of the motion, to see whether a payload changed
ROUNDS = 4  # of estimating payload and noise by turns
CHANGE = 0.04
"""Usual change of a joint's offset and friction from run to run, in units of the arm's residual; drift over a session
is as much again, twice. The runs say how much more or less it was."""
SIGN_SPEED = 0.05  # rad/s, above which the speed has its sign
LEVEL, TAU, WHITE = 0.07, 0.3, 0.43
"""Sigma in units of the arm's residual, s, and white noise in units of sigma: between two passes of the public 1 kHz
log."""
PRIOR_ROWS = 1.0  # rows that this level counts as beside those of the runs
MOST_CORRELATED = 200  # rows whose noise counts as correlated: 40 s, of noise that keeps its value for less than one


@dataclass(frozen=True, eq=False)
class RestCheck:
    """What is left of the torques at rest once the payload is declared: P pauses of the loaded runs.

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
    robot: RobotDescription, loaded: Sequence[JointDataset], unloaded: Sequence[JointDataset], *,
    check: JointDataset | None = None, shape: Shape | str | None = None, **options: float,
) -> PairedRuns:  # fmt: skip
    """The payload of recorded runs of one motion.

    robot: the arm without the payload; its friction and masses need not be right, since their error cancels.
    loaded, unloaded: one or more runs each, in any order. Stamps tell which came first, unless the runs overlap in
        time; unloaded, loaded, loaded, unloaded is the best order against a drift of the friction.
    check: another loaded run, for the torques at rest; the payload is not found from it. By default the loaded runs.
    shape: of the payload, if it is known, as for `PayloadEstimator`.
    options: see `EstimatorOptions`; those of the prior, and `known_mass` and `max_mass`.
    Raises ArgumentError: a run of either kind is missing, an option is unknown, or the shape is malformed.
    Raises DataError: runs are too short, of several motions, swapped or equal, or the payload changed.
    """
    if not loaded or not unloaded:
        raise ArgumentError(f"loaded, unloaded: expected a run of each, got {len(loaded)} and {len(unloaded)}")
    settings, body_shape = EstimatorOptions.of(options, "check", "shape"), Shape.of(shape)
    loaded, unloaded = ([*each_dataset(runs)] for runs in (loaded, unloaded))
    for one, other in combinations([*loaded, *unloaded], 2):
        if np.array_equal(one.tau, other.tau) and np.array_equal(one.q, other.q):  # runs would seem to have no noise
            raise DataError(
                f"expected another recording for each run, got the same samples in {one.source} and {other.source}"
            )
    count, runs = len(loaded), same_moments([rows_of(require_robot(robot), data) for data in (*loaded, *unloaded)])
    fit = _Fit(runs, count, robot.residual.std, settings.prior_std)
    mean, covariance = (values[..., :PARAMETERS] for values in fit.posterior(fit.grams()))
    covariance = (1.0 + UNVERIFIED / (len(runs) - 1)) * covariance[:PARAMETERS]
    first, kinds = runs[0], (runs[:count], runs[count:])
    certain = CERTAIN * float(np.sqrt(covariance[0, 0]))
    if mean[0] < -max(SWAPPED, certain):
        names = [", ".join(run.name for run in kind) for kind in kinds]
        raise DataError(
            f"{names[0]}: expected loaded runs that weigh more than the unloaded {names[1]}, got {mean[0]:.3f} kg; "
            "the runs look swapped"
        )
    _refuse_changes(fit, runs, count)
    estimate = published_estimate(mean, covariance, settings, body_shape, stamp=float(first.stamp[-1]), status=PAIRED)
    resting = runs if check is None else same_moments([rows_of(robot, data) for data in (check, *unloaded)])
    carrying, still = len(resting) - len(unloaded), resting[0].still
    reference = np.mean([run.y[still] for run in resting[carrying:]], axis=0)
    left = [run.y[still] - run.Y[still] @ estimate.vector - reference for run in resting[:carrying]]
    with_load, without = (np.mean([run.y for run in kind], axis=0) for kind in kinds)
    changes = np.linalg.norm(fit.changes_std[:, :: 2 * len(runs)], axis=1)  # of the offsets: by chance, and their drift
    noise = np.hypot(np.sqrt(2.0 + WHITE**2) * fit.level, changes)
    rest = RestCheck(np.vstack(left), noise * np.sqrt(1.0 + 1.0 / len(unloaded)))
    of_shape = shape_problem(body_shape, mean, covariance, settings.prior_std) if body_shape else ""
    return PairedRuns(
        estimate=replace(estimate, problem=_problem(float(mean[0]), certain, settings, rest) or of_shape),
        rest=rest,
        noise=fit.level * np.sqrt(1.0 + WHITE**2),
        motion_s=float(first.motion[-1] - first.motion[0]),
        stamp=first.stamp - first.begin,
        q=first.q,
        difference=with_load - without,
        explained=np.mean([run.Y for run in kinds[0]], axis=0) @ estimate.vector,
    )


def _problem(mass: float, certain: float, options: EstimatorOptions, rest: RestCheck) -> str:
    """What contradicts the result, in a sentence; `mass`, kg, is what the runs say alone, to within `certain`."""
    if options.known_mass > 0.0 and abs(mass - options.known_mass) > certain:
        return f"the runs weigh {mass:.3f} kg, which contradicts known_mass = {options.known_mass:g} kg: correct it"
    if mass > options.max_mass + certain:
        return f"the runs weigh {mass:.3f} kg: expected at most max_mass = {options.max_mass:g} kg; raise it"
    if len(rest.torque) == 0 or rest.passed:
        return ""
    j = int(np.argmax(rest.largest / rest.noise))
    return (
        f"with the payload declared, the torque of joint {j + 1} at rest is off by {rest.largest[j]:.2f} N m, beyond "
        f"{WITHIN_NOISE * rest.noise[j]:.2f} N m: check robot, mounting and gravity, and that the load did not move"
    )


class _Fit:
    """Mean and covariance of x = (payload of the loaded runs, another payload, changes of joint 1, joint 2, ..).

    runs: R aligned runs, of which the first `count` carry the payload. residual: (n,), N m, that the arm's model
        leaves. prior_std: (10,), of a payload.

    level: (n,), N m, sigma. changes_std: (n, 2 R + 2), N m. end: (BLOCKS,), rows at which the parts of the motion end.
    """

    def __init__(self, runs: Sequence[RunRows], count: int, residual: FloatArray, prior_std: FloatArray) -> None:
        R, n, rows = len(runs), len(residual), len(runs[0].motion)
        self._carries, self._prior_std, self.level = np.arange(R) < count, np.tile(prior_std, 2), LEVEL * residual
        self.end = np.ceil(np.arange(1, BLOCKS + 1) * rows / BLOCKS).astype(np.intp)
        slowness = np.max([run.slowness for run in runs], axis=0)
        self._grams = []  # (BLOCKS, c, c) of each joint's whitened columns and y, for a sigma of 1
        for joint in range(n):
            white = whitened(_contrasts(runs, joint), runs[0].motion, slowness[:, joint])
            parts = [part.reshape(-1, white.shape[2]) for part in np.split(white, self.end[:-1])]
            self._grams.append([part.T @ part for part in parts])
        kinds = np.repeat(np.arange(4), [R, R, 1, 1])  # offsets, frictions, drift of both
        changes = 2 * PARAMETERS + np.arange(n * len(kinds)).reshape(n, -1)  # places in x
        self._own = np.hstack((np.tile(np.arange(2 * PARAMETERS), (n, 1)), changes))  # of what acts on each joint
        self.changes_std = usual = CHANGE * residual[:, None] * np.where(kinds < 2, 1.0, 2.0)
        grams = self.grams()
        for _ in range(ROUNDS):
            x, P = self.posterior(grams)
            square = (x**2 + np.diag(P))[changes] / usual**2
            sums = np.array([[square[:, kinds == k].sum(), square[:, kinds == k].size] for k in range(4)])
            self.changes_std = usual * np.sqrt((n + sums[:, 0]) / (n + sums[:, 1]))[kinds]
            left = np.hstack((-x[self._own], np.ones((n, 1))))  # and what the fit may have followed of the noise
            chi2 = np.einsum("ja,jab,jb->j", left, grams, left)
            chi2 += np.einsum("jab,jab->j", grams[:, :-1, :-1], P[self._own[:, :, None], self._own[:, None]])
            self.level = np.sqrt((PRIOR_ROWS * (LEVEL * residual) ** 2 + chi2) / (PRIOR_ROWS + rows * (R - 1)))

    def grams(self, number: int = 0, block: int = BLOCKS) -> FloatArray:
        """(n, ..), of each joint's columns of x and y, where run `number` has the other payload from `block` on."""
        carried = np.zeros((BLOCKS, len(self._carries), 2))
        carried[:, self._carries, 0] = 1.0
        carried[block:, number] = 0.0, 1.0
        rest = np.eye(self.changes_std.shape[1] + 1)
        gather = np.array([linalg.block_diag(np.kron(each, np.eye(PARAMETERS)), rest) for each in carried])
        return np.asarray((gather.swapaxes(1, 2) @ self._grams @ gather).sum(axis=1))

    def posterior(self, grams: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of x."""
        L = np.diag(np.concatenate((self._prior_std, self.changes_std.ravel())) ** -2.0)
        v = np.zeros(len(L))
        for gram, own, level in zip(grams, self._own, self.level, strict=True):
            L[np.ix_(own, own)] += gram[:-1, :-1] / level**2
            v[own] += gram[:-1, -1] / level**2
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


def whitened(columns: FloatArray, motion: FloatArray, slowness: FloatArray) -> FloatArray:
    """Columns (K, C, c) times the inverse Cholesky factor of the noise of each contrast, for a sigma of 1."""
    white = np.empty_like(columns)
    for k in range(0, len(motion), MOST_CORRELATED):
        part = slice(k, k + MOST_CORRELATED)
        m = motion[part]
        covariance = np.exp(-np.abs(m[:, None] - m) / TAU) + np.diag(WHITE**2 + slowness[part])
        factor, flat = np.linalg.cholesky(covariance), columns[part].reshape(len(m), -1)
        white[part] = linalg.solve_triangular(factor, flat, lower=True, check_finite=False).reshape(columns[part].shape)
    return white


def _refuse_changes(fit: _Fit, runs: Sequence[RunRows], count: int) -> None:
    """Refuse runs of which one has, from some block on, another payload than the others of its kind."""
    worst, words, first = CHANGED_CHI2, "", runs[0]
    for number, run in enumerate(runs):
        carries = number < count
        alone = (count if carries else len(runs) - count) == 1
        slope = np.hstack((-carries * np.eye(4, PARAMETERS), np.eye(4, PARAMETERS)))
        for block in range(1 if alone else 0, BLOCKS):  # from the first on, one run has nothing to be compared with
            x, P = (values[..., : 2 * PARAMETERS] for values in fit.posterior(fit.grams(number, block)))
            change, after = slope @ x, float(x[PARAMETERS])
            before = after - float(change[0])
            chi2 = float(change @ np.linalg.solve(slope @ P[: 2 * PARAMETERS] @ slope.T, change))
            heavy = max(abs(before), abs(after))
            matters = abs(change[0]) > CHANGED_MASS or np.abs(change[1:]).max() > CHANGED_COM * heavy
            if matters and chi2 > worst:
                # A load that is lost and one that is gained in the other run look alike: the loaded run comes first.
                worst = 1.2 * chi2 if carries else chi2
                since = first.stamp[0 if block == 0 else fit.end[block - 1] - 1] - first.begin
                words = (
                    f"{run.name}: expected one payload in all {'loaded' if carries else 'unloaded'} runs, got "
                    f"{before:.3f} kg and, from about {since:.1f} s of the motion on, {after:.3f} kg or its centre of "
                    "mass elsewhere"
                )
    if words:
        raise DataError(words)
