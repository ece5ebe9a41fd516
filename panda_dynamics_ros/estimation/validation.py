# SPDX-License-Identifier: Apache-2.0
"""Which samples of a stream are used: order, gaps, repetitions, what no arm can have measured, what contradicts itself.

Samples beyond the arm's limits are refused, and those that jump farther than it can move or accelerate: one of them
would disturb a filter for seconds. A stream that continues from another place (a recording that was cut, a second
controller) is accepted again after `PERSISTENCE` samples, and `FAULT` s, that agree with each other. Samples that come
late are left out; if this lasts for more than `FAULT` s, a clock was set back. Both start the filters anew.

Over windows of at least `WINDOW` samples and some motion the displacement D = q(end) - q(start) is compared with
V = integral of dq dt. Stamps in milliseconds, velocities in degrees, of opposite sign, of other joints or missing make
them disagree. Two robots on one topic make the path of the positions many times that of the velocities.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.robot.description import CURRENT, RobotDescription
from panda_dynamics_ros.robot.stamps import STAMP_JUMP

OUTSIDE_LIMITS, TOO_FAST, TOO_STRONG = "outside joint limits", "velocity beyond limits", "torque beyond limits"
JUMP, VELOCITY_JUMP, TORQUE_JUMP = "position jump", "velocity jump", "torque jump"
IMPLAUSIBLE = (OUTSIDE_LIMITS, TOO_FAST, TOO_STRONG, JUMP, VELOCITY_JUMP)  # for which `SampleGate` refuses a sample
_QUANTITIES = (
    ("q", "rad", OUTSIDE_LIMITS, JUMP),
    ("dq", "rad/s", TOO_FAST, VELOCITY_JUMP),
    ("tau", "N m", TOO_STRONG, TORQUE_JUMP),
)

POSITION_MARGIN = 0.1  # rad or m beyond the limits: tolerances of mounting and calibration
LIMIT_FACTOR = 2.0  # on velocity and effort limits, which arms exceed a little in reflexes and collisions
JUMP_TOLERANCE = 0.05  # rad or m, beyond what the arm can move between two samples
STOP_SHARE, STOP_TIME = 0.25, 0.02  # of the velocity limit, beyond what changes by the whole limit in so many s
STEP_SHARE, STEP_TIME = 0.3, 0.1
"""The same of the effort limit: a larger step of a torque is no payload's, unless it lasts. In 10 ms a fault is over,
which the low-pass filters would show as a payload for 0.1 s."""
PERSISTENCE, FAULT = 5, 0.02
GAP, GAP_PERIODS = 0.1, 3.0  # s, and steps like the one before: a longer step does not continue the stream
REFUSED_SHARE, REFUSAL_MEMORY = 0.2, 50.0  # share of so many last samples whose refusal is no single fault
STAMP_RESOLUTION = 1e-6  # s: stamps that are seconds since 1970 in a double are 0.24 microseconds apart

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
def beyond(sample, centre, most, dt):
    """The first of q, dq and tau, 0 to 2, that a joint has off `centre` (3, n) by most[0] + most[1] dt (3, n); else 3.

    Nothing is off nan.
    """
    for which in range(3):
        for i in range(sample.shape[1]):
            if abs(sample[which, i] - centre[which, i]) >= most[0, which, i] + most[1, which, i] * dt:
                return which
    return 3


@compiled
def repeats(sample, last):
    """Whether a sample (3, n) of a moving arm repeats the last one bit for bit: measurements never do."""
    moving = False
    for i in range(sample.shape[1]):
        if last[0, i] != sample[0, i] or last[1, i] != sample[1, i] or last[2, i] != sample[2, i]:
            return False
        moving = moving or sample[1, i] != 0.0
    return moving


@compiled
def is_gap(dt, before, max_gap):
    """Whether a step of `dt` s, after one of `before` s, does not continue the stream."""
    return not 0.0 < dt <= max_gap or (dt > GAP and dt > GAP_PERIODS * before)


@compiled
def follow_motion(dt, sample, last, moved, window):
    """Add a sample (3, n) to the window and to `last`, in place; whether the window is complete.

    `moved` (2, n): D and V.
    """
    most = 0.0
    for i in range(sample.shape[1]):
        step, integral = sample[0, i] - last[0, i], 0.5 * (sample[1, i] + last[1, i]) * dt
        moved[0, i] += step
        moved[1, i] += integral
        window[_OFF] += abs(step - integral)
        window[_PATH] += abs(integral)
        most = max(most, abs(moved[0, i]), abs(moved[1, i]))
        last[0, i], last[1, i], last[2, i] = sample[0, i], sample[1, i], sample[2, i]
    window[_COUNT] += 1.0
    window[_TIME] += dt
    window[_STEP] = max(window[_STEP], dt)
    return window[_COUNT] >= WINDOW and (most > MOTION or window[_TIME] > LONGEST)


@compiled
def usual_samples(stamp, q, dq, tau, last_stamp, before, max_gap, middle, widest, most, last, moved, window, steps):
    """How many samples of N are used without further ado, and whether the last one completes the kinematic window.

    `steps` (N,): s before each. `last` (3, n) and the arrays of the kinematic check follow, in place.
    """
    sample = np.empty(last.shape)
    for k in range(stamp.shape[0]):
        dt = stamp[k] - last_stamp
        for i in range(q.shape[1]):
            sample[0, i], sample[1, i], sample[2, i] = q[k, i], dq[k, i], tau[k, i]
        if is_gap(dt, before, max_gap) or beyond(sample, middle, widest, 0.0) < 3:
            return k, False
        if beyond(sample, last, most, dt) < 3 or repeats(sample, last):
            return k, False
        steps[k] = before = dt
        last_stamp = stamp[k]
        if follow_motion(dt, sample, last, moved, window):
            return k + 1, True
    return stamp.shape[0], False


class SampleGate:
    """Refuses samples of one arm that it cannot have measured.

    robot: whose joint limits apply.

    stamp: s, of the last accepted sample; -inf before the first. last: (3, n), its q, dq and tau.
    limits: middle (3, n) of what q, dq and tau may be, and how far off it they may be, as of `beyond`.
    most: (2, 3, n), by how much they may change.
    """

    def __init__(self, robot: RobotDescription) -> None:
        limits, self._robot, n = robot.limits, robot, robot.n
        v, tau, still = limits.velocity, limits.effort, np.zeros((3, n))
        half = 0.5 * (limits.upper - limits.lower) + POSITION_MARGIN
        self.limits = (
            np.array([limits.lower - POSITION_MARGIN + half, *still[:2]]),
            np.array([(half, LIMIT_FACTOR * v, LIMIT_FACTOR * tau), still]),
        )
        self.most = np.array([
            (np.full(n, JUMP_TOLERANCE), STOP_SHARE * v, STEP_SHARE * tau),
            (LIMIT_FACTOR * v, v / STOP_TIME, tau / STEP_TIME),
        ])  # fmt: skip
        self.stamp, self.last = -math.inf, np.full((3, n), math.nan)
        self._agreeing: list[tuple[float, FloatArray]] = []  # stamps and samples that were refused, one like the other

    def check(self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Accept a sample: stamp in s; q, dq, tau (n,), finite, in rad, rad/s and N m.

        Raises SampleError: the arm cannot have measured it. The gate compares later samples with the last accepted one.
        """
        sample = np.array((q, dq, tau))
        self.examine(stamp, sample)
        if not 0.0 <= self.stamp - stamp <= STAMP_JUMP:  # a sample that came late says nothing of the next one
            self.last[:] = sample
            self.go_on(stamp)

    def go_on(self, stamp: float) -> None:
        """Compare later samples with `last`, which is of `stamp` (s)."""
        self.stamp, self._agreeing = stamp, []

    @property
    def goes_on_elsewhere(self) -> bool:
        """Whether a sample that is accepted now is the last of `PERSISTENCE` that agree on another place of the arm."""
        return len(self._agreeing) >= PERSISTENCE - 1

    def examine(self, stamp: float, sample: FloatArray, torques_step: bool = True) -> None:
        """Raise what `check` raises; and of a torque that changes by more than a payload can, unless it may."""
        which = beyond(sample, *self.limits, 0.0)
        if which < 3:
            raise self._refusal(which, sample)
        dt = stamp - self.stamp
        which = beyond(sample, self.last, self.most, abs(dt))
        if which < 2 and dt > 0.0:
            before, like = self._agreeing[-1] if self._agreeing else (stamp, sample)
            if stamp > before and beyond(sample, like, self.most, stamp - before) < 2:
                self._agreeing = []
            self._agreeing.append((stamp, sample))
            del self._agreeing[1:-PERSISTENCE]  # of a stamp that stands still there may be any number
            if len(self._agreeing) < PERSISTENCE or stamp - self._agreeing[0][0] < FAULT:
                raise self._refusal(which, sample, dt)
        self._agreeing = []
        if which == 2 and not torques_step:
            raise self._refusal(which, sample, abs(dt))

    def _refusal(self, which: int, sample: FloatArray, dt: float | None = None) -> SampleError:
        """What is beyond the limits, or has changed in `dt` s by more than it can, in words."""
        centre, most = self.limits if dt is None else (self.last, self.most)
        allowed, off = most[0, which] + (dt or 0.0) * most[1, which], np.abs(sample[which] - centre[which])
        joint, (name, unit, outside, jump) = int(np.argmax(off - allowed)), _QUANTITIES[which]
        limits, got, of = self._robot.limits, sample[which, joint], f"for joint {joint + 1} of {self._robot.name}"
        if dt is not None:
            text = f"a change of at most {allowed[joint]:.3g} {unit} within {dt:.4g} s, got one of {off[joint]:.3g} "
            text += f"{unit} of joint {joint + 1}{': two robots on one topic?' if jump in IMPLAUSIBLE else ''}"
        elif which == 0:
            low, high = limits.lower[joint], limits.upper[joint]
            text = f"{low:.4g} to {high:.4g} rad {of}, got {got:.4g}: degrees, or another arm?"
        else:
            text = f"at most {allowed[joint]:.4g} {unit} {of}, got {abs(got):.4g}: is it in {unit}?"
        return SampleError(f"{name}: expected {text}", outside if dt is None else jump)


class KinematicCheck:
    """Compares positions with velocities and stamps of one arm of n joints.

    window: the arguments of `follow_motion` from `moved` on.
    problem: one sentence with cause and remedy while positions, velocities and stamps disagree; else empty.
    """

    def __init__(self, n: int) -> None:
        self.window = np.zeros((2, n)), np.zeros(5)
        self._means = np.zeros(4)  # of D'D, D'V, V'V, and the path of the positions over that of the velocities
        self._windows, self.problem = 0, ""

    def follow(self, dt: float, sample: FloatArray, last: FloatArray) -> None:
        """Follow a sample (3, n) that came `dt` s after `last` (3, n), which becomes it."""
        if not 0.0 < dt < math.inf:
            last[:] = sample
            self.window[0][:] = self.window[1][:] = 0.0
        elif follow_motion(dt, sample, last, *self.window):
            self.judge()

    def judge(self) -> None:
        """Take the window, which is complete, into account, renew `problem`, and start another one."""
        (D, V), window = self.window
        products = np.array([D @ D, D @ V, V @ V])
        largest = max(products[0], products[2])
        coarse = window[_STEP] > COARSE and products[2] < FAR_MORE**2 * products[0]
        if not coarse and MOTION**2 <= largest < math.inf:
            self._windows += 1
            # Where the velocities are nothing, or of another unit, the ratio says nothing.
            ratio = window[_OFF] / max(window[_PATH], float(np.abs(D).sum()), 1e-300)
            values = np.append(products / largest, min(ratio, 100.0))
            self._means += max(1.0 - KEEP, 1.0 / self._windows) * (values - self._means)
            self.problem = self._found() if self._windows >= ENOUGH else ""
        self.window[0][:] = self.window[1][:] = 0.0

    def _found(self) -> str:
        DD, DV, VV, to_and_fro = self._means
        if to_and_fro > TO_AND_FRO:
            return (
                f"the positions go to and fro by {to_and_fro:.0f} times what the arm moves: expected the samples of "
                "one arm; two robots on one topic?"
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

    frozen: the same measurement again under a new stamp, although the arm moves.
    gaps: how often the filters restarted after a gap. restarts: how often the filter was no longer finite.
    implausible: by reason, samples that the arm cannot have measured (`SampleGate`, torque steps).
    """

    used: int = 0
    duplicate: int = 0
    backward: int = 0
    frozen: int = 0
    gaps: int = 0
    restarts: int = 0
    implausible: Counter[str] = field(default_factory=Counter)


class SampleValidator:
    """Follows the samples of one arm, and has their `counts`.

    robot: whose joint limits apply.
    max_gap_s: a longer step, forward or back, is a gap whatever the stream's period.
    """

    def __init__(self, robot: RobotDescription, max_gap_s: float) -> None:
        self._gate, self._kinematics, self._max_gap = SampleGate(robot), KinematicCheck(robot.n), max_gap_s
        self._before, self._has_currents = math.nan, robot.effort == CURRENT
        self._refused, self._refusal, self.counts, self._late = 0.0, "", SampleCounts(), (math.nan, 0.0)

    def select(
        self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray
    ) -> tuple[np.ndarray, FloatArray]:
        """Which of N samples are used: their indices (K,), and s (K,) before each; 0 where filters have to restart."""
        gate, steps, k = self._gate, np.empty(len(stamp)), 0
        while k < len(stamp):
            rest = slice(k, len(stamp))
            count, complete = usual_samples(
                stamp[rest], q[rest], dq[rest], tau[rest], gate.stamp, self._before, self._max_gap, *gate.limits,
                gate.most, gate.last, *self._kinematics.window, steps[rest],
            )  # fmt: skip
            if count:
                k += count
                self._before = float(steps[k - 1])
                if gate.goes_on_elsewhere:
                    steps[k - count], self.counts.gaps = 0.0, self.counts.gaps + 1
                gate.go_on(float(stamp[k - 1]))
                if complete:
                    self._kinematics.judge()
                self.counts.used += count
                self._refused *= (1.0 - 1.0 / REFUSAL_MEMORY) ** count
                if count == len(stamp):
                    return np.arange(count), steps
            else:
                steps[k] = self._consider(float(stamp[k]), np.array((q[k], dq[k], tau[k])))
                k += 1
        kept = np.flatnonzero(steps >= 0.0)
        return kept, steps[kept]

    def _consider(self, stamp: float, sample: FloatArray) -> float:
        """A sample that is not a usual one: s since the last one, 0 to restart the filters, -1 to ignore it."""
        gate, counts = self._gate, self.counts
        dt = stamp - gate.stamp
        if self._late[0] != gate.stamp:
            self._late = gate.stamp, stamp  # stamps of the last sample that was used, and of the first since then
        if -self._max_gap <= dt <= 0.0 and not stamp - self._late[1] > FAULT:  # else a clock was set back
            counts.duplicate += dt == 0.0
            counts.backward += dt < 0.0
            return -1.0
        if repeats(sample, gate.last):
            counts.frozen += 1
            return -1.0
        elsewhere = gate.goes_on_elsewhere  # which `examine` forgets
        try:
            gate.examine(stamp, sample, torques_step=False)
        except SampleError as error:
            counts.implausible[error.reason] += 1
            self._refused += ((error.reason in IMPLAUSIBLE) - self._refused) / REFUSAL_MEMORY  # a blow is no fault
            self._refusal = str(error)
            return -1.0
        self._refused -= self._refused / REFUSAL_MEMORY
        self._kinematics.follow(dt, sample, gate.last)
        restart = elsewhere or is_gap(dt, self._before, self._max_gap)
        counts.used += 1
        counts.gaps += restart and math.isfinite(gate.stamp)
        self._before = abs(dt)
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
