# SPDX-License-Identifier: Apache-2.0
"""Decides which samples the estimator uses, and counts the others by reason."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.estimation.momentum_terms import SampleRows
from panda_dynamics_ros.estimation.payload.motion_clock import is_repeated_sample
from panda_dynamics_ros.estimation.sample_clock import SampleClock, compiled_is_gap
from panda_dynamics_ros.kernels.compiled import compiled
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.effort import CURRENT
from panda_dynamics_ros.samples.kinematic_check import KinematicCheck, follow_motion
from panda_dynamics_ros.samples.sample_gate import SampleGate, follows

REFUSED_SHARE, REFUSAL_MEMORY = 0.2, 50.0
"""Share of the last samples (so many of them) whose refusal is a problem of the signal and no single fault."""
TORQUE_JUMP = "torque jump"
STEP_SHARE, STEP_TIME = 0.3, 0.1
"""Of the effort limit: a larger step of a torque is no payload's, unless it lasts; s, in which a torque may change by
all of the limit. In 10 ms a fault is over, which the low-pass filters would show as a payload for 0.1 s."""


@compiled
def torque_steps(tau, before, dt, limit):
    """Whether a torque has changed since `before` (n,), `dt` s ago, by more than a payload can."""
    steps = False
    for i in range(tau.shape[0]):
        steps = steps or abs(tau[i] - before[i]) > (STEP_SHARE + dt / STEP_TIME) * limit[i]
    return steps


@compiled
def usual_samples(
    stamp, q, dq, tau, last, before, max_gap, last_sample, last_tau, effort_limit, motion, moved, window,
    reference, q_before, dq_before, bounds, largest, fastest, since, period, steps,
):  # fmt: skip
    """How many samples of N are used without further ado, and whether the last one completes the kinematic check's
    window; up to there, or to the first one `period` s after `since`. `steps` (N,): s before each.

    The others are those that `SampleIntake.accept` ignores or refuses, or restarts at.
    """
    for k in range(stamp.shape[0]):
        dt = stamp[k] - last
        if compiled_is_gap(dt, before, max_gap):
            return k, False
        if not follows(q[k], dq[k], tau[k], stamp[k] - reference, q_before, dq_before, bounds, largest, fastest):
            return k, False
        if torque_steps(tau[k], last_tau, dt, effort_limit) or is_repeated_sample(last_sample, q[k], dq[k], tau[k]):
            return k, False
        steps[k] = before = dt
        last = reference = stamp[k]
        q_before, dq_before, last_tau = q[k], dq[k], tau[k]
        complete = follow_motion(dt, q[k], dq[k], motion, moved, window)
        if complete or last - since >= period:
            return k + 1, complete
    return stamp.shape[0], False


@dataclass
class SampleCounts:
    """How many samples were used, and how many were ignored for which reason.

    `frozen`: the same measurement again under a new stamp, although the arm moves. `implausible`: by reason, samples
    that the arm cannot have measured (`SampleGate`, torque steps), and `last_is_refused`: whether the gate refused the
    last one. `gaps`: how often the filters restarted after a gap. `restarts`: how often the filter was no longer finite
    and started again.
    """

    used: int = 0
    duplicate: int = 0
    backward: int = 0
    frozen: int = 0
    gaps: int = 0
    restarts: int = 0
    implausible: Counter[str] = field(default_factory=Counter)
    last_is_refused: bool = False


class SampleIntake:
    """Follows the samples of one arm.

    Parameters
    ----------
    robot: whose joint limits apply.
    max_gap_s: see `SampleClock`.

    Attributes
    ----------
    counts: of the samples.
    stamp: s, of the last sample that was used; -inf before the first.
    problem: one sentence while many samples are implausible, or contradict each other; else empty.
    """

    def __init__(self, robot: RobotDescription, max_gap_s: float) -> None:
        self._gate, self._clock, self._max_gap = SampleGate(robot), SampleClock(max_gap_s), max_gap_s
        self.counts, self.stamp = SampleCounts(), -math.inf
        self._last_sample = np.full((3, robot.n), math.nan)
        self._refused, self._refusal = 0.0, ""
        self._has_currents = robot.effort == CURRENT
        self._kinematics = KinematicCheck(robot.n)
        self._effort_limit, self._last_tau = robot.limits.effort.copy(), np.full(robot.n, math.nan)

    def accept(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> float | None:
        """Seconds since the last sample that was used; 0 where filters have to restart; None to ignore this sample."""
        self.counts.last_is_refused = False
        if self._is_out_of_order(stamp - self.stamp) or self._is_frozen(q, dq, tau):
            return None
        if not self._is_plausible(stamp, q, dq, tau):
            return None
        self._kinematics.update(stamp, q, dq)
        self._last_tau[:] = tau
        dt = self._clock.step(stamp) or 0.0
        self.counts.used += 1
        self.counts.gaps += dt == 0.0 and math.isfinite(self.stamp)
        self.stamp = stamp
        return dt

    def accept_rows(self, rows: SampleRows, k: int, since: float, period: float) -> FloatArray:
        """Seconds before sample k and those after it, up to one that comes `period` s after `since`.

        As many are accepted as `accept` would use with no restart; none where sample k is for `accept` alone.
        """
        steps, clock, gate, kinematics = np.empty(len(rows.stamp) - k), self._clock, self._gate, self._kinematics
        count, complete = usual_samples(
            rows.stamp[k:], rows.q[k:], rows.dq[k:], rows.tau[k:], self.stamp, clock.last_step, self._max_gap,
            self._last_sample, self._last_tau, self._effort_limit, *kinematics.arrays, *gate.reference,
            since, period, steps,
        )  # fmt: skip
        if count:
            last = k + count - 1
            self.stamp = float(rows.stamp[last])
            clock.follow(self.stamp, float(steps[count - 1]))
            gate.accept(self.stamp, rows.q[last], rows.dq[last])
            kinematics.follow(self.stamp, complete)
            self._last_tau[:] = rows.tau[last]
            self.counts.used += count
            self.counts.last_is_refused = False
            if self._refused:
                for _ in range(count):
                    self._refused -= self._refused / REFUSAL_MEMORY
        return steps[:count]

    def _is_out_of_order(self, dt: float) -> bool:
        """Whether a stamp does not advance; a jump back (a bag in a loop) is a restart."""
        if -self._max_gap <= dt <= 0.0:
            self.counts.duplicate += dt == 0.0
            self.counts.backward += dt < 0.0
            return True
        return False

    def _is_frozen(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> bool:
        """Whether a driver that hangs sends its last sample again: measurements of a moving arm never repeat."""
        frozen = bool(is_repeated_sample(self._last_sample, q, dq, tau))
        self.counts.frozen += frozen
        return frozen

    def _is_plausible(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> bool:
        """Whether the arm can have measured this sample."""
        try:
            self._gate.check(stamp, q, dq, tau)
            if torque_steps(tau, self._last_tau, abs(stamp - self.stamp), self._effort_limit):
                raise self._stepped(stamp - self.stamp, tau)
        except SampleError as error:
            self.counts.last_is_refused = error.reason != TORQUE_JUMP
            self.counts.implausible[error.reason] += 1
            self._refused += (1.0 - self._refused) / REFUSAL_MEMORY
            self._refusal = str(error)
            return False
        self._refused -= self._refused / REFUSAL_MEMORY
        return True

    def _stepped(self, dt: float, tau: FloatArray) -> SampleError:
        change, most = np.abs(tau - self._last_tau), (STEP_SHARE + abs(dt) / STEP_TIME) * self._effort_limit
        joint = int(np.argmax(change / most))
        return SampleError(
            f"tau: expected a change of at most {most[joint]:.3g} N m within {abs(dt):.4g} s, got one of "
            f"{change[joint]:.3g} N m of joint {joint + 1}",
            TORQUE_JUMP,
        )

    @property
    def problem(self) -> str:
        """See the class."""
        if self._refused <= REFUSED_SHARE:
            return self._kinematics.problem
        remedy = "; check motor_constants, and that effort is current" if self._has_currents else ""
        return f"many samples are implausible: {self._refusal}{remedy}"
