# SPDX-License-Identifier: Apache-2.0
"""Which samples of a stream are used: order, gaps, repetitions, what no arm can have measured, what contradicts itself.

One wrong sample is enough to disturb a filter for seconds. Samples beyond the arm's limits are refused, and those that
jump farther than it can move or accelerate. A stream that continues from another place (a recording that was cut, a
second controller) is accepted again after `PERSISTENCE` samples, and `FAULT` s, that agree with each other.

What an arm moves is the integral of its velocity. Over windows of at least `WINDOW` samples and some motion the
displacement D = q(end) - q(start) is compared with V = integral of dq dt. Stamps in milliseconds, velocities in
degrees, of opposite sign, of other joints or missing make them disagree. Two robots in similar postures on one topic
make consecutive samples jump to and fro, so that the path is many times that of the velocities.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.effort import CURRENT
from panda_dynamics_ros.robot.stamps import STAMP_JUMP

OUTSIDE_LIMITS, TOO_FAST, TOO_STRONG = "outside joint limits", "velocity beyond limits", "torque beyond limits"
JUMP, VELOCITY_JUMP, TORQUE_JUMP = "position jump", "velocity jump", "torque jump"
IMPLAUSIBLE = (OUTSIDE_LIMITS, TOO_FAST, TOO_STRONG, JUMP, VELOCITY_JUMP)
"""Reasons for which `SampleGate` refuses a sample."""

POSITION_MARGIN = 0.1  # rad or m beyond the limits: tolerances of mounting and calibration
LIMIT_FACTOR = 2.0  # on velocity and effort limits, which arms exceed a little in reflexes and collisions
JUMP_TOLERANCE = 0.05  # rad or m, beyond what the arm can move between two samples
STOP_SHARE, STOP_TIME = 0.25, 0.02  # of the velocity limit, beyond what changes by the whole limit in so many s
STEP_SHARE, STEP_TIME = 0.3, 0.1
"""The same of the effort limit: a larger step of a torque is no payload's, unless it lasts. In 10 ms a fault is over,
which the low-pass filters would show as a payload for 0.1 s."""
PERSISTENCE, FAULT = 5, 0.02
GAP, GAP_PERIODS = 0.1, 3.0  # s, and steps like the one before: a longer step does not continue the stream
REFUSED_SHARE, REFUSAL_MEMORY = 0.2, 50.0
"""Share of the last samples (so many of them) whose refusal is a problem of the signal and no single fault."""
STAMP_RESOLUTION = 1e-6
"""s: stamps that are seconds since 1970 in a double are 0.24 microseconds apart."""

WINDOW, MOTION = 50, 0.02  # samples; rad or m of the joint that moves most
LONGEST = 2.0  # s: in a longer one with less motion an offset of dq would count
COARSE, FAR_MORE = 0.2, 20.0
"""s: a longer step is hardly integrated. It counts only where V is so many times D, as with another unit of time."""
KEEP, ENOUGH = 0.8, 4  # exponential memory, per window; windows before anything is said
MISFIT = 0.3
"""|D - V|^2 over |D|^2 + |V|^2, above which they disagree: of V = D times 2.3 or 0.4. Real arms have 0.00 to 0.05."""
TO_AND_FRO = 5.0  # path of the positions beside that of the velocities, over the latter; 2 where positions are held
ALIKE = 0.8  # squared correlation of D and V, above which they differ by a factor
_COUNT, _TIME, _STEP, _OFF, _PATH = range(5)
"""Entries of `window`: samples, s, longest step, path off the velocity's, path of the velocity."""


@compiled
def within(q, dq, tau, limits):
    """Whether a sample is within `limits` (4, n): least and largest position, speed, torque."""
    for i in range(q.shape[0]):
        if not (limits[0, i] < q[i] < limits[1, i] and abs(dq[i]) < limits[2, i] and abs(tau[i]) < limits[3, i]):
            return False
    return True


@compiled
def reaches(q, dq, dt, before, limits):
    """Whether an arm of state `before` (q, dq, ..) can be at q, dq (n,) `dt` s later; from nan it can be anywhere."""
    for i in range(q.shape[0]):
        far = abs(q[i] - before[0, i]) >= JUMP_TOLERANCE + dt * limits[2, i]
        if far or abs(dq[i] - before[1, i]) >= (STOP_SHARE + dt / STOP_TIME) * limits[2, i] / LIMIT_FACTOR:
            return False
    return True


@compiled
def torque_steps(tau, before, dt, limits):
    """Whether a torque has changed since `before` (n,), `dt` s ago, by more than a payload can."""
    for i in range(tau.shape[0]):
        if abs(tau[i] - before[i]) > (STEP_SHARE + dt / STEP_TIME) * limits[3, i] / LIMIT_FACTOR:
            return True
    return False


@compiled
def repeats(last, q, dq, tau):
    """Whether a sample of a moving arm repeats the last one (3, n) bit for bit: measurements never do."""
    same, moving = True, False
    for i in range(dq.shape[0]):
        same = same and last[0, i] == q[i] and last[1, i] == dq[i] and last[2, i] == tau[i]
        moving = moving or dq[i] != 0.0
    return same and moving


@compiled
def is_gap(dt, before, max_gap):
    """Whether a step of `dt` s, after one of `before` s, does not continue the stream."""
    return not 0.0 < dt <= max_gap or (dt > GAP and dt > GAP_PERIODS * before)


@compiled
def follow_motion(dt, q, dq, last, moved, window):
    """Add a sample to the window, in place; whether it is complete. `last`, `moved` (2, n): q and dq; D and V."""
    most = 0.0
    for i in range(q.shape[0]):
        step, integral = q[i] - last[0, i], 0.5 * (dq[i] + last[1, i]) * dt
        moved[0, i] += step
        moved[1, i] += integral
        window[_OFF] += abs(step - integral)
        window[_PATH] += abs(integral)
        most = max(most, abs(moved[0, i]), abs(moved[1, i]))
        last[0, i], last[1, i] = q[i], dq[i]
    window[_COUNT] += 1.0
    window[_TIME] += dt
    window[_STEP] = max(window[_STEP], dt)
    return window[_COUNT] >= WINDOW and (most > MOTION or window[_TIME] > LONGEST)


@compiled
def usual_samples(stamp, q, dq, tau, last_stamp, before, max_gap, last, limits, motion, moved, window, steps):
    """How many samples of N are used without further ado, and whether the last one completes the kinematic window.

    `steps` (N,): s before each. `last` (3, n) and the arrays of the kinematic check follow, in place.
    """
    for k in range(stamp.shape[0]):
        dt = stamp[k] - last_stamp
        if is_gap(dt, before, max_gap) or not within(q[k], dq[k], tau[k], limits):
            return k, False
        if not reaches(q[k], dq[k], dt, last, limits) or torque_steps(tau[k], last[2], dt, limits):
            return k, False
        if repeats(last, q[k], dq[k], tau[k]):
            return k, False
        steps[k] = before = dt
        last_stamp = stamp[k]
        for i in range(q.shape[1]):
            last[0, i], last[1, i], last[2, i] = q[k, i], dq[k, i], tau[k, i]
        if follow_motion(dt, q[k], dq[k], motion, moved, window):
            return k + 1, True
    return stamp.shape[0], False


class SampleGate:
    """Refuses samples of one arm that it cannot have measured.

    robot: whose joint limits apply.

    stamp: s, of the last accepted sample; -inf before the first. last: (3, n), its q, dq and tau.
    """

    def __init__(self, robot: RobotDescription) -> None:
        limits, self._robot = robot.limits, robot
        self.limits = np.array([
            limits.lower - POSITION_MARGIN, limits.upper + POSITION_MARGIN, LIMIT_FACTOR * limits.velocity,
            LIMIT_FACTOR * limits.effort,
        ])  # fmt: skip
        self.stamp, self.last = -math.inf, np.full((3, robot.n), math.nan)
        self._refused_at, self._refused = -math.inf, np.zeros((2, robot.n))
        self._agreeing, self._agree_since = 0, -math.inf

    def check(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Accept a sample: stamp in s; q, dq, tau (n,), finite, in rad, rad/s and N m.

        Raises SampleError: the arm cannot have measured it. The gate compares later samples with the last accepted one.
        """
        self.examine(stamp, q, dq, tau)
        if not 0.0 <= self.stamp - stamp <= STAMP_JUMP:  # a sample that came late says nothing of the next one
            self.stamp = stamp
            self.last[0], self.last[1], self.last[2] = q, dq, tau

    def go_on(self, stamp: float) -> None:
        """Compare later samples with `last`, which is of `stamp` (s)."""
        self.stamp, self._agreeing = stamp, 0

    def examine(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray, torques_step: bool = True) -> None:
        """Raise what `check` raises; and of a torque that changes by more than a payload can, unless it may."""
        if not within(q, dq, tau, self.limits):
            raise self._beyond(q, dq, tau)
        dt, since = stamp - self.stamp, stamp - self._refused_at
        if not (dt <= 0.0 or reaches(q, dq, dt, self.last, self.limits)):
            agrees = self._agreeing > 0 and (since <= 0.0 or reaches(q, dq, since, self._refused, self.limits))
            self._agreeing = self._agreeing + 1 if agrees else 1
            if self._agreeing == 1:
                self._agree_since = stamp
            if self._agreeing < PERSISTENCE or stamp - self._agree_since < FAULT:
                self._refused_at, self._refused = stamp, np.array([q, dq])
                raise self._jumped(dt, q, dq, tau)
        self._agreeing = 0
        if not torques_step and torque_steps(tau, self.last[2], abs(dt), self.limits):
            raise self._jumped(abs(dt), self.last[0], self.last[1], tau)

    def _beyond(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> SampleError:
        """What is beyond the limits, in words."""
        outside, of, limits = np.maximum(self.limits[0] - q, q - self.limits[1]), self._robot.name, self._robot.limits
        if outside.max() >= 0.0:
            joint = int(np.argmax(outside))
            return SampleError(
                f"q: expected {limits.lower[joint]:.4g} to {limits.upper[joint]:.4g} rad for joint {joint + 1} of "
                f"{of}, got {q[joint]:.4g}: degrees, or another arm?",
                OUTSIDE_LIMITS,
            )
        size = np.abs((dq, tau))
        which, joint = divmod(int(np.argmax(size / self.limits[2:])), size.shape[1])
        name, unit, reason = (("dq", "rad/s", TOO_FAST), ("tau", "N m", TOO_STRONG))[which]
        return SampleError(
            f"{name}: expected at most {self.limits[2 + which, joint]:.4g} {unit} for joint {joint + 1} of {of}, got "
            f"{size[which, joint]:.4g}: is it in {unit}?",
            reason,
        )

    def _jumped(self, dt: float, *sample: FloatArray) -> SampleError:
        """What has changed in `dt` s by more than it can, in words."""
        most = (
            JUMP_TOLERANCE + dt * self.limits[2],
            (STOP_SHARE + dt / STOP_TIME) * self.limits[2] / LIMIT_FACTOR,
            (STEP_SHARE + dt / STEP_TIME) * self.limits[3] / LIMIT_FACTOR,
        )
        change = np.abs(np.array(sample) - self.last)
        which = int(np.argmax((change >= most).any(axis=1)))
        joint = int(np.argmax(change[which] - most[which]))
        name, unit, reason = (("q", "rad", JUMP), ("dq", "rad/s", VELOCITY_JUMP), ("tau", "N m", TORQUE_JUMP))[which]
        remedy = ": two robots on one topic?" if reason in IMPLAUSIBLE else ""
        return SampleError(
            f"{name}: expected a change of at most {most[which][joint]:.3g} {unit} within {dt:.4g} s, got one of "
            f"{change[which, joint]:.3g} {unit} of joint {joint + 1}{remedy}",
            reason,
        )


class KinematicCheck:
    """Compares positions with velocities and stamps of one arm.

    n: joints.

    arrays: the arguments of `follow_motion` from `last` on.
    problem: one sentence with cause and remedy while positions, velocities and stamps disagree; else empty.
    """

    def __init__(self, n: int) -> None:
        self.arrays = np.full((2, n), math.nan), np.zeros((2, n)), np.zeros(5)
        self._products = np.zeros(3)  # means of D'D, D'V, V'V
        self._to_and_fro, self._windows, self.problem = 0.0, 0, ""

    def follow(self, dt: float, q: FloatArray, dq: FloatArray) -> None:
        """Follow a sample that came `dt` s after the last one: (n,), rad; (n,), rad/s."""
        if not 0.0 < dt < math.inf:
            self.arrays[0][0], self.arrays[0][1] = q, dq
            self._start_window()
        elif follow_motion(dt, q, dq, *self.arrays):
            self.judge()

    def judge(self) -> None:
        """Take the window, which is complete, into account, renew `problem`, and start another one."""
        (D, V), window = self.arrays[1], self.arrays[2]
        products = np.array([D @ D, D @ V, V @ V])
        largest = max(products[0], products[2])
        coarse = window[_STEP] > COARSE and products[2] < FAR_MORE**2 * products[0]
        if not coarse and MOTION**2 <= largest < math.inf:
            self._windows += 1
            new = 1.0 - min(KEEP, 1.0 - 1.0 / self._windows)
            self._products += new * (products / largest - self._products)
            # Where the velocities are nothing, or of another unit, this says nothing.
            ratio = window[_OFF] / max(window[_PATH], float(np.abs(D).sum()), 1e-300)
            self._to_and_fro += new * (min(ratio, 100.0) - self._to_and_fro)
            self.problem = self._found() if self._windows >= ENOUGH else ""
        self._start_window()

    def _start_window(self) -> None:
        self.arrays[1][:], self.arrays[2][:] = 0.0, 0.0

    def _found(self) -> str:
        DD, DV, VV = self._products
        if self._to_and_fro > TO_AND_FRO:
            return (
                f"the positions go to and fro by {self._to_and_fro:.0f} times what the arm moves: expected the samples "
                "of one arm; two robots on one topic?"
            )
        if DD - 2.0 * DV + VV < MISFIT * (DD + VV):
            return ""
        if DV > 0.0 and DV**2 > ALIKE * DD * VV:
            return (
                f"the positions change {DV / VV:.2g} times as much as velocities and stamps say: expected rad, rad/s "
                "and stamps in s; are they in milliseconds, or the velocities in degrees?"
            )
        return (
            "the positions do not change as the velocities say: expected q in rad and dq in rad/s of the same joints; "
            "check sign, unit and order of the velocities, and the stamps"
        )


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

    robot: whose joint limits apply.
    max_gap_s: a longer step, forward or back, is a gap whatever the stream's period.

    counts: of the samples.
    """

    def __init__(self, robot: RobotDescription, max_gap_s: float) -> None:
        self._gate, self._kinematics, self._max_gap = SampleGate(robot), KinematicCheck(robot.n), max_gap_s
        self._before, self._has_currents = math.nan, robot.effort == CURRENT
        self._refused, self._refusal, self.counts = 0.0, "", SampleCounts()

    def select(
        self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray
    ) -> tuple[np.ndarray, FloatArray]:
        """Which of N samples are used: their indices (K,), and s (K,) before each; 0 where filters have to restart."""
        gate, steps, k = self._gate, np.empty(len(stamp)), 0
        while k < len(stamp):
            rest = slice(k, len(stamp))
            count, complete = usual_samples(
                stamp[rest], q[rest], dq[rest], tau[rest], gate.stamp, self._before, self._max_gap, gate.last,
                gate.limits, *self._kinematics.arrays, steps[rest],
            )  # fmt: skip
            if count:
                k += count
                self._before = float(steps[k - 1])
                gate.go_on(float(stamp[k - 1]))
                if complete:
                    self._kinematics.judge()
                self.counts.used += count
                self._refused *= (1.0 - 1.0 / REFUSAL_MEMORY) ** count
                if count == len(stamp):
                    return np.arange(count), steps
            else:
                steps[k] = self._consider(float(stamp[k]), q[k], dq[k], tau[k])
                k += 1
        kept = np.flatnonzero(steps >= 0.0)
        return kept, steps if len(kept) == len(steps) else steps[kept]

    def _consider(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> float:
        """A sample that is not a usual one: s since the last one, 0 to restart the filters, -1 to ignore it."""
        gate, counts = self._gate, self.counts
        dt = stamp - gate.stamp
        if -self._max_gap <= dt <= 0.0:  # a jump back by more (a bag in a loop) is a restart
            counts.duplicate += dt == 0.0
            counts.backward += dt < 0.0
            return -1.0
        if repeats(gate.last, q, dq, tau):
            counts.frozen += 1
            return -1.0
        try:
            gate.examine(stamp, q, dq, tau, torques_step=False)
        except SampleError as error:
            counts.implausible[error.reason] += 1
            self._refused += (1.0 - self._refused) / REFUSAL_MEMORY
            self._refusal = str(error)
            return -1.0
        self._refused -= self._refused / REFUSAL_MEMORY
        self._kinematics.follow(dt, q, dq)
        restart = is_gap(dt, self._before, self._max_gap)
        counts.used += 1
        counts.gaps += restart and math.isfinite(gate.stamp)
        self._before = abs(dt)
        gate.last[0], gate.last[1], gate.last[2] = q, dq, tau
        gate.go_on(stamp)
        return 0.0 if restart else dt

    @property
    def problem(self) -> str:
        """One sentence while many samples are implausible, or contradict each other; else empty."""
        if self._refused <= REFUSED_SHARE:
            return self._kinematics.problem
        remedy = "; check motor_constants, and that effort is current" if self._has_currents else ""
        return f"many samples are implausible: {self._refusal}{remedy}"


def without_gaps(steps: FloatArray) -> Iterator[slice]:
    """Parts of N samples, `steps` (N,) s apart, in which only the first may be a restart."""
    if len(steps) == 1 or (steps[1:] > 0.0).all():
        return iter([slice(0, len(steps))] if len(steps) else [])
    starts = [0, *(np.flatnonzero(steps[1:] <= 0.0) + 1), len(steps)]
    return (slice(int(a), int(b)) for a, b in pairwise(starts) if b > a)
