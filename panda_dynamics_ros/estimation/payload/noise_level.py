# SPDX-License-Identifier: Apache-2.0
"""How large the disturbance of this arm is: its standard deviation follows what the filter sees, slowly.

Expectation maximisation for the variance of a disturbance d that is known as mean and variance,

    sigma^2 <- mean over time in motion of (E[d]^2 + var d),

which is its level. The innovations from one sample to the next would say how white the torque is, and not how far it
stays off: they are about 35 times smaller.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.limits import ResidualModel
from panda_dynamics_ros.robot.residual_map import NOISE_TIME, ResidualMap

AVERAGING_TIME = 10.0
"""s in motion: some 30 correlation times, which give a standard deviation to a tenth."""
LOWEST, HIGHEST = 0.7, 3.0
"""Bounds, in standard deviations of the robot's residual model. A contact counts as `HIGHEST` at most."""
SHARE, LONGEST_CERTAIN = 0.8, 0.2
"""What is left beside the arm's errors keeps its value for a share of the correlation time of the whole residual, as on
the public log; a time up to `LONGEST_CERTAIN` (s), as that of an identified arm, is taken as it is."""


DRIFT = 0.1
"""Share of the residual that differs from run to run, by temperature and hysteresis, where a residual map knows it. On
the public log two runs differ by .06 to .2 of it, the quick noise included."""


@compiled
def left_share(unexplained, share):
    """`NoiseLevel.share` (n,), in place."""
    for i in range(share.shape[0]):
        share[i] = math.sqrt(unexplained[i] + (1.0 - unexplained[i]) * DRIFT * DRIFT)


@compiled
def white_noise(white, unexplained, ratio, share, sigma, quick, motion, variance):
    """`NoiseLevel.white_variance` (n,), in place."""
    for i in range(variance.shape[0]):
        level, known = ratio[i] * sigma[i], 1.0 - unexplained[i]
        slow = (motion[i] - white) * (level * share[i]) ** 2
        variance[i] = white * unexplained[i] * level**2 + known * quick[i] + slow


class NoiseLevel:
    """Standard deviation and correlation time of one arm's disturbance, and the white noise beside it.

    Parameters
    ----------
    residual: of the arm's model.
    options: of the estimator.
    residual_map: of the arm, if there is one.

    Attributes
    ----------
    correlation_time: (n,), s.
    ratio: (n,), standard deviation in units of that of the residual model; 1 at first.
    """

    def __init__(
        self,
        residual: ResidualModel,
        options: EstimatorOptions | None = None,
        residual_map: ResidualMap | None = None,
    ) -> None:
        options = options or EstimatorOptions()
        self._std = residual.std
        certain = np.minimum(residual.correlation_time, LONGEST_CERTAIN)
        self.correlation_time = np.maximum(certain, SHARE * residual.correlation_time)
        self._white = options.white_noise_ratio**2
        # What keeps its value for longer than an update counts as one white value for all updates of that time.
        self._updates = max(1.0, 2.0 * NOISE_TIME / options.update_period_s)
        self.use_map(residual_map)
        self.restart()

    def use_map(self, residual_map: ResidualMap | None) -> None:
        """Go on with the noise of another map."""
        self._quick_variance = np.zeros(len(self._std))
        if residual_map is not None:
            self._quick_variance = self._updates * residual_map.noise**2

    def restart(self) -> None:
        """Return to the residual model's level."""
        self.ratio, self.unexplained = np.ones((2, len(self._std)))

    @property
    def unexplained(self) -> FloatArray:
        """(n,), share of the residual's variance that the map leaves open in the present state; 1 without a map."""
        return self._unexplained

    @unexplained.setter
    def unexplained(self, unexplained: FloatArray) -> None:
        """Go on to another state."""
        self._unexplained, self._share = unexplained, np.empty_like(self._std)
        left_share(unexplained, self._share)

    @property
    def share(self) -> FloatArray:
        """(n,), standard deviation of what a map leaves, slow changes since then included, over that of the whole."""
        return self._share

    @property
    def std(self) -> FloatArray:
        """(n,), N m, of the disturbance in the present state."""
        return self.ratio * self._share * self._std

    def white_variance(self, ratio: FloatArray) -> FloatArray:
        """(n,), (N m)^2, of the white noise; `ratio` (n,): as `MotionClock` has it, in units of the disturbance."""
        variance = np.empty_like(self._std)
        white_noise(
            self._white, self._unexplained, self.ratio, self._share, self._std, self._quick_variance, ratio, variance
        )  # fmt: skip
        return variance

    def update(self, motion_time: float, mean: FloatArray, variance: FloatArray) -> None:
        """Follow the disturbance, known as `mean` and `variance` (n,), through `motion_time` s of motion."""
        seen = np.minimum((mean**2 + variance) / (self.share * self._std) ** 2, HIGHEST**2)
        squared = self.ratio**2 + (1.0 - math.exp(-motion_time / AVERAGING_TIME)) * (seen - self.ratio**2)
        self.ratio = np.minimum(np.maximum(np.sqrt(squared), LOWEST), HIGHEST)
