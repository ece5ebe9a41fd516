# SPDX-License-Identifier: Apache-2.0
"""The clock of the coloured disturbance, which runs while the arm moves, and which joints are near standstill."""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.kernels.vectors import compiled

STANDSTILL_TIME = 1.0
"""s at rest, during which samples still correct the filter. Later samples add no information, while the noise of dq,
which the regressor shares, would be taken for motion and draw the mass to zero."""


@compiled
def update_slowness(slowness, dq, slow_speed, pole, dt):
    """Path |dq| dt. `slowness`, in place: 1 where a joint stands still now; it fades with the filters' group delay."""
    keep, square = math.exp(-0.5 * pole * dt), 0.0
    for i in range(dq.shape[0]):
        square += dq[i] * dq[i]
        slowness[i] = max(keep * slowness[i], math.exp(-((dq[i] / slow_speed) ** 2)))
    return dt * math.sqrt(square)


@compiled
def follow_path(slowness, dq, slow_speed, pole, steps, path):
    """`path` and `slowness` after N more samples: dq (N, n) and steps (N,)."""
    for k in range(steps.shape[0]):
        path += update_slowness(slowness, dq[k], slow_speed, pole, steps[k])
    return path


@compiled
def is_repeated_sample(last, q, dq, tau):
    """Whether a sample of a moving arm repeats the last one bit for bit; `last` (3, n) becomes the sample."""
    same, moving = True, False
    for i in range(dq.shape[0]):
        same = same and last[0, i] == q[i] and last[1, i] == dq[i] and last[2, i] == tau[i]
        moving = moving or dq[i] != 0.0
        last[0, i], last[1, i], last[2, i] = q[i], dq[i], tau[i]
    return same and moving


class MotionClock:
    """Time in motion of one arm, from its velocities.

    Parameters
    ----------
    n: joints.
    options: of the estimator.

    Attributes
    ----------
    slowness: (n,), how recently each joint was near standstill, from 1 (now) to 0.
    """

    def __init__(self, n: int, options: EstimatorOptions) -> None:
        self._options = options
        self._pole = 2.0 * math.pi * options.bandwidth_hz
        self.slowness: FloatArray = np.zeros(n)
        self._path, self._step, self._still_time = 0.0, 0.0, 0.0

    def update(self, dt: float, dq: FloatArray) -> None:
        """Follow a sample that came `dt` s after the last one."""
        self._path += update_slowness(self.slowness, dq, self._options.slow_speed, self._pole, dt)
        self._step = dt

    def steps(self, steps: FloatArray, dq: FloatArray) -> None:
        """`update` with N samples: steps (N,), dq (N, n)."""
        self._path = follow_path(self.slowness, dq, self._options.slow_speed, self._pole, steps, self._path)
        self._step = float(steps[-1])

    def restart(self) -> None:
        """Forget the path since `motion_time` was last called."""
        self._path = 0.0

    def motion_time(self, dt: float) -> float:
        """How much of the `dt` s since the last call counts as motion, s: none at rest, all at full speed."""
        o = self._options
        speed, self._path = self._path / dt, 0.0
        moving = dt * min(1.0, max(0.0, (speed - o.still_speed) / (o.moving_speed - o.still_speed)))
        self._still_time = 0.0 if moving > 0.0 else self._still_time + dt
        return moving

    @property
    def stands_still(self) -> bool:
        """Whether the arm has stood still for longer than `STANDSTILL_TIME`."""
        return self._still_time >= STANDSTILL_TIME

    def note_change(self) -> None:
        """The payload has changed: samples of an arm at rest count again for `STANDSTILL_TIME`."""
        self._still_time = 0.0

    @property
    def not_averaged(self) -> float:
        """Variance, as a share of the disturbance's, that the filters do not average in a slow stream."""
        return min(2.0, 2.0 * self._pole * self._step)
