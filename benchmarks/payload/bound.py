# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.payload.bound`: how well any estimator could do that knew the arm without error.

The Cramer-Rao bound of a payload that is there from the start: all ten parameters unknown, the arm and its
acceleration known exactly, no noise but the simulated disturbance, of which standard deviation and correlation time
are known. What the disturbance takes, no estimator gets back. With `--cycles`: 1 s after each pick of arms that repeat
a cycle (`benchmarks.payload.learnt`), as if what repeats were known without error.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.payload import recordings
from benchmarks.payload.accuracy import COLD_STARTS
from benchmarks.payload.arms import published
from benchmarks.payload.learnt import PICKED_AT, START, repeating_arm
from benchmarks.payload.samples import TIMES, Samples, body
from benchmarks.payload.zero_phase import EDGE, EVERY, STEP, smooth
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.simulation import Realism

PRIOR = EstimatorOptions().prior_std
"""(10,): what is known beforehand, the same as the payload estimator's."""
DRAWS = 2000


def covariance(Y: FloatArray, std: FloatArray, decay: FloatArray) -> FloatArray:
    """(10, 10) of the best estimate from regressors Y (k, n, 10) and an AR(1) disturbance of each joint.

    decay: (n,), what a sample of the disturbance keeps of the one before. One less `decay` of the other is white.
    """
    information = np.diag(1.0 / PRIOR**2) + np.einsum("ja,j,jb->ab", Y[0], 1.0 / std**2, Y[0])
    white = Y[1:] - decay[:, None] * Y[:-1]
    information += np.einsum("kja,j,kjb->ab", white, 1.0 / (std**2 * (1.0 - decay**2)), white)
    return np.linalg.inv(information)


def windows(data: Samples, time: float) -> list[Samples]:
    """As in the trials that start with the payload attached, and the edges that `smooth` leaves out."""
    pick = recordings.SKIPPED + recordings.LEAD
    last = pick + recordings.CARRIED
    starts = [pick + offset for offset in COLD_STARTS if pick + offset + time + EDGE < last]
    return [data.between(start - EDGE, start + time + EDGE) for start in starts]


def cycles(seeds: int, mass: float) -> None:
    """Print the bound 1 s after a pick of arms that repeat a cycle."""
    robot, masses, com_errors = published(), [], []
    for seed in range(seeds):
        plant, truth = repeating_arm(seed), body(mass, seed)
        std = plant.realism.disturbance_share * robot.residual.std
        decay = np.exp(-EVERY * STEP / (plant.realism.disturbance_time * robot.residual.correlation_time))
        q, dq, ddq = plant.excitation(START + PICKED_AT + np.arange(0.0, 1.0, EVERY * STEP))
        found = covariance(robot.payload_regressor(q, dq, ddq), std, decay)
        drawn = truth.vector + np.random.default_rng(seed).multivariate_normal(np.zeros(10), found, DRAWS)
        masses.append(np.abs(drawn[:, 0] - truth.mass))
        com_errors.append(np.linalg.norm(drawn[:, 1:4] / drawn[:, :1] - truth.com, axis=1))
    medians = 1e3 * np.median(np.concatenate(masses)), 1e3 * np.median(np.concatenate(com_errors))
    print(f"{mass:g} kg, 1 s after a pick in a cycle: at least {medians[0]:.1f} g and {medians[1]:.1f} mm (medians)")


def main() -> None:
    """Print a row for each time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12, help="simulated arms")
    parser.add_argument("--mass", type=float, default=1.0, help="kg")
    parser.add_argument("--cycles", action="store_true", help="of arms that repeat a cycle")
    args = parser.parse_args()
    if args.cycles:
        cycles(args.seeds, args.mass)
        return
    robot, realism, rng = published(), Realism(), np.random.default_rng(0)
    std = realism.disturbance_share * robot.residual.std
    decay = np.exp(-EVERY * STEP / (realism.disturbance_time * robot.residual.correlation_time))
    print(f"{args.mass:g} kg attached from the start: the least mass RMSE and median CoM error")
    for time in TIMES:
        variances, com_errors = [], []
        for seed in range(args.seeds):
            truth = body(args.mass, seed)
            for window in windows(recordings.carrying(seed, args.mass), time):
                q, dq, ddq, _ = smooth(window)
                found = covariance(robot.payload_regressor(q, dq, ddq), std, decay)
                variances.append(found[0, 0])
                drawn = truth.vector + rng.multivariate_normal(np.zeros(10), found, DRAWS)
                com_errors.append(np.linalg.norm(drawn[:, 1:4] / drawn[:, :1] - truth.com, axis=1))
        mass, com = np.sqrt(np.mean(variances)), np.median(np.concatenate(com_errors))
        print(f"after {time:4g} s  {1e3 * mass:5.1f} g  {1e3 * com:5.1f} mm")


if __name__ == "__main__":
    main()
