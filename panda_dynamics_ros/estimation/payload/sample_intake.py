# SPDX-License-Identifier: Apache-2.0
"""Decides which samples the estimator uses, and counts the others by reason."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.estimation.payload.motion_clock import is_repeated_sample
from panda_dynamics_ros.estimation.sample_clock import SampleClock
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.effort import CURRENT
from panda_dynamics_ros.samples.kinematic_check import KinematicCheck
from panda_dynamics_ros.samples.sample_gate import TORQUE_JUMP, SampleGate

REFUSED_SHARE, REFUSAL_MEMORY = 0.2, 50.0
"""Share of the last samples (so many of them) whose refusal is a problem of the signal and no single fault."""
FINE, EACH = 0.002, 5
"""s, period of a stream of which each fifth sample is enough to compare positions with velocities."""


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
        self._gate, self._clock, self._max_gap = SampleGate(robot, steps=False), SampleClock(max_gap_s), max_gap_s
        self.counts, self.stamp = SampleCounts(), -math.inf
        self._last_sample = np.full((3, robot.n), math.nan)
        self._refused, self._refusal = 0.0, ""
        self._has_currents = robot.effort == CURRENT
        self._kinematics = KinematicCheck(robot.n)

    def accept(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> float | None:
        """Seconds since the last sample that was used; 0 where filters have to restart; None to ignore this sample."""
        self.counts.last_is_refused = False
        if self._is_out_of_order(stamp - self.stamp) or self._is_frozen(q, dq, tau):
            return None
        if not self._is_plausible(stamp, q, dq, tau):
            return None
        if stamp - self.stamp > FINE or self.counts.used % EACH == 0:
            self._kinematics.update(stamp, q, dq)
        dt = self._clock.step(stamp) or 0.0
        self.counts.used += 1
        self.counts.gaps += dt == 0.0 and math.isfinite(self.stamp)
        self.stamp = stamp
        return dt

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
        except SampleError as error:
            self.counts.last_is_refused = error.reason != TORQUE_JUMP
            self.counts.implausible[error.reason] += 1
            self._refused += (1.0 - self._refused) / REFUSAL_MEMORY
            self._refusal = str(error)
            return False
        self._refused -= self._refused / REFUSAL_MEMORY
        return True

    @property
    def problem(self) -> str:
        """See the class."""
        if self._refused <= REFUSED_SHARE:
            return self._kinematics.problem
        remedy = "; check motor_constants, and that effort is current" if self._has_currents else ""
        return f"many samples are implausible: {self._refusal}{remedy}"
