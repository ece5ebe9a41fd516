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
from panda_dynamics_ros.robot.limits import ResidualModel

AVERAGING_TIME = 10.0
"""s in motion: some 30 correlation times, which give a standard deviation to a tenth."""
LOWEST, HIGHEST = 0.7, 3.0
"""Bounds, in standard deviations of the robot's residual model. A contact counts as `HIGHEST` at most."""
SHARE, LONGEST_CERTAIN = 0.8, 0.2
"""What is left beside the arm's errors keeps its value for a share of the correlation time of the whole residual, as on
the public log; a time up to `LONGEST_CERTAIN` (s), as that of an identified arm, is taken as it is."""


class NoiseLevel:
    """Standard deviation and correlation time of one arm's disturbance.

    Parameters
    ----------
    residual: of the arm's model.

    Attributes
    ----------
    correlation_time: (n,), s.
    ratio: (n,), standard deviation in units of that of `residual`; 1 at first.
    """

    def __init__(self, residual: ResidualModel) -> None:
        self._std = residual.std
        certain = np.minimum(residual.correlation_time, LONGEST_CERTAIN)
        self.correlation_time = np.maximum(certain, SHARE * residual.correlation_time)
        self.restart()

    def restart(self) -> None:
        """Return to the residual model's level."""
        self.ratio = np.ones(len(self._std))

    @property
    def std(self) -> FloatArray:
        """(n,), N m."""
        return self.ratio * self._std

    def update(self, motion_time: float, mean: FloatArray, variance: FloatArray) -> None:
        """Follow the disturbance, known as `mean` and `variance` (n,), through `motion_time` s of motion."""
        seen = np.minimum((mean**2 + variance) / self._std**2, HIGHEST**2)
        squared = self.ratio**2 + (1.0 - math.exp(-motion_time / AVERAGING_TIME)) * (seen - self.ratio**2)
        self.ratio = np.clip(np.sqrt(squared), LOWEST, HIGHEST)
