# SPDX-License-Identifier: Apache-2.0
"""Learns an arm's residual map from recordings of unloaded motion, in the measure of the payload estimator.

The estimator sees the residual torque through two low-pass filters, and so does the map: both the torque and the
covariances with the inducing points pass them (`robot.residual_map`). The sensors' quick vibrations count as
little as in the estimator.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import link_side_torques, presliding_states
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation.arm_model import MotionClock
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.regression import ARM, MomentumRegression, recorded_rows
from panda_dynamics_ros.robot.description import RobotDescription, require_robot
from panda_dynamics_ros.robot.joint_dataset import JointDataset, each_dataset
from panda_dynamics_ros.robot.residual_map import NOISE_TIME, ResidualMap, coordinates, covariance, inducing_points

Robot = TypeVar("Robot", bound=RobotDescription)

ROW_PERIOD = 0.02  # s, of the rows: short beside the filters' 0.1 s


def learn_residual(data: JointDataset | Sequence[JointDataset], robot: Robot, **options: float) -> Robot:
    """The arm with a map of what its model leaves unexplained, learnt from recordings of its unloaded motion.

    Estimators of the returned robot subtract the map's mean and trust the torques as far as its variance says. Where
    the recordings have not been, they work as without it.

    data: recordings in which the arm carries nothing; a map learnt before is replaced.
    robot: the arm, best after `identify`. Its residual model gives the map's prior.
    options: see `EstimatorOptions`; those of the filters and of motion count.
    Raises ArgumentError: there is no recording, it is none, or an option is wrong.
    Raises DataError: a recording has other joints, or none has enough motion.

    Reference: Quinonero-Candela and Rasmussen, JMLR 2005, for the sparse Gaussian process.
    """
    recordings = list(each_dataset(data))
    if not recordings:
        raise ArgumentError("data: expected at least one recording, got none")
    bare = replace(require_robot(robot), residual_map=None)
    used, points = EstimatorOptions.of(options), np.zeros((0, 3 * robot.n))
    for recording in recordings:
        if recording.q.shape[1] != robot.n:
            raise DataError(f"{recording.source}: expected {robot.n} joints, got {recording.q.shape[1]}")
        every = max(1, round(0.5 * ROW_PERIOD / recording.period_s)) if len(recording.stamp) > 1 else 1
        points = inducing_points(np.vstack([points, _coordinates(recording)[::every]]))
    parts = zip(*(_statistics(bare, recording, points, used) for recording in recordings), strict=True)
    gram, moment, square, rows = (np.sum(values, axis=0) for values in parts)
    if rows == 0.0:
        raise DataError("data: expected unloaded motion of at least a second, got none")
    found = ResidualMap(points, 0.5 * (gram + gram.T), moment, square, rows, robot.residual.std)
    return replace(bare, residual_map=found)


def _coordinates(recording: JointDataset) -> FloatArray:
    """x (N, 3 n) of the map."""
    return coordinates(recording.q, recording.dq, presliding_states(recording.q)[0])


def _statistics(
    robot: RobotDescription, recording: JointDataset, points: FloatArray, options: EstimatorOptions
) -> tuple[FloatArray, ...]:
    """Gram (M, M), moment (M, n), square (n,) and number of the rows of one recording, weighted by 1 / kappa."""
    clock, filters = MotionClock(robot.n), MomentumRegression(1, options.bandwidth_hz, len(points))
    near, found = covariance(_coordinates(recording), points), [np.zeros((0, 1 + robot.n + len(points)))]
    samples = recording.stamp, recording.q, recording.dq, link_side_torques(robot, recording.q, recording.tau)
    for part, steps, filtered in recorded_rows(robot, *samples, options.bandwidth_hz, ROW_PERIOD, options.max_gap_s):
        if steps[0] == 0.0:
            clock.restart()
        signals = near[part, None, :]  # the terms of a regression without momentum
        phi = filters.rows(steps, np.zeros(signals.shape), signals)[0]
        weight = clock.step(recording.q[part.stop - 1], float(steps.sum())) / (2.0 * NOISE_TIME)
        if weight > 0.0:
            found.append(np.concatenate(([weight], filtered[:, ARM], phi))[None])
    rows = np.concatenate(found)
    inverse_kappa, torque, phi = rows[:, 0], rows[:, 1 : 1 + robot.n], rows[:, 1 + robot.n :]
    weighted = inverse_kappa[:, None] * phi
    return weighted.T @ phi, weighted.T @ torque, inverse_kappa @ torque**2, inverse_kappa.sum()
