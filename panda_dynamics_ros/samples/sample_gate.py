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
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.kernels.compiled import compiled
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.samples.stamps import STAMP_JUMP

OUTSIDE_LIMITS = "outside joint limits"
TOO_FAST = "velocity beyond limits"
TOO_STRONG = "torque beyond limits"
JUMP = "position jump"
VELOCITY_JUMP = "velocity jump"
TORQUE_JUMP = "torque jump"
IMPLAUSIBLE = (OUTSIDE_LIMITS, TOO_FAST, TOO_STRONG, JUMP, VELOCITY_JUMP)

POSITION_MARGIN = 0.1  # rad or m beyond the limits: tolerances of mounting and calibration
LIMIT_FACTOR = 2.0  # on velocity and effort limits, which arms exceed a little in reflexes and collisions
JUMP_TOLERANCE = 0.05  # rad or m, beyond what the arm can move between two samples
STOP_SHARE, STOP_TIME = 0.25, 0.02  # of the velocity limit, beyond what changes by the whole limit in so many s
STEP_SHARE, STEP_TIME = 0.3, 0.1
"""Of the effort limit: a larger step of a torque is no payload's, unless it lasts; s, in which a torque may change by
all of the limit. In 10 ms a fault is over, which low-pass filters would show as a payload for 0.1 s."""
PERSISTENCE, FAULT = 5, 0.02

_LOWER, _UPPER, _FASTEST, _STRONGEST, _STEP = range(5)
"""Rows of `limits`: margins and factors included, but for the step of a torque."""


@compiled
def follows(q, dq, tau, dt, last, limits):
    """Whether a sample is within all limits and within reach of the `last` one (3, n), `dt` s earlier; becomes it."""
    if not 0.0 < dt < 1e9:
        return False
    for i in range(q.shape[0]):
        fastest = limits[_FASTEST, i]
        inside = (
            limits[_LOWER, i] < q[i] < limits[_UPPER, i]
            and abs(dq[i]) < fastest
            and abs(tau[i]) < limits[_STRONGEST, i]
        )
        near = abs(q[i] - last[0, i]) < JUMP_TOLERANCE + dt * fastest
        steady = abs(dq[i] - last[1, i]) < (STOP_SHARE + dt / STOP_TIME) * fastest / LIMIT_FACTOR
        smooth = abs(tau[i] - last[2, i]) <= (STEP_SHARE + dt / STEP_TIME) * limits[_STEP, i]
        if not (inside and near and steady and smooth):
            return False
    for i in range(q.shape[0]):
        last[0, i], last[1, i], last[2, i] = q[i], dq[i], tau[i]
    return True


class SampleGate:
    """Checks the samples of one arm one after the other.

    Parameters
    ----------
    robot: whose joint limits apply.
    steps: whether steps of torque are accepted at once: a contact may make them, a payload does not.
    """

    def __init__(self, robot: RobotDescription, steps: bool = True) -> None:
        limits, self._robot = robot.limits, robot
        step = np.full(robot.n, math.inf) if steps else limits.effort
        self._limits = np.array([
            limits.lower - POSITION_MARGIN, limits.upper + POSITION_MARGIN, LIMIT_FACTOR * limits.velocity,
            LIMIT_FACTOR * limits.effort, step,
        ])  # fmt: skip
        self._last, self._refused = np.zeros((2, 3, robot.n))
        self.restart()

    def restart(self) -> None:
        """Accept any posture as the next one."""
        self._stamp = self._refused_at = -math.inf
        self._agreeing, self._agree_since = 0, -math.inf

    def accepts(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> bool:
        """Whether `check` accepts a sample."""
        try:
            self.check(stamp, q, dq, tau)
        except SampleError:
            return False
        return True

    def check(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Accept a sample: stamp in s; q, dq, tau (n,), finite, in rad, rad/s and N m.

        Raises
        ------
        SampleError: the arm cannot have measured it. The gate compares later samples with the last accepted one.
        """
        dt = stamp - self._stamp
        if follows(q, dq, tau, dt, self._last, self._limits):
            self._agreeing, self._stamp = 0, stamp
            return
        if not ((q > self._limits[_LOWER]) & (q < self._limits[_UPPER])).all():
            raise self._outside(q)
        size = np.abs((dq, tau))
        if not (size < self._limits[_FASTEST : _STRONGEST + 1]).all():
            raise self._too_large(size)
        if dt <= 0.0 or math.isinf(dt) or self._is_reachable(self._last, dt, q, dq):
            self._agreeing = 0
        else:
            since = stamp - self._refused_at
            agrees = since <= 0.0 or (math.isfinite(since) and self._is_reachable(self._refused, since, q, dq))
            self._agreeing = self._agreeing + 1 if agrees else 1
            if self._agreeing == 1:
                self._agree_since = stamp
            if self._agreeing < PERSISTENCE or stamp - self._agree_since < FAULT:
                self._refused_at, self._refused[:] = stamp, (q, dq, tau)
                raise self._jumped(dt, q, dq)
            self._agreeing = 0
        if 0.0 < dt < math.inf:
            self._check_step(dt, tau)
        if not -STAMP_JUMP <= dt <= 0.0:  # a sample that came late says nothing of the next one
            self._stamp, self._last[:] = stamp, (q, dq, tau)

    def _check_step(self, dt: float, tau: FloatArray) -> None:
        change, most = np.abs(tau - self._last[2]), (STEP_SHARE + dt / STEP_TIME) * self._limits[_STEP]
        if (change > most).any():
            joint = int(np.argmax(change / most))
            raise SampleError(
                f"tau: expected a change of at most {most[joint]:.3g} N m within {dt:.4g} s, got one of "
                f"{change[joint]:.3g} N m of joint {joint + 1}",
                TORQUE_JUMP,
            )

    def _is_reachable(self, earlier: FloatArray, dt: float, q: FloatArray, dq: FloatArray) -> bool:
        """Whether the arm can have moved from an earlier sample (3, n) to this one, `dt` s later."""
        near = np.abs(q - earlier[0]) < JUMP_TOLERANCE + dt * self._limits[_FASTEST]
        return bool((near & (np.abs(dq - earlier[1]) < self._largest_change(dt))).all())

    def _largest_change(self, dt: float) -> FloatArray:
        """(n,), rad/s, by which the velocity can change in `dt` s, in a collision, too."""
        return (STOP_SHARE + dt / STOP_TIME) * self._limits[_FASTEST] / LIMIT_FACTOR

    def _outside(self, q: FloatArray) -> SampleError:
        beyond = np.maximum(self._limits[_LOWER] - q, q - self._limits[_UPPER])
        joint, limits = int(np.argmax(beyond)), self._robot.limits
        return SampleError(
            f"q: expected {limits.lower[joint]:.4g} to {limits.upper[joint]:.4g} rad for joint {joint + 1} of "
            f"{self._robot.name}, got {q[joint]:.4g}: degrees, or another arm?",
            OUTSIDE_LIMITS,
        )

    def _too_large(self, size: FloatArray) -> SampleError:
        largest = self._limits[_FASTEST : _STRONGEST + 1]
        field, joint = np.unravel_index(int(np.argmax(size / largest)), size.shape)
        name, unit, reason = (("dq", "rad/s", TOO_FAST), ("tau", "N m", TOO_STRONG))[int(field)]
        return SampleError(
            f"{name}: expected at most {largest[field, joint]:.4g} {unit} for joint {joint + 1} of "
            f"{self._robot.name}, got {size[field, joint]:.4g}",
            reason,
        )

    def _jumped(self, dt: float, q: FloatArray, dq: FloatArray) -> SampleError:
        q_before, dq_before, _ = self._last
        joint = int(np.argmax(np.abs(q - q_before)))
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
