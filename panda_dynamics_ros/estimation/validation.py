# SPDX-License-Identifier: Apache-2.0
"""Which samples of a stream are used: order, gaps, repetitions, and what no arm can have measured.

One wrong sample is enough to disturb a filter for seconds. A stream that continues from another place (a recording that
was cut, a second controller) is accepted again after `PERSISTENCE` samples, and `FAULT` s, that agree with each other.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.estimation.kinematic_check import KinematicCheck, follow_motion
from panda_dynamics_ros.estimation.sample_gate import SampleGate, follows
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.effort import CURRENT

GAP, GAP_PERIODS = 0.1, 3.0  # s, and steps like the one before: a longer step does not continue the stream
REFUSED_SHARE, REFUSAL_MEMORY = 0.2, 50.0
"""Share of the last samples (so many of them) whose refusal is a problem of the signal and no single fault."""
TORQUE_JUMP = "torque jump"
STEP_SHARE, STEP_TIME = 0.3, 0.1
"""Of the effort limit: a larger step of a torque is no payload's, unless it lasts; s, in which a torque may change by
all of the limit. In 10 ms a fault is over, which the low-pass filters would show as a payload for 0.1 s."""
STAMP_RESOLUTION = 1e-6
"""s: stamps that are seconds since 1970 in a double are 0.24 microseconds apart."""


@compiled
def is_gap(dt, before, max_gap):
    """Whether a step of `dt` s, after one of `before` s, does not continue the stream."""
    return not 0.0 < dt <= max_gap or (dt > GAP and dt > GAP_PERIODS * before)


@compiled
def torque_steps(tau, before, dt, limit):
    """Whether a torque has changed since `before` (n,), `dt` s ago, by more than a payload can."""
    steps = False
    for i in range(tau.shape[0]):
        steps = steps or abs(tau[i] - before[i]) > (STEP_SHARE + dt / STEP_TIME) * limit[i]
    return steps


@compiled
def repeats(last, q, dq, tau):
    """Whether a sample of a moving arm repeats the last one (3, n) bit for bit: measurements never do."""
    same, moving = True, False
    for i in range(dq.shape[0]):
        same = same and last[0, i] == q[i] and last[1, i] == dq[i] and last[2, i] == tau[i]
        moving = moving or dq[i] != 0.0
    return same and moving


@compiled
def usual_samples(
    stamp, q, dq, tau, last_stamp, before, max_gap, last, effort_limit, bounds, largest, fastest,
    motion, moved, window, steps,
):  # fmt: skip
    """How many samples of N are used without further ado, and whether the last one completes the kinematic window.

    `steps` (N,): s before each. `last` (3, n) and the arrays of the kinematic check follow, in place.
    """
    for k in range(stamp.shape[0]):
        dt = stamp[k] - last_stamp
        if is_gap(dt, before, max_gap) or not follows(
            q[k], dq[k], tau[k], dt, last[0], last[1], bounds, largest, fastest
        ):
            return k, False
        if torque_steps(tau[k], last[2], dt, effort_limit) or repeats(last, q[k], dq[k], tau[k]):
            return k, False
        steps[k] = before = dt
        last_stamp = stamp[k]
        for i in range(q.shape[1]):
            last[0, i], last[1, i], last[2, i] = q[k, i], dq[k, i], tau[k, i]
        if follow_motion(dt, q[k], dq[k], motion, moved, window):
            return k + 1, True
    return stamp.shape[0], False


@dataclass
class SampleCounts:
    """How many samples were used, and how many were ignored for which reason.

    `frozen`: the same measurement again under a new stamp, although the arm moves. `implausible`: by reason, samples
    that the arm cannot have measured (`SampleGate`, torque steps). `gaps`: how often the filters restarted after a gap.
    `restarts`: how often the filter was no longer finite and started again.
    """

    used: int = 0
    duplicate: int = 0
    backward: int = 0
    frozen: int = 0
    gaps: int = 0
    restarts: int = 0
    implausible: Counter[str] = field(default_factory=Counter)


class SampleValidator:
    """Follows the samples of one arm.

    Parameters
    ----------
    robot: whose joint limits apply.
    max_gap_s: a longer step, forward or back, is a gap whatever the stream's period.

    Attributes
    ----------
    counts: of the samples. stamp: s, of the last sample that was used; -inf before the first.
    """

    def __init__(self, robot: RobotDescription, max_gap_s: float) -> None:
        self._gate, self._kinematics, self._max_gap = SampleGate(robot), KinematicCheck(robot.n), max_gap_s
        self._effort_limit, self._has_currents = robot.limits.effort.copy(), robot.effort == CURRENT
        self._last, self._before = np.full((3, robot.n), math.nan), math.nan
        self._refused, self._refusal = 0.0, ""
        self.counts, self.stamp = SampleCounts(), -math.inf

    def select(
        self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray
    ) -> tuple[np.ndarray, FloatArray]:
        """Which of N samples are used: their indices (K,), and s (K,) before each; 0 where filters have to restart."""
        kept, steps, k, all_steps = np.zeros(len(stamp), dtype=bool), np.zeros(len(stamp)), 0, np.empty(len(stamp))
        if not len(stamp):
            return np.flatnonzero(kept), steps
        while k < len(stamp):
            rest = slice(k, len(stamp))
            _, _, _, bounds, largest, fastest = self._gate.reference
            count, complete = usual_samples(
                stamp[rest], q[rest], dq[rest], tau[rest], self.stamp, self._before, self._max_gap, self._last,
                self._effort_limit, bounds, largest, fastest, *self._kinematics.arrays, all_steps[rest],
            )  # fmt: skip
            if count:
                end = k + count
                kept[k:end], steps[k:end] = True, all_steps[k:end]
                self.stamp, self._before = float(stamp[end - 1]), float(steps[end - 1])
                self._gate.accept(self.stamp, self._last[0].copy(), self._last[1].copy())
                self._kinematics.follow(self.stamp, complete)
                self.counts.used += count
                self._refused *= (1.0 - 1.0 / REFUSAL_MEMORY) ** count
                if count == len(stamp):
                    return np.arange(count), all_steps
                k = end
            else:
                step = self._consider(float(stamp[k]), q[k], dq[k], tau[k])
                kept[k], steps[k] = step is not None, step or 0.0
                k += 1
        return np.flatnonzero(kept), steps[kept]

    def _consider(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> float | None:
        """A sample that is not a usual one: s since the last one, 0 to restart the filters, None to ignore it."""
        dt, counts = stamp - self.stamp, self.counts
        if -self._max_gap <= dt <= 0.0:  # a jump back by more (a bag in a loop) is a restart
            counts.duplicate += dt == 0.0
            counts.backward += dt < 0.0
            return None
        if repeats(self._last, q, dq, tau):
            counts.frozen += 1
            return None
        try:
            self._gate.check(stamp, q, dq, tau)
            if torque_steps(tau, self._last[2], abs(dt), self._effort_limit):
                raise self._stepped(dt, tau)
        except SampleError as error:
            counts.implausible[error.reason] += 1
            self._refused += (1.0 - self._refused) / REFUSAL_MEMORY
            self._refusal = str(error)
            return None
        self._refused -= self._refused / REFUSAL_MEMORY
        self._kinematics.update(stamp, q, dq)
        self._last[0], self._last[1], self._last[2] = q, dq, tau
        restart = is_gap(dt, self._before, self._max_gap)
        counts.used += 1
        counts.gaps += restart and math.isfinite(self.stamp)
        self.stamp, self._before = stamp, abs(dt)
        return 0.0 if restart else dt

    def _stepped(self, dt: float, tau: FloatArray) -> SampleError:
        change, most = np.abs(tau - self._last[2]), (STEP_SHARE + abs(dt) / STEP_TIME) * self._effort_limit
        joint = int(np.argmax(change / most))
        return SampleError(
            f"tau: expected a change of at most {most[joint]:.3g} N m within {abs(dt):.4g} s, got one of "
            f"{change[joint]:.3g} N m of joint {joint + 1}",
            TORQUE_JUMP,
        )

    @property
    def problem(self) -> str:
        """One sentence while many samples are implausible, or contradict each other; else empty."""
        if self._refused <= REFUSED_SHARE:
            return self._kinematics.problem
        remedy = "; check motor_constants, and that effort is current" if self._has_currents else ""
        return f"many samples are implausible: {self._refusal}{remedy}"
