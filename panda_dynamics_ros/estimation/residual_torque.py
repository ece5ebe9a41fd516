# SPDX-License-Identifier: Apache-2.0
"""The filtered torque that neither the arm's model nor its payload explains, sample by sample."""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms, SampleRows, SampleTerms
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.regression import MomentumRegression
from panda_dynamics_ros.estimation.sample_clock import SampleClock


class ResidualTorque:
    """The residual y - Y theta of one arm. The estimator changes its own filters at a contact or a pick; these go on.

    Parameters
    ----------
    n: joints.
    options: of the payload estimator, whose filters these are.

    Attributes
    ----------
    value: (n,), N m; nan while the filters settle.
    regression: the filters.
    """

    def __init__(self, n: int, options: EstimatorOptions) -> None:
        self.regression, self._clock = MomentumRegression(n, options.bandwidth_hz), SampleClock(options.max_gap_s)
        self.value = np.full(n, math.nan)
        self._weights = np.append(np.zeros(ARM), -1.0)  # theta and -1, see `weighted_columns`

    def update(self, stamp: float, terms: MomentumTerms | SampleTerms, theta: FloatArray) -> float | None:
        """Follow a sample, with the payload theta (10,); s since the last one, see `SampleClock`."""
        dt = self._clock.step(stamp)
        if dt is None:
            return None
        if dt == 0.0:
            self.regression.restart()
        self.regression.step(dt, terms)
        self._weights[:ARM] = theta
        is_settled = self.regression.settled
        self.value = -self.regression.weighted(self._weights) if is_settled else np.full(len(self.value), math.nan)
        return dt

    def update_rows(self, rows: SampleRows, first: int, end: int, theta: FloatArray, values: FloatArray) -> None:
        """`update` with samples first .. end - 1; `value` after each into `values` (end - first, n)."""
        k = first
        while k < end:
            steps = self._clock.regular(rows.stamp[k:end])
            if steps.size:
                part = slice(k, k + len(steps))
                self._weights[:ARM] = theta
                totals = self.regression.steps(steps, rows.terms.momentum[part], rows.terms.bias[part], self._weights)
                np.negative(totals, out=values[k - first : part.stop - first])
                k = part.stop
                self._clock.follow(float(rows.stamp[k - 1]), float(steps[-1]))
                self.value = values[k - 1 - first]
            else:
                self.update(float(rows.stamp[k]), rows.terms.at(k), theta)
                values[k - first] = self.value
                k += 1
