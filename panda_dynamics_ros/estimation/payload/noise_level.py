# SPDX-License-Identifier: Apache-2.0
"""How large the disturbance and the white noise of this arm are, learnt by expectation maximisation."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.robot.limits import ResidualModel
from panda_dynamics_ros.robot.residual_map import DRIFT, DRIFT_TIME, NOISE_TIME, ResidualMap

DISTURBANCE, CORRELATION, WHITE = 0.75, 0.8, 0.3
MEMORY, LEVEL_PRIOR, WHITE_PRIOR, OUTLIER = 20.0, 3.0, 1.0, 9.0


class NoiseLevel:
    """Standard deviation and correlation time of one arm's disturbance, and the white noise beside it."""

    def __init__(
        self, residual: ResidualModel, options: EstimatorOptions | None = None,
        residual_map: ResidualMap | None = None,
    ) -> None:  # fmt: skip
        options = options or EstimatorOptions()
        self._std = DISTURBANCE * residual.std
        self._slow_time = CORRELATION * residual.correlation_time
        # What keeps its value for longer than an update counts as one white value for all updates of that time.
        self._updates = max(1.0, 2.0 * NOISE_TIME / options.update_period_s)
        self.use_map(residual_map)
        self.restart()

    def use_map(self, residual_map: ResidualMap | None) -> None:
        """Go on with the noise of another map."""
        self._quick_variance, self._has_map = np.zeros(len(self._std)), residual_map is not None
        if residual_map is not None:
            self._quick_variance = self._updates * residual_map.noise**2

    def restart(self) -> None:
        """Return to the residual model's level."""
        self.ratio, self.unexplained = np.ones((2, len(self._std)))
        self.white, self._motion = (WHITE * self._std) ** 2, 0.0

    @property
    def unexplained(self) -> FloatArray:
        """(n,), share of the residual's variance that the map leaves open in the present state; 1 without a map."""
        return self._unexplained

    @unexplained.setter
    def unexplained(self, unexplained: FloatArray) -> None:
        self._unexplained = unexplained
        self.share = np.sqrt(unexplained + (1.0 - unexplained) * DRIFT**2)

    @property
    def correlation_time(self) -> FloatArray:
        """(n,), s, of the disturbance in the present state: that of the two parts, weighted by their variances."""
        if not self._has_map:
            return self._slow_time
        slow, known = self.unexplained, (1.0 - self.unexplained) * DRIFT**2
        return (slow * self._slow_time + known * np.minimum(self._slow_time, DRIFT_TIME)) / (slow + known)

    @property
    def std(self) -> FloatArray:
        """(n,), N m, of the disturbance in the present state."""
        return self.ratio * self.share * self._std

    def white_variance(self, not_averaged: float) -> FloatArray:
        """(n,), (N m)^2, of the white noise."""
        known = 1.0 - self._unexplained
        return self._unexplained * self.white + known * self._quick_variance + not_averaged * self.std**2

    def update(self, motion_time: float, mean: FloatArray, variance: FloatArray, innovation, S) -> None:
        """Follow the disturbance, known as `mean` and `variance` (n,), through `motion_time` s of motion."""
        self._motion += motion_time
        seen = np.minimum(mean**2 + variance, OUTLIER * self.std**2) / (self.share * self._std) ** 2
        squared = self.ratio**2 + motion_time / min(MEMORY, LEVEL_PRIOR + self._motion) * (seen - self.ratio**2)
        self.ratio = np.sqrt(squared)
        R = self.white
        e = (R / S) ** 2 * np.minimum(innovation**2, OUTLIER * S) + R - R * R / S
        self.white = R + motion_time / min(MEMORY, WHITE_PRIOR + self._motion) * (e - R)
