# SPDX-License-Identifier: Apache-2.0
"""External joint torques by the momentum observer.

De Luca and Mattone, ICRA 2005 (document 003, the collision application): with dp/dt = tau + tau_ext - friction
- bias, the residual r = F(tau_ext), F a first-order low-pass filter with pole w, follows from

    r = w p - F(w p - bias + tau - friction),

which needs no acceleration and no inverse of the mass matrix. A known payload theta is accounted for by its own
filtered regressor (`regression`), r + Y theta. Y does not depend on theta: after a change of theta the torques are
at once those of an arm that has always carried the new payload, and the filter need not start again.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms, SampleRows, SampleTerms
from panda_dynamics_ros.estimation.regression import first_order_hold
from panda_dynamics_ros.estimation.sample_clock import SampleClock
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS


@compiled
def observer_step(momentum, bias, weights, w, dt, state, previous, residual):
    """One step, in place, of filters (n, 11); `weights` (11,) are theta and -1, for y of `regression` is -r.

    dt <= 0 starts the filters as if the arm had always been in this state.
    """
    n, terms = state.shape
    a, b0, b1 = first_order_hold(w, dt) if dt > 0.0 else (0.0, 1.0, 0.0)
    for i in range(n):
        residual[i] = 0.0
        for k in range(terms):
            derivative = w * momentum[i, k]
            direct = derivative - bias[i, k]
            state[i, k] = a * state[i, k] + b0 * direct + b1 * previous[i, k]
            previous[i, k] = direct
            residual[i] += weights[k] * (derivative - state[i, k])


@compiled
def observer_steps(momentum, bias, weights, w, steps, state, previous, residuals):
    """One step after the other, of N samples: (N, n, 11), (N,) above 0 and (N, n)."""
    for k in range(steps.shape[0]):
        observer_step(momentum[k], bias[k], weights, w, steps[k], state, previous, residuals[k])


class MomentumObserver:
    """External torques of one arm, sample by sample.

    Parameters
    ----------
    robot: the arm with all that it always carries, and its friction.
    bandwidth: Hz, of the low-pass filter on the external torque.
    max_gap: s; a longer silence, or a longer step back, restarts the filter (see `SampleClock`).

    Raises
    ------
    ArgumentError: `bandwidth` or `max_gap` is not a positive number.
    """

    def __init__(self, robot: RobotDescription, bandwidth: float = 10.0, max_gap: float = 0.5) -> None:
        self._robot, self._n, self._terms = robot, robot.n, MomentumTerms(robot)
        self._pole = 2.0 * math.pi * checks.number(bandwidth, "bandwidth", minimum=1e-3)
        self._clock = SampleClock(checks.number(max_gap, "max_gap", minimum=1e-6))
        self._state, self._previous = np.zeros((2, robot.n, PARAMETERS + 1))
        self._weights = np.zeros(PARAMETERS + 1)
        self._weights[ARM] = -1.0
        self._residual = np.zeros(robot.n)

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, count `payload` (flange frame) as part of the arm; zero mass stands for none."""
        self.carry_vector(payload.vector)

    def carry_vector(self, vector: FloatArray) -> None:
        """`carry` with an inertial vector (10,)."""
        self._weights[:PARAMETERS] = vector

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> FloatArray:
        """External joint torques (n,), N m, after one sample; positive along the joint's axis.

        Parameters
        ----------
        stamp: s. A stamp that repeats, or steps back a little, is ignored: the torques stay what they were.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.

        Raises
        ------
        ArgumentError: an argument is not finite, or not of shape (n,). The filter is as it was before.
        """
        stamp = checks.number(stamp, "stamp")
        return self.update_terms(stamp, self._terms.at(*link_side_sample(self._robot, q, dq, tau)))

    def update_rows(self, rows: SampleRows, first: int, end: int, external: FloatArray) -> None:
        """`update_terms` with samples first .. end - 1; their external torques into `external` (end - first, n)."""
        k = first
        while k < end:
            steps = self._clock.regular(rows.stamp[k:end])
            if steps.size:
                part = slice(k, k + len(steps))
                self._residual = external[part.stop - 1 - first]
                observer_steps(
                    rows.terms.momentum[part], rows.terms.bias[part], self._weights, self._pole, steps, self._state,
                    self._previous, external[k - first : part.stop - first],
                )  # fmt: skip
                k = part.stop
                self._clock.follow(float(rows.stamp[k - 1]), float(steps[-1]))
            else:
                external[k - first] = self.update_terms(float(rows.stamp[k]), rows.terms.at(k))
                k += 1

    def update_terms(self, stamp: float, terms: MomentumTerms | SampleTerms) -> FloatArray:
        """`update` with the terms of a sample that was checked before."""
        dt = self._clock.step(stamp)
        if dt is None:
            return self._residual
        if dt == 0.0:
            self._state[:] = self._previous[:] = 0.0
        self._residual = residual = np.empty(self._n)
        observer_step(
            terms.momentum, terms.bias, self._weights, self._pole, dt, self._state, self._previous, residual
        )  # fmt: skip
        return residual
