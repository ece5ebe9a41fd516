# SPDX-License-Identifier: Apache-2.0
"""Goes on learning an arm's residual map while the payload estimator runs (`residual_fit` does it from recordings)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.residual_torques import point_covariance
from panda_dynamics_ros.estimation.low_pass import TwoPoleFilter, low_pass_step
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.estimate import PayloadEstimate
from panda_dynamics_ros.estimation.payload.motion_clock import MotionClock
from panda_dynamics_ros.estimation.regression import MeanChange
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.residual_map import NOISE_TIME, InducingPoints, ResidualMap, coordinates

Sample = tuple[FloatArray, FloatArray]
Robot = TypeVar("Robot", bound=RobotDescription)

ONLINE_POINTS = 200
"""Inducing points of a map that is learnt while the estimator runs: a new map takes some 20 ms."""
HOLD = 3.0
"""s, for which rows wait before they count: a pick shows meanwhile, and then they do not."""
FIRST_MAP, MAP_PERIOD = 2.0, 5.0
"""s of motion learnt from, before the first map and between two."""
MEMORY = 600.0
"""s of motion, after which a row counts 1/e: friction follows the temperature in a quarter of an hour or more."""
REPEATED, KNOWN = 6.0, 0.9
"""s of motion through states that the rows of an earlier map know, to this share of the prior's variance, before a map
is used: what is seen once looks like a function of the posture, whether it repeats or not."""
STATE_PERIOD = 0.01
"""s, between two states that are learnt from."""
LIGHTEST, LIGHT = 0.02, 0.1
"""kg: a mass estimate up to which nothing is carried, where the map knows the arm and where it does not."""
AFTER_CONTACT = 5.0
"""s after something has touched the arm, for which its residual map learns nothing."""
AFTER_CHANGE = 1.0
"""s after a pick or a release: the filtered torque of 3 kg that were put down is below .02 N m after half of it."""
_NEAR = 1e-4


class UnloadedState:
    """Tells whether the arm carries nothing, as far as can be known, and nothing has touched it for a while."""

    def __init__(self) -> None:
        self._busy_until = -math.inf

    def update(self, stamp: float, estimate: PayloadEstimate, raw_mass: float, unexplained: float) -> bool:
        """Whether that is so at `stamp`, s.

        raw_mass: kg, of the filter, with its sign. unexplained: share of the residual's variance that the map leaves.
        """
        if estimate.event is not None:
            self._busy_until = stamp + (AFTER_CONTACT if estimate.event.kind == "contact" else AFTER_CHANGE)
        # Where nothing has been learnt the error of the model looks like a small payload.
        least = LIGHTEST + (LIGHT - LIGHTEST) * unexplained
        limit = min(max(least, 2.0 * float(estimate.std[0])), LIGHT)
        return stamp >= self._busy_until and raw_mass <= limit and not estimate.problem


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
        self._repeated, self._earlier = 0.0 if self._rows == 0.0 else REPEATED, residual_map.table
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
            passed = state.weight * 2.0 * NOISE_TIME
            self._learnt += passed
            if self._repeated < REPEATED:
                v = self._near[: len(self._earlier.points)] @ self._earlier.transform
                self._repeated += passed * (float((v**2 @ self._earlier.reduction).mean()) > KNOWN)

    def renew(self, terms: MomentumTerms, *poles: float) -> list[MeanChange] | None:
        """Put a map of all that was learnt in use, in `terms`, too; and say how much more it subtracts.

        Returns
        -------
        The change after the estimator's filters, and one more after filters of each of the other `poles` (rad/s). None
        where too little has been seen twice for a map to be used.
        """
        keep, m = math.exp(-self._learnt / MEMORY), self._inducing.count
        for total in (self._gram, self._moment, self._square):
            total *= keep
        self._rows *= keep
        self._learnt, self._next_map = 0.0, MAP_PERIOD
        gram = self._gram[:m, :m]
        renewed = ResidualMap(
            self._inducing.chosen.copy(), 0.5 * (gram + gram.T), self._moment[:m].copy(), self._square.copy(),
            np.array(self._rows), self.map.sigma,
        )  # fmt: skip
        if self._repeated < REPEATED:
            self._earlier = renewed.table
            return None
        used = (self._pole, *poles)
        before = self._filtered_means(terms, used)
        self.map = renewed
        terms.use_map(self.map)
        after = self._filtered_means(terms, used)
        changes = [MeanChange(*new - old) for new, old in zip(after, before, strict=True)]
        self._mean.shift(*changes[0])
        return changes

    def _filtered_means(self, terms: MomentumTerms, poles: Sequence[float]) -> FloatArray:
        """The mean of the map in `terms` in the last states: now, and after one and two poles, (poles, 3, n)."""
        filters = [TwoPoleFilter(self._n, pole) for pole in poles]
        for k, state in enumerate(self._recent):
            terms.evaluate_map(state.q, state.dq)
            for each in filters:
                each.step(state.dt if k else 0.0, terms.mean)
        return np.array([each.state for each in filters])
