# SPDX-License-Identifier: Apache-2.0
"""How much an arm moves: the clock of the disturbance, and which joints are too slow to trust their friction."""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.kernels.vectors import compiled

STILL_LESSON = 1.0
"""s: how long an arm that stands still is listened to. After that its samples say nothing new, while the noise
of dq, which the regressor shares, would be taken for motion and draw the payload to zero."""


@compiled
def follow_motion(slowness, dq, slow_speed, keep):
    """Speed |dq|; `slowness` is 1 where a joint stands still now and fades by `keep` afterwards, in place."""
    square = 0.0
    for i in range(dq.shape[0]):
        square += dq[i] * dq[i]
        slowness[i] = max(keep * slowness[i], math.exp(-((dq[i] / slow_speed) ** 2)))
    return math.sqrt(square)


@compiled
def same_motion(last, q, dq, tau):
    """Whether a sample in motion is the same as the last one, to the last bit; `last` (3, n) becomes the sample."""
    same, moving = True, False
    for i in range(dq.shape[0]):
        same = same and last[0, i] == q[i] and last[1, i] == dq[i] and last[2, i] == tau[i]
        moving = moving or dq[i] != 0.0
        last[0, i], last[1, i], last[2, i] = q[i], dq[i], tau[i]
    return same and moving


class MotionMeter:
    """Follows the velocities of one arm, sample by sample.

    Parameters
    ----------
    n: joints.
    options: of the estimator.

    Attributes
    ----------
    slowness: (n,), how recently each joint was slow, from 1 (now) to 0.
    """

    def __init__(self, n: int, options: EstimatorOptions) -> None:
        self._options = options
        self._pole = 2.0 * math.pi * options.bandwidth_hz
        self.slowness: FloatArray = np.zeros(n)
        self._path, self._step, self._still_time = 0.0, 0.0, 0.0

    def follow(self, dt: float, dq: FloatArray) -> None:
        """Take in a sample that came `dt` s after the last one. Slowness fades with the filters' group delay."""
        keep = math.exp(-0.5 * self._pole * dt)
        self._path += dt * follow_motion(self.slowness, dq, self._options.slow_speed, keep)
        self._step = dt

    def restart(self) -> None:
        """Forget the path since the last update."""
        self._path = 0.0

    def motion_time(self, dt: float) -> float:
        """How much of the `dt` s since the last update counts as motion, s: none at rest, all at full speed."""
        o = self._options
        speed, self._path = self._path / dt, 0.0
        moving = dt * min(1.0, max(0.0, (speed - o.still_speed) / (o.moving_speed - o.still_speed)))
        self._still_time = 0.0 if moving > 0.0 else self._still_time + dt
        return moving

    @property
    def nothing_new(self) -> bool:
        """Whether the arm has stood still for so long that its samples say nothing new."""
        return self._still_time >= STILL_LESSON

    def listen(self) -> None:
        """Something has changed: also an arm that stands still has something to say again."""
        self._still_time = 0.0

    @property
    def white_share(self) -> FloatArray:
        """(n,), variance of the white part of the filtered torque as a share of the residual's.

        A slow stream's noise passes the filters with less averaging: with a share of pole times period.
        """
        unaveraged = min(2.0, 2.0 * self._pole * self._step)
        return self._options.white_share**2 + self.slowness + unaveraged
