# SPDX-License-Identifier: Apache-2.0
"""The payload from runs of one motion with and without it: what repeats in the arm's error cancels.

Runs are aligned by posture (`alignment`) and compared row by row (`paired_fit`). The result is a `PayloadEstimate`
with the meaning that it has everywhere: standard deviations are one sigma.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.scratch import zeros
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation import EstimatorOptions, PayloadEstimate, Shape
from panda_dynamics_ros.estimation.consistency import ConsistentBody
from panda_dynamics_ros.estimation.paired_rows import PAUSE, RunRows, aligned, rows_of
from panda_dynamics_ros.estimation.publication import published_estimate
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joint_dataset import JointDataset

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


BLOCKS = 8
"""Parts of the motion, to see whether a payload changed."""
ROUNDS = 4
"""Of estimating payload and noise by turns."""
CHANGE = 0.04
"""Usual change of a joint's offset and friction from run to run, in units of the arm's residual; drift over a session
as much again, twice. The runs say how much more or less it was."""
UNSURE = 12
"""Directions of the fit's uncertainty that are considered where the noise is estimated."""
SIGN_SPEED = 0.05
"""rad/s, above which the speed has its sign."""


@dataclass(frozen=True, eq=False)
class PairedFit:
    """Information of R aligned runs on their payloads and changes x = (theta_1 .. theta_R, changes of joint 1, 2, ..).

    Attributes
    ----------
    information: (BLOCKS, size, size), and vector: (BLOCKS, size), of each part of the motion.
    prior: (changes,), prior standard deviations of the joints' changes.
    noise: of each joint.
    end: (BLOCKS,), s, stamps of the first run at which the parts end.
    """

    information: FloatArray
    vector: FloatArray
    prior: FloatArray
    noise: tuple[PairedNoise, ...]
    end: FloatArray
    runs: int

    def solve(self, payload_of: Sequence[Sequence[int]], prior_std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Payloads (P, 10) and their covariance (P 10, P 10), where `payload_of`[block][run] is 0..P-1, or -1 for none.

        The joints' changes are integrated out.
        """
        x, P = self._posterior(payload_of, prior_std)
        size = len(x) - len(self.prior)
        return x[:size].reshape(-1, PARAMETERS), P[:size, :size]

    def _posterior(self, payload_of: Sequence[Sequence[int]], prior_std: FloatArray) -> tuple[FloatArray, FloatArray]:
        payloads, changes = 1 + max(max(row) for row in payload_of), len(self.prior)
        size = PARAMETERS * payloads + changes
        L = np.diag(np.concatenate((np.tile(prior_std, payloads), self.prior)) ** -2.0)
        v = np.zeros(size)
        for block, row in enumerate(payload_of):
            G = np.zeros((self.information.shape[1], size))
            for run, payload in enumerate(row):
                if payload >= 0:
                    G[_columns(run), _columns(payload)] = np.eye(PARAMETERS)
            G[-changes:, -changes:] = np.eye(changes)
            L += G.T @ self.information[block] @ G
            v += G.T @ self.vector[block]
        scale = 1.0 / np.sqrt(np.diag(L))
        P = np.linalg.inv(scale[:, None] * L * scale) * np.outer(scale, scale)
        return P @ v, P


def _columns(k: int) -> slice:
    return slice(PARAMETERS * k, PARAMETERS * (k + 1))


@dataclass(frozen=True, eq=False)
class _Series:
    """One joint's contrasts, one after the other: columns (K (R - 1), c) with y last, motion, slowness, and block."""

    columns: FloatArray
    motion: FloatArray
    slowness: FloatArray

    def residual(self, x: FloatArray, P: FloatArray, carried: FloatArray, joint: int) -> FloatArray:
        """y - H x, and the `UNSURE` largest directions of its uncertainty from the covariance P of x, side by side."""
        H = self.columns[:, :-1]
        changes = H.shape[1] - len(carried)
        first = PARAMETERS + changes * joint
        own = np.r_[:PARAMETERS, first : first + changes]
        design = np.column_stack((H[:, : len(carried)] @ carried, H[:, len(carried) :]))
        variance, axes = np.linalg.eigh(P[np.ix_(own, own)])
        unsure = design @ (axes * np.sqrt(np.maximum(variance, 0.0)))
        largest = np.argsort(np.sum(unsure**2, axis=0))[-UNSURE:]
        return np.column_stack((self.columns[:, -1] - design @ x[own], unsure[:, largest]))


def fit_runs(runs: Sequence[RunRows], loaded: Sequence[bool], residual: FloatArray, prior_std: FloatArray) -> PairedFit:
    """The fit of aligned runs, K rows each.

    Parameters
    ----------
    loaded: which of them carry the payload, the same one in all.
    residual: (n,), N m, what the arm's model leaves.
    prior_std: (10,), of the payload.
    """
    count, rows = len(runs), len(runs[0].stamp)
    share = np.arange(rows) / rows
    block = np.tile((BLOCKS * share).astype(np.intp), count - 1)
    series = [_series(runs, joint) for joint in range(len(residual))]
    noise = [PairedNoise.typical(each) for each in residual]
    ratio = np.ones(4)
    together = [[0 if each else -1 for each in loaded]] * BLOCKS
    for turn in range(ROUNDS + 1):
        prior = np.concatenate([CHANGE * each * _spread(count, ratio) for each in residual])
        fit = _normal_equations(series, block, noise, prior, runs[0], count)
        if turn == ROUNDS:
            return fit
        x, P = fit._posterior(together, prior_std)
        changes = x[PARAMETERS:].reshape(len(residual), -1)
        ratio = _ratio(changes, np.diag(P)[PARAMETERS:].reshape(changes.shape), residual, count)
        carried = np.vstack([np.eye(PARAMETERS) * each for each in loaded])
        noise = [
            PairedNoise.most_probable(
                each.residual(x, P, carried, joint), each.motion, each.slowness, float(residual[joint])
            )
            for joint, each in enumerate(series)
        ]
    raise AssertionError("unreachable")


def _spread(count: int, ratio: FloatArray) -> FloatArray:
    """Prior standard deviations of a joint's changes: offsets and frictions of the runs, and drift of both."""
    return np.concatenate((np.full(count, ratio[0]), np.full(count, ratio[1]), 2.0 * ratio[2:]))


def _ratio(mean: FloatArray, variance: FloatArray, residual: FloatArray, count: int) -> FloatArray:
    """Size of each kind of change relative to `CHANGE`: one step of expectation maximisation, with a prior of 1."""
    square = (mean**2 + variance) / (CHANGE * residual[:, None]) ** 2
    kinds = (square[:, :count], square[:, count : 2 * count], square[:, -2] / 4.0, square[:, -1] / 4.0)
    return np.sqrt([(len(residual) + np.sum(kind)) / (len(residual) + kind.size) for kind in kinds])


def _times(runs: Sequence[RunRows]) -> FloatArray:
    """Times of the runs (R,), scaled to -1 .. 1; zero if stamps overlap, because their order is then unknown."""
    by_start = sorted(runs, key=lambda run: run.stamp[0])
    if any(later.stamp[0] < earlier.stamp[-1] for earlier, later in pairwise(by_start)):
        return np.zeros(len(runs))
    time = np.array([np.mean(run.stamp) for run in runs])
    return np.asarray((time - time.mean()) / (np.ptp(time) / 2.0))


def _series(runs: Sequence[RunRows], joint: int) -> _Series:
    count, rows = len(runs), len(runs[0].stamp)
    contrasts = linalg.helmert(count)
    time = _times(runs)
    sign = np.mean([np.tanh(run.dq[:, joint] / SIGN_SPEED) for run in runs], axis=0)
    parts = []
    for weights in contrasts:
        payload = [w * run.Y[:, joint] for w, run in zip(weights, runs, strict=True)]
        offset, drift = np.broadcast_to(weights, (rows, count)), np.full((rows, 1), weights @ time)
        y = sum(w * run.y[:, joint] for w, run in zip(weights, runs, strict=True))
        parts.append(np.column_stack((*payload, offset, offset * sign[:, None], drift, drift * sign[:, None], y)))
    motion = np.diff(runs[0].motion, prepend=runs[0].motion[0] + 1.0)  # the first is negative: a new series
    slowness = np.max([run.slowness[:, joint] for run in runs], axis=0)
    return _Series(np.vstack(parts), np.tile(motion, count - 1), np.tile(slowness, count - 1))


def _normal_equations(
    series: Sequence[_Series],
    block: NDArray[np.intp],
    noise: Sequence[PairedNoise],
    prior: FloatArray,
    first: RunRows,
    count: int,
) -> PairedFit:
    of_payloads, changes = PARAMETERS * count, 2 * count + 2
    size = of_payloads + changes * len(series)
    information, vector = np.zeros((BLOCKS, size, size)), np.zeros((BLOCKS, size))
    for joint, each in enumerate(series):
        own = np.r_[:of_payloads, of_payloads + changes * joint : of_payloads + changes * (joint + 1)]
        white = noise[joint].whiten(each.columns, each.motion, each.slowness)
        for b in range(BLOCKS):
            H, y = white[block == b, :-1], white[block == b, -1]
            information[b][np.ix_(own, own)] += H.T @ H
            vector[b][own] += H.T @ y
    rows = block[: len(first.stamp)]
    end = np.array([first.stamp[np.flatnonzero(rows <= b)[-1]] for b in range(BLOCKS)])
    return PairedFit(information, vector, prior, tuple(noise), end, count)


TYPICAL = (0.07, 0.3, 0.03)
"""sigma and rho in units of the arm's residual, tau in s: between two passes of the public 1 kHz log."""
SPREAD = (0.7, 0.5, 1.0)
"""One standard deviation of the logarithms of these, over arms and motions."""


def whitened(
    columns: FloatArray, motion: FloatArray, white: FloatArray, sigma: float, tau: float
) -> tuple[FloatArray, float]:
    """Innovations (K, c) of the columns (K, c) over their standard deviations, and the sum of the logarithms of these.

    `motion` (K,), s since the row before; a negative one starts a new series. `white` (K,), variance of e.
    """
    out = np.empty_like(columns)
    return out, float(whiten(columns, motion, white, sigma, tau, out))


@compiled
def whiten(columns, motion, white, sigma, tau, out):
    """`whitened` into `out` (K, c); returns the sum of the logarithms."""
    mean, variance, logs = zeros(columns.shape[1]), 0.0, 0.0
    for k in range(columns.shape[0]):
        a = math.exp(-motion[k] / tau) if motion[k] >= 0.0 else 0.0
        variance = a * a * variance + sigma * sigma * (1.0 - a * a)
        S = variance + white[k]
        gain, scale = variance / S, 1.0 / math.sqrt(S)
        for c in range(columns.shape[1]):
            mean[c] *= a
            innovation = columns[k, c] - mean[c]
            mean[c] += gain * innovation
            out[k, c] = scale * innovation
        variance *= 1.0 - gain
        logs -= math.log(scale)
    return logs


@dataclass(frozen=True)
class PairedNoise:
    """One joint's: sigma (N m), tau (s), rho (N m).

    The white part is larger where the joint has just stood still, by `slow` (N m).
    """

    sigma: float
    tau: float
    rho: float
    slow: float

    def white(self, slowness: FloatArray) -> FloatArray:
        """Variances (K,) of e."""
        return self.rho**2 + slowness * self.slow**2

    def whiten(self, columns: FloatArray, motion: FloatArray, slowness: FloatArray) -> FloatArray:
        """Columns (K, c) as `whitened`."""
        return np.asarray(whitened(columns, motion, self.white(slowness), self.sigma, self.tau)[0])

    @classmethod
    def typical(cls, residual: float) -> PairedNoise:
        """The prior for a joint whose model leaves a residual of `residual` N m."""
        sigma, tau, rho = TYPICAL
        return cls(sigma * residual, tau, rho * residual, sigma * residual)

    @classmethod
    def most_probable(
        cls, columns: FloatArray, motion: FloatArray, slowness: FloatArray, residual: float
    ) -> PairedNoise:
        """The maximum a posteriori estimate from a series; the prior is that of two passes of a real arm.

        Parameters
        ----------
        columns: (K, c), N m: what is left of the series, and beside it the uncertainty of what was taken away, one
            standard deviation in each column. Without the latter the noise would seem too small by what the fit
            followed of it (this is the M-step of an expectation maximisation).
        """
        typical = cls.typical(residual)
        scale, spread = np.array([typical.sigma, typical.tau, typical.rho]), np.array(SPREAD)

        def of(logs: FloatArray) -> PairedNoise:
            sigma, tau, rho = (scale * np.exp(logs)).tolist()
            return cls(sigma, tau, rho, sigma)

        def cost(logs: FloatArray) -> float:
            noise = of(logs)
            white, log_std = whitened(columns, motion, noise.white(slowness), noise.sigma, noise.tau)
            return float(0.5 * np.sum(white**2) + log_std + 0.5 * np.sum((logs / spread) ** 2))

        simplex = np.vstack((np.zeros(3), np.diag(spread)))
        options = {"initial_simplex": simplex, "xatol": 0.02, "fatol": 0.05}
        found = optimize.minimize(cost, np.zeros(3), method="Nelder-Mead", options=options)
        return of(found.x)
