# SPDX-License-Identifier: Apache-2.0
"""Learns an arm's residual map from unloaded motion, in the measure of the payload estimator.

The estimator sees the residual torque through two low-pass filters, and so does the map: both the torque and the
covariances with the inducing points pass them (`robot.residual_map`). What the sensors shake quickly then counts as
little here as it does there.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.residual_torques import point_covariance
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.estimation.low_pass import TwoPoleFilter, low_pass_step
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.motion_clock import MotionClock
from panda_dynamics_ros.estimation.regression import MeanChange, MomentumRegression
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.residual_map import MOST_POINTS, NOISE_TIME, ResidualMap, coordinates, covariance
from panda_dynamics_ros.samples.joint_dataset import JointDataset

Sample = tuple[FloatArray, FloatArray]
Robot = TypeVar("Robot", bound=RobotDescription)

ROW_PERIOD = 0.02
"""s, of the rows: short beside the filters' 0.1 s."""
ONLINE_POINTS = 200
"""Inducing points of a map that is learnt while the estimator runs: a new map takes some 20 ms."""
HOLD = 3.0
"""s, for which rows wait before they count: a pick shows meanwhile, and then they do not."""
FIRST_MAP, MAP_PERIOD = 2.0, 5.0
"""s of motion learnt from, before the first map and between two."""
MEMORY = 600.0
"""s of motion, after which a row counts 1/e: friction follows the temperature in a quarter of an hour or more."""
STATE_PERIOD = 0.01
"""s, between two states that are learnt from."""
NOVEL = 0.05
"""Share of the prior's variance that the points leave open, above which a state becomes a point of its own."""
_JITTER, _NEAR = 1e-6, 1e-4


class InducingPoints:
    """Inducing points, chosen one after the other: a state that those before it do not predict becomes one."""

    def __init__(self, points: FloatArray, most: int = MOST_POINTS) -> None:
        self.count, self._most = 0, most
        self.points = np.zeros((MOST_POINTS, points.shape[1]))
        self._L = np.zeros((MOST_POINTS, MOST_POINTS))
        for point in points:
            self._append(point, *self._row(point))

    @property
    def chosen(self) -> FloatArray:
        """(M, 3 n)."""
        return self.points[: self.count]

    def offer(self, x: FloatArray) -> bool:
        """Whether x (3 n,) has become a point."""
        if self.count >= self._most:
            return False
        row, novelty = self._row(x)
        if novelty < NOVEL:
            return False
        self._append(x, row, novelty)
        return True

    def _row(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The next row of the Cholesky factor, and the square of its diagonal entry."""
        from scipy.linalg import solve_triangular  # a quarter of a second; only nodes that learn need it

        m = self.count
        k = covariance(x[None], self.chosen)[0]
        row = solve_triangular(self._L[:m, :m], k, lower=True, check_finite=False) if m else k
        return row, 1.0 + _JITTER - float(row @ row)

    def _append(self, x: FloatArray, row: FloatArray, novelty: float) -> None:
        m = self.count
        self.points[m], self._L[m, :m], self._L[m, m] = x, row, math.sqrt(max(novelty, _JITTER))
        self.count += 1


def learn_residual(data: JointDataset | Sequence[JointDataset], robot: Robot, **options: float) -> Robot:
    """The arm with a map of what its model leaves unexplained, learnt from recordings of its unloaded motion.

    Parameters
    ----------
    data: recordings in which the arm carries nothing; a map learnt before is replaced.
    robot: the arm, best after `identify`. Its residual model gives the map's prior.
    options: see `EstimatorOptions`; those of the filters and of motion count.

    Returns
    -------
    The robot with its `residual_map`. Estimators of this robot subtract the map's mean and trust the torques as far as
    its variance says. Where the recordings have not been, they work as without it.

    Raises
    ------
    ArgumentError: there is no recording, or an option is wrong.
    DataError: a recording has other joints, or none has enough motion.

    Reference: Quinonero-Candela and Rasmussen, JMLR 2005, for the sparse Gaussian process.
    """
    recordings = [data] if isinstance(data, JointDataset) else list(data)
    if not recordings:
        raise ArgumentError("data: expected at least one recording, got none")
    for recording in recordings:
        if recording.q.shape[1] != robot.n:
            raise DataError(f"{recording.source}: expected {robot.n} joints, got {recording.q.shape[1]}")
    bare, used = replace(robot, residual_map=None), EstimatorOptions.of(options)
    inducing = InducingPoints(np.zeros((0, 3 * robot.n)))
    for recording in recordings:
        every = max(1, round(0.5 * ROW_PERIOD / recording.period_s)) if len(recording.stamp) > 1 else 1
        for x in coordinates(recording.q[::every], recording.dq[::every]):
            inducing.offer(x)
    size = inducing.count
    points = inducing.chosen.copy()
    gram, moment, square = np.zeros((size, size)), np.zeros((size, robot.n)), np.zeros(robot.n)
    rows = 0.0
    for recording in recordings:
        phi, y, weight = _rows(bare, recording, points, used)
        gram += (weight[:, None] * phi).T @ phi
        moment += (weight[:, None] * phi).T @ y
        square += weight @ y**2
        rows += float(weight.sum())
    if rows == 0.0:
        raise DataError("data: expected unloaded motion of at least a second, got none")
    gram = 0.5 * (gram + gram.T)
    return replace(bare, residual_map=ResidualMap(points, gram, moment, square, np.array(rows), robot.residual.std))


def _rows(
    robot: RobotDescription, recording: JointDataset, points: FloatArray, options: EstimatorOptions
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Filtered covariances (N, M), filtered torques (N, n) and weights 1 / kappa (N,) of one recording."""
    terms, regression = MomentumTerms(robot), MomentumRegression(robot.n, options.bandwidth_hz)
    filters, clock = TwoPoleFilter(len(points), regression.pole), MotionClock(robot.n, options)
    near = covariance(coordinates(recording.q, recording.dq), points)
    torques, weights, phi = [], [], []
    last = row = -math.inf
    for k, stamp in enumerate(recording.stamp):
        dt = stamp - last
        if dt > options.max_gap_s:
            regression.restart()
            clock.restart()
            dt, row = 0.0, stamp
        _, y = regression.step(dt, terms.at(recording.q[k], recording.dq[k], recording.tau[k]))
        filtered = filters.step(dt, near[k])
        clock.update(dt, recording.dq[k])
        last = stamp
        if regression.settled and stamp - row >= ROW_PERIOD - 1e-9:
            weight = clock.motion_time(stamp - row) / (2.0 * NOISE_TIME)
            row = stamp
            if weight > 0.0:
                torques.append(y.copy())
                weights.append(weight)
                phi.append(filtered.copy())
    shape = (len(weights), len(points))
    return np.array(phi).reshape(shape), np.array(torques).reshape(-1, robot.n), np.array(weights)


class _State(NamedTuple):
    """A state of the arm `dt` s after the last one, with the torque that the bare model leaves; its weight may be 0."""

    stamp: float
    dt: float
    q: FloatArray
    dq: FloatArray
    torque: FloatArray
    weight: float


class ResidualLearner:
    """Goes on learning one arm's residual map, sample by sample, while nothing is carried. Memory and time are bounded.

    Parameters
    ----------
    robot: the arm, with the map to start from if there is one.
    options: of the payload estimator, whose filters it follows.

    Attributes
    ----------
    map: the one in use.
    """

    def __init__(self, robot: RobotDescription, options: EstimatorOptions) -> None:
        self._n, self._pole = robot.n, 2.0 * math.pi * options.bandwidth_hz
        self._clock = MotionClock(robot.n, options)
        self.start_from(robot.residual_map or ResidualMap.empty(robot.residual.std))

    def start_from(self, residual_map: ResidualMap) -> None:
        """Forget what was learnt, and go on from this map."""
        n, size = self._n, len(residual_map.points)
        self.map = residual_map
        most = max(size, ONLINE_POINTS)
        self._inducing = InducingPoints(residual_map.points, most)
        self._gram, self._moment = np.zeros((most, most)), np.zeros((most, n))
        self._gram[:size, :size], self._moment[:size] = residual_map.gram, residual_map.moment
        self._square, self._rows = residual_map.square.copy(), float(residual_map.rows)
        self._near, self._x = np.zeros(most), np.zeros(3 * n)
        self._filters = np.zeros((4, most))
        self._learnt, self._next_map = 0.0, FIRST_MAP if self._rows == 0.0 else MAP_PERIOD
        self.restart()

    def restart(self) -> None:
        """Start the filters again, after a gap."""
        self._mean = TwoPoleFilter(self._n, self._pole)
        self._waiting: deque[_State] = deque()
        self._recent: deque[_State] = deque(maxlen=round(6.0 / self._pole / STATE_PERIOD) + 1)
        self._discarded = -math.inf
        self._since_state, self._starts = 0.0, True
        self._clock.restart()

    def update(self, stamp: float, dt: float, sample: Sample, y: FloatArray, mean: FloatArray, empty: bool) -> bool:
        """Follow a sample; whether it is time for a new map (`renew`).

        dt: s, since the last one; 0 starts. sample: q and dq, (n,) each. y: (n,), N m, filtered torque that model and
        map leave, and mean: (n,), N m, of the map, not filtered. empty: whether the arm carries nothing and touches
        nothing, and the filters of y have settled.
        """
        q, dq = sample
        if dt <= 0.0:
            self.restart()
        torque = y + self._mean.step(dt, mean)
        self._clock.update(dt, dq)
        self._since_state += dt
        if not empty:
            self._discarded = stamp
        if self._starts or self._since_state >= STATE_PERIOD - 1e-9:
            passed = 0.0 if self._starts else self._since_state
            weight = self._clock.motion_time(passed) / (2.0 * NOISE_TIME) if empty and passed > 0.0 else 0.0
            state = _State(stamp, passed, q.copy(), dq.copy(), torque, weight)
            self._starts, self._since_state = False, 0.0
            self._waiting.append(state)
            self._recent.append(state)
            if weight > 0.0:
                self._inducing.offer(coordinates(q, dq))
            while stamp - self._waiting[0].stamp >= HOLD:
                self._learn(self._waiting.popleft())
        return self._learnt >= self._next_map

    def _learn(self, state: _State) -> None:
        """Filter the covariances of a state that has waited, and count its torque, unless it was discarded since."""
        m = self._inducing.count
        point_covariance(self._inducing.chosen, state.q, state.dq, self._x, self._near[:m])
        first, previous, second, previous_first = (row[:m] for row in self._filters)
        low_pass_step(self._near[:m], self._pole, state.dt, first, previous, second, previous_first)
        if state.weight > 0.0 and state.stamp > self._discarded:
            near = np.flatnonzero(second > _NEAR)
            phi = second[near]
            self._gram[np.ix_(near, near)] += state.weight * np.outer(phi, phi)
            self._moment[near] += state.weight * np.outer(phi, state.torque)
            self._square += state.weight * state.torque**2
            self._rows += state.weight
            self._learnt += state.weight * 2.0 * NOISE_TIME

    def renew(self, terms: MomentumTerms) -> MeanChange:
        """Put a map of all that was learnt in use, in `terms`, too; and say how much more it subtracts."""
        keep, m = math.exp(-self._learnt / MEMORY), self._inducing.count
        for total in (self._gram, self._moment, self._square):
            total *= keep
        self._rows *= keep
        self._learnt, self._next_map = 0.0, MAP_PERIOD
        before = self._filtered_means(terms)
        gram = self._gram[:m, :m]
        self.map = ResidualMap(
            self._inducing.chosen.copy(), 0.5 * (gram + gram.T), self._moment[:m].copy(), self._square.copy(),
            np.array(self._rows), self.map.sigma,
        )  # fmt: skip
        terms.use_map(self.map)
        after = self._filtered_means(terms)
        change = MeanChange(*(new - old for new, old in zip(after, before, strict=True)))
        self._mean.shift(*change)
        return change

    def _filtered_means(self, terms: MomentumTerms) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The mean of the map in `terms` in the last states: now, and after one and two poles, (n,) each."""
        filters = TwoPoleFilter(self._n, self._pole)
        for k, state in enumerate(self._recent):
            terms.evaluate_map(state.q, state.dq)
            filters.step(state.dt if k else 0.0, terms.mean)
        return filters.state
