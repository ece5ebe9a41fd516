# SPDX-License-Identifier: Apache-2.0
"""Refuses samples that no arm can have measured: beyond its limits, or jumping farther than it can move or accelerate.

One such sample is enough to disturb a filter for seconds. A stream that continues from another place (a recording
that was cut, a second controller) is accepted again after `PERSISTENCE` samples, and `FAULT` s, of samples that agree
with each other.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.stamps import STAMP_JUMP

OUTSIDE_LIMITS = "outside joint limits"
TOO_FAST = "velocity beyond limits"
TOO_STRONG = "torque beyond limits"
JUMP = "position jump"
VELOCITY_JUMP = "velocity jump"
IMPLAUSIBLE = (OUTSIDE_LIMITS, TOO_FAST, TOO_STRONG, JUMP, VELOCITY_JUMP)

POSITION_MARGIN = 0.1  # rad or m beyond the limits: tolerances of mounting and calibration
LIMIT_FACTOR = 2.0  # on velocity and effort limits, which arms exceed a little in reflexes and collisions
JUMP_TOLERANCE = 0.05  # rad or m, beyond what the arm can move between two samples
STOP_SHARE, STOP_TIME = 0.25, 0.02  # of the velocity limit, beyond what changes by the whole limit in so many s
PERSISTENCE, FAULT = 5, 0.02

State = tuple[float, FloatArray, FloatArray]
"""Stamp, s; positions and velocities, (n,) each."""


@compiled
def follows(q, dq, tau, dt, before, dq_before, bounds, largest, fastest):
    """Whether a sample is within all limits and within reach of `before`, `dq_before` (n,), `dt` s earlier."""
    if not 0.0 < dt < 1e9 or before.shape != q.shape:
        return False
    for i in range(q.shape[0]):
        inside = bounds[0, i] < q[i] < bounds[1, i] and abs(dq[i]) < largest[0, i] and abs(tau[i]) < largest[1, i]
        near = abs(q[i] - before[i]) < JUMP_TOLERANCE + dt * fastest[i]
        steady = abs(dq[i] - dq_before[i]) < (STOP_SHARE + dt / STOP_TIME) * fastest[i] / LIMIT_FACTOR
        if not (inside and near and steady):
            return False
    return True


class SampleGate:
    """Checks the samples of one arm one after the other.

    Parameters
    ----------
    robot: whose joint limits apply.
    """

    def __init__(self, robot: RobotDescription) -> None:
        limits, self._robot = robot.limits, robot
        self._bounds = np.array([limits.lower - POSITION_MARGIN, limits.upper + POSITION_MARGIN])
        self._largest = LIMIT_FACTOR * np.array([limits.velocity, limits.effort])
        self._fastest = LIMIT_FACTOR * limits.velocity
        self.restart()

    def restart(self) -> None:
        """Accept any posture as the next one."""
        self._last = self._refused = (-math.inf, np.zeros(0), np.zeros(0))
        self._agreeing, self._agree_since = 0, -math.inf

    def accepts(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> bool:
        """Whether `check` accepts a sample."""
        try:
            self.check(stamp, q, dq, tau)
        except SampleError:
            return False
        return True

    @property
    def reference(self) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """The last accepted sample's `State`, then `bounds`, `largest` and `fastest` of `follows`."""
        return *self._last, self._bounds, self._largest, self._fastest

    def accept(self, stamp: float, q: FloatArray, dq: FloatArray) -> None:
        """Go on from a sample that `follows` the last one."""
        self._agreeing, self._last = 0, (stamp, q, dq)

    def check(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Accept a sample: stamp in s; q, dq, tau (n,), finite, in rad, rad/s and N m.

        Raises
        ------
        SampleError: the arm cannot have measured it. The gate compares later samples with the last accepted one.
        """
        before, q_before, dq_before = self._last
        if follows(q, dq, tau, stamp - before, q_before, dq_before, self._bounds, self._largest, self._fastest):
            self.accept(stamp, q, dq)
            return
        if not ((q > self._bounds[0]) & (q < self._bounds[1])).all():
            raise self._outside(q)
        size = np.abs((dq, tau))
        if not (size < self._largest).all():
            raise self._too_large(size)
        if self._is_reachable(self._last, stamp, q, dq):
            self._agreeing = 0
        else:
            self._agreeing = self._agreeing + 1 if self._is_reachable(self._refused, stamp, q, dq) else 1
            if self._agreeing == 1:
                self._agree_since = stamp
            if self._agreeing < PERSISTENCE or stamp - self._agree_since < FAULT:
                self._refused = (stamp, q, dq)
                raise self._jumped(stamp, q, dq)
            self._agreeing = 0
        if not 0.0 <= self._last[0] - stamp <= STAMP_JUMP:  # a sample that came late says nothing of the next one
            self._last = (stamp, q, dq)

    def _is_reachable(self, earlier: State, stamp: float, q: FloatArray, dq: FloatArray) -> bool:
        """Whether the arm can have moved from an earlier sample to this one. Stamps that do not advance pass."""
        before, q_before, dq_before = earlier
        dt = stamp - before
        if not 0.0 < dt < math.inf:
            return dt <= 0.0 or earlier is self._last
        near = np.abs(q - q_before) < JUMP_TOLERANCE + dt * self._fastest
        return bool((near & (np.abs(dq - dq_before) < self._largest_change(dt))).all())

    def _largest_change(self, dt: float) -> FloatArray:
        """(n,), rad/s, by which the velocity can change in `dt` s, in a collision, too."""
        return (STOP_SHARE + dt / STOP_TIME) * self._fastest / LIMIT_FACTOR

    def _outside(self, q: FloatArray) -> SampleError:
        beyond = np.maximum(self._bounds[0] - q, q - self._bounds[1])
        joint, limits = int(np.argmax(beyond)), self._robot.limits
        return SampleError(
            f"q: expected {limits.lower[joint]:.4g} to {limits.upper[joint]:.4g} rad for joint {joint + 1} of "
            f"{self._robot.name}, got {q[joint]:.4g}: degrees, or another arm?",
            OUTSIDE_LIMITS,
        )

    def _too_large(self, size: FloatArray) -> SampleError:
        field, joint = np.unravel_index(int(np.argmax(size / self._largest)), size.shape)
        name, unit, reason = (("dq", "rad/s", TOO_FAST), ("tau", "N m", TOO_STRONG))[int(field)]
        return SampleError(
            f"{name}: expected at most {self._largest[field, joint]:.4g} {unit} for joint {joint + 1} of "
            f"{self._robot.name}, got {size[field, joint]:.4g}: is it in {unit}?",
            reason,
        )

    def _jumped(self, stamp: float, q: FloatArray, dq: FloatArray) -> SampleError:
        before, q_before, dq_before = self._last
        dt, joint = stamp - before, int(np.argmax(np.abs(q - q_before)))
        if abs(q[joint] - q_before[joint]) < JUMP_TOLERANCE:
            change, most = np.abs(dq - dq_before), self._largest_change(dt)
            joint = int(np.argmax(change / most))
            return SampleError(
                f"dq: expected a change of at most {most[joint]:.3g} rad/s within {dt:.4g} s, got one of "
                f"{change[joint]:.3g} rad/s of joint {joint + 1}: two robots on one topic?",
                VELOCITY_JUMP,
            )
        return SampleError(
            f"q: expected a posture that the arm can reach within {dt:.4g} s, got a jump of "
            f"{abs(q[joint] - q_before[joint]):.3g} rad of joint {joint + 1}: two robots on one topic?",
            JUMP,
        )
