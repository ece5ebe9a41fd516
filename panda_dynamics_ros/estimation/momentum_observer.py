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
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.estimation.regression import ARM, ArmTerms, Rows, first_order_hold
from panda_dynamics_ros.estimation.validation import SampleValidator
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS


@compiled
def observer_rows(momentum, bias, weights, w, steps, state, previous, residuals):
    """N samples, in place, through filters (n, 11); `weights` (11,) are theta and -1, for y of `regression` is -r.

    A step <= 0 starts the filters as if the arm had always been in this state.
    """
    n, terms = state.shape
    for s in range(steps.shape[0]):
        starts = steps[s] <= 0.0
        a, b0, b1 = (0.0, 1.0, 0.0) if starts else first_order_hold(w, steps[s])
        for i in range(n):
            residuals[s, i] = 0.0
            for k in range(terms):
                derivative = w * momentum[s, i, k]
                direct = derivative - bias[s, i, k]
                old = 0.0 if starts else state[i, k]
                state[i, k] = a * old + b0 * direct + b1 * previous[i, k]
                previous[i, k] = direct
                residuals[s, i] += weights[k] * (derivative - state[i, k])


class MomentumObserver:
    """External torques of one arm.

    Parameters
    ----------
    robot: the arm with all that it always carries, and its friction.
    bandwidth: Hz, of the low-pass filter on the external torque.
    max_gap: s; a longer silence, or a longer step back, restarts the filter (see `SampleValidator`).

    Raises
    ------
    ArgumentError: `bandwidth` or `max_gap` is not a positive number.
    """

    def __init__(self, robot: RobotDescription, bandwidth: float = 10.0, max_gap: float = 0.5) -> None:
        self._robot, self._terms = robot, ArmTerms(robot)
        self.pole = 2.0 * math.pi * checks.number(bandwidth, "bandwidth", minimum=1e-3)
        self._validator = SampleValidator(robot, checks.number(max_gap, "max_gap", minimum=1e-6))
        self._state, self._previous = np.zeros((2, robot.n, PARAMETERS + 1))
        self._weights = np.append(np.zeros(PARAMETERS), -1.0)
        self.torques = np.zeros(robot.n)
        """(n,), N m, after the last sample."""

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, count `payload` (flange frame) as part of the arm; zero mass stands for none."""
        self.carry_vector(payload.vector)

    def carry_vector(self, vector: FloatArray) -> None:
        """`carry` with an inertial vector (10,)."""
        self._weights[:PARAMETERS] = vector

    def change_arm(self, momentum: FloatArray, bias: FloatArray) -> None:
        """Go on as if the arm's terms had always been larger by these (n,)."""
        direct = self.pole * momentum - bias
        self._state[:, ARM] += direct
        self._previous[:, ARM] += direct

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
        q, dq, tau = link_side_sample(self._robot, q, dq, tau)
        block = np.array([checks.number(stamp, "stamp")]), q[None], dq[None], tau[None]
        kept, steps = self._validator.select(*block)
        if kept.size:
            self.follow(self._terms.rows(*block), steps)
        return self.torques

    def follow(self, rows: Rows, steps: FloatArray) -> FloatArray:
        """External torques (N, n) after each of N samples, `steps` (N,) s apart (0: restart)."""
        external = np.empty(rows.q.shape)
        observer_rows(rows.momentum, rows.bias, self._weights, self.pole, steps, self._state, self._previous, external)
        self.torques = external[-1].copy()
        return external
