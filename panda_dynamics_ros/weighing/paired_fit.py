# SPDX-License-Identifier: Apache-2.0
"""Generalised least squares on the differences of aligned runs.

At row k of the motion, run i of R has the torque that the arm's model leaves

    y_i = r + Y_i theta_i + (a_i + T_i A) + (b_i + T_i B) s + e_i.

r is what the model of the arm leaves at this posture and speed. It is in all runs, and leaves nothing in the R - 1
orthonormal contrasts of the runs (Helmert's), whose noise is then that of a single run and independent. What changes
from run to run is a torque offset a and friction b of each joint, s the sign of its speed; both drift with the time T
at which the runs were made. An order of runs such as unloaded, loaded, loaded, unloaded makes theta independent of A
and B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.weighing.noise import PairedNoise
from panda_dynamics_ros.weighing.run_rows import RunRows

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
