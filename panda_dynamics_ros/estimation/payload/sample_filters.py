# SPDX-License-Identifier: Apache-2.0
"""What every sample passes; the Kalman filter, which is updated less often, starts from what comes out."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.low_pass import TwoPoleFilter
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms, SampleRows, SampleTerms
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.motion_clock import MotionClock
from panda_dynamics_ros.estimation.regression import MeanChange, MomentumRegression
from panda_dynamics_ros.robot.inertial import PARAMETERS

_NO_WEIGHTS = np.zeros(ARM + 1)


class SampleFilters:
    """Low-pass filters of one pole for the samples of one arm, and its time in motion.

    Parameters
    ----------
    n: joints.
    options: of the estimator.

    Attributes
    ----------
    regression: of the momentum. clock: of the motion.
    torque: (n,), N m, measured torque through the filters of the regression.
    unexplained: (n,), through the same filters, the share of the residual's variance that a residual map leaves open.
    """

    def __init__(self, n: int, options: EstimatorOptions) -> None:
        self._options = options
        self.regression, self.clock = MomentumRegression(n, options.bandwidth_hz), MotionClock(n, options)
        self._low_pass, self._low_pass_map = (TwoPoleFilter(n, self.regression.pole) for _ in range(2))
        self.torque, self.unexplained = np.zeros(n), np.ones(n)

    @property
    def Y(self) -> FloatArray:
        """(n, 10), a view."""
        return self.regression.filtered[:, :PARAMETERS]

    @property
    def y(self) -> FloatArray:
        """(n,), N m, a view."""
        return self.regression.filtered[:, ARM]

    def reset(self) -> None:
        """Start again."""
        self.regression.restart()
        self._low_pass = TwoPoleFilter(len(self.torque), self.regression.pole)  # also after a number that overflows
        self.clock = MotionClock(len(self.torque), self._options)

    def restart(self) -> None:
        """Start the filters again, after a gap."""
        self.regression.restart()
        self.clock.restart()

    def step(self, dt: float, dq: FloatArray, tau: FloatArray, terms: MomentumTerms | SampleTerms) -> None:
        """Follow a sample `dt` s after the last one; 0 starts the filters."""
        self.regression.step(dt, terms)
        self.torque = self._low_pass.step(dt, tau)
        self.unexplained = self._low_pass_map.step(dt, terms.unexplained) if terms.has_map else terms.unexplained
        self.clock.update(dt, dq)

    def steps(self, steps: FloatArray, rows: SampleRows, k: int) -> None:
        """`step` with samples from k on, as many as there are steps (N,), s, above 0."""
        part, terms = slice(k, k + len(steps)), rows.terms
        self.regression.steps(steps, terms.momentum[part], terms.bias[part], _NO_WEIGHTS)
        self.torque = self._low_pass.steps(steps, rows.tau[part])
        self.unexplained = terms.unexplained[part.stop - 1]
        if terms.has_map:
            self.unexplained = self._low_pass_map.steps(steps, terms.unexplained[part])
        self.clock.steps(steps, rows.dq[part])

    def use_map(self, unexplained: FloatArray, change: MeanChange) -> None:
        """Go on as if `change` more had always been subtracted from the torque, by a map with this open share (n,)."""
        self.regression.change_mean(*change)
        self._low_pass_map.step(0.0, unexplained)
