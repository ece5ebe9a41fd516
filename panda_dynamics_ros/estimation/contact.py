# SPDX-License-Identifier: Apache-2.0
"""Contacts: when something touches the arm, on which link, and until when.

Detection, isolation and identification as in Haddadin, De Luca, Albu-Schaeffer, "Robot Collisions: A Survey on
Detection, Isolation, and Identification", IEEE T-RO 33(6), 2017. The external torques, at 10 Hz, are those of
`arm_model`: a slow part that moves with the arm and where its dry friction turns, and noise. The slow part is followed
by one scalar Kalman filter per joint, and a contact begins where the torque departs from what that filter expected a
moment ago. While the arm stands the slow part does not move: a push that rises within a second shows as well as a blow.
The noise is that of the torque and of the measured velocity, whose effect on joint i grows with h_i = sum_j M_ij^2; its
level is learnt in motion for motion and at rest for rest.

`hypotheses` looks at the same torques at 3 Hz, which tells a contact from a payload; `ArmMonitor` joins both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample
from panda_dynamics_ros.dynamics.kernels.scratch import scratch
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix_of_one
from panda_dynamics_ros.estimation.arm_model import (
    CORRELATION,
    DISTURBANCE,
    DRY,
    FULL_SPEED,
    OUTLIER,
    TURN,
    TURN_PLAY,
    WHITE,
)
from panda_dynamics_ros.estimation.external_torques import LinkEvidence
from panda_dynamics_ros.estimation.options import PositiveOptions
from panda_dynamics_ros.estimation.regression import ArmTerms, MomentumRegression, Rows, filter_step
from panda_dynamics_ros.estimation.validation import SampleValidator
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.residual_map import DRIFT

RELEASED, PAYLOAD, STEADY = "released", "payload", "steady"
"""How a contact ended: by its release; by a change of the payload that explains it; by lasting so long that it counts
as something carried."""
VELOCITY_NOISE = 0.004  # rad/s: of a Panda's dq; first differences of a recording at 1 kHz have .003 to .005
LAG, SLOTS = 0.05, 10  # s ago: what the torques are compared with; places of the delay line
QUIET, FIRST_LEVEL, LOUDEST = 2.55, 4.0, 1.5
"""Level of the statistic in motion, (mean of its eighth power)^(1/8), on an arm as modelled, and of one that is not
known yet; how many times its level a value counts at most. So high a power shows how large the largest values are: real
arms vibrate in bursts. Large values promise larger ones that are rarer, so that the level counts by its square."""
LEVEL_TIME, FIRST_TIME, HELD = 10.0, 0.2, 0.1
"""s of motion: memory of noise and level, and how long their first values count; s, after which what was learnt counts,
since a contact itself teaches nothing."""
SETTLING, FIRST_SETTLING = 9.0, 0.5  # time constants after a restart; s after the start, which teach the noise only
MOVES = 0.01  # of full motion: 0.03 rad/s, three times what the noise of dq looks like
PAUSE, BRIDGED = 0.025, 0.15  # s: a longer step is bridged, but the filters show it for so long: no contact begins
RISEN, LINK_TIME = 1.05, 0.1  # growth of the statistic, and s since the begin, for the link to be named again

# Rows of `memory` (.., n): slow part and its variance, clock, variance of dry friction that has turned, its direction;
# level of the noise in motion and at
# rest. Entries of `clock`: head and count of the delay line, s learnt in motion and at rest.
_M, _P, _U, _V, _TURNED, _MOVING, _RESTING = range(7)
_HEAD, _COUNT, _LEARNT, _SINCE, _EIGHTH, _HELD, _STILL = 0, 1, 2, 4, 5, 10, 11
NOW = 4
"""Places after which noise and level are learnt; two after those that count are those of `HELD` ago."""


@dataclass(frozen=True)
class ContactOptions(PositiveOptions):
    """Options of the contact detector.

    threshold: of the test statistic (sum z^4)^(1/4), z being the departure of each joint's torque in standard
        deviations. A contact begins above it.
    end_threshold: standard deviations; a contact has ended when no joint's departure was above it for `quiet_s`.
    quiet_s: see above.
    longest_s: a contact that lasts longer counts as something that is carried.
    bandwidth_hz: of the two low-pass filters on the external torques.
    max_gap_s: a longer silence, or a longer step back, restarts the filters.
    Raises ArgumentError: a value is not a positive number.
    """

    threshold: float = 6.25
    end_threshold: float = 2.5
    quiet_s: float = 0.1
    longest_s: float = 5.0
    bandwidth_hz: float = 10.0
    max_gap_s: float = 0.5


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact that lasts or has ended.

    start: s, stamp of the sample at which it was detected.
    link: 1..n, on which a force explains the torques best.
    torques: (n,), N m, that it adds to the external torques: at the time of naming the link while it lasts; afterwards
        at the largest test statistic of its first tenth of a second.
    end: s, stamp at which the torques had been back for `quiet_s`; None while it lasts.
    ended_by: "released", "payload", "steady"; empty while it lasts.
    """

    start: float
    link: int
    torques: FloatArray
    end: float | None = None
    ended_by: str = ""

    @property
    def lasts(self) -> bool:
        """Whether it has not ended."""
        return self.end is None


@compiled
def velocity_noise_gain(w, dt):
    """Variance of `VELOCITY_NOISE` after two low-pass filters of pole w, one of them of d/dt p, for an inertia of 1.

    White noise of variance r in each sample has the variance r w^3 dt / 4 after w^2 s / (s + w)^2. Linear
    interpolation between samples reduces it by e^(-w dt): by 2 % from 100 Hz on, by a quarter at 30 Hz.
    """
    return VELOCITY_NOISE * VELOCITY_NOISE * w * w * 0.25 * w * dt * math.exp(-w * dt)


@compiled
def expected_noise(table, q, sigma, w, dt, M, noise):
    """Variance (n,) of the noise of each external torque, in place."""
    n, c = q.shape[0], velocity_noise_gain(w, dt)
    mass_matrix_of_one(table, q, M)
    for i in range(n):
        h = 0.0
        for j in range(n):
            h += M[i, j] * M[i, j]
        noise[i] = (WHITE * DISTURBANCE * sigma[i]) ** 2 + c * h


@compiled
def slow_step(s, dq, turn, noise, known, dt, w, sigma, tau, dry, held, learns, memory, clock, line, e, variance):
    """Departure e and its variance (n,) of external torques s, in place; returns (sum z^4)^(1/4) over its level.

    held: whether a contact lasts, in which the slow part is kept. known: (n,), share of the residual's variance that a
    residual map knows.
    """
    n, square, fourth = s.shape[0], 0.0, 0.0
    for i in range(n):
        square += dq[i] * dq[i]
    motion = min(1.0, square / FULL_SPEED**2)  # squared: the noise of dq is none
    was_still = clock[_STILL] >= BRIDGED  # before, the filters still show the motion
    clock[_STILL] = 0.0 if motion > MOVES else clock[_STILL] + dt
    level = _RESTING if clock[_STILL] >= BRIDGED else _MOVING
    stops = level == _RESTING and not was_still
    slots = line.shape[0]
    head, count = int(clock[_HEAD]), int(clock[_COUNT])
    for i in range(n):
        over = max(abs(turn[i] - memory[_TURNED, i]) - TURN_PLAY, 0.0)
        memory[_TURNED, i] += over if turn[i] > memory[_TURNED, i] else -over
        u, turned = dt * motion / tau[i], (TURN * dry[i]) ** 2 * over
        memory[_U, i] += u
        if stops:  # what is noise in motion stays what it is
            turned += max(memory[_MOVING, i] - memory[_RESTING, i], 0.0) * noise[i]
        memory[_V, i] += turned
        size = (1.0 - known[i] + known[i] * DRIFT * DRIFT) * sigma[i] * sigma[i]
        memory[_P, i] += size * (1.0 - math.exp(-2.0 * u)) + turned
        r = memory[level, i] * noise[i]
        before, P, passed = memory[_M, i], memory[_P, i], 0.0
        if count > 0 and not held:
            before, passed = line[head, _M, i], memory[_U, i] - line[head, _U, i]
            P = line[head, _P, i] + memory[_V, i] - line[head, _V, i]
        e[i] = s[i] - before
        variance[i] = P + size * (1.0 - math.exp(-2.0 * passed)) + r
        fourth += (e[i] * e[i] / variance[i]) ** 2
        if not held:
            now = s[i] - memory[_M, i]
            if learns:
                seen = max(min(e[i] * e[i], OUTLIER * variance[i]) - (variance[i] - r), 0.0) / noise[i]
                learnt = min(LEVEL_TIME, FIRST_TIME + clock[_LEARNT + level - _MOVING])
                memory[level + NOW, i] += (1.0 - math.exp(-dt / learnt)) * (seen - memory[level + NOW, i])
            K = memory[_P, i] / (memory[_P, i] + r * max(1.0, 2.0 / (w * dt)))  # neighbours share the filters' noise
            memory[_M, i] += K * now
            memory[_P, i] *= 1.0 - K
    if not held:
        clock[_LEARNT + level - _MOVING] += dt if learns else 0.0
        clock[_SINCE] += dt
        if clock[_SINCE] >= LAG / slots or count == 0:
            clock[_SINCE] = 0.0
            if count == slots:
                head, count = (head + 1) % slots, count - 1
            for row in range(_V + 1):
                for i in range(n):
                    line[(head + count) % slots, row, i] = memory[row, i]
            clock[_HEAD], clock[_COUNT] = head, count + 1
    if learns:
        if level == _MOVING:
            new = 1.0 - math.exp(-dt / min(LEVEL_TIME, FIRST_TIME + clock[_LEARNT]))
            clock[_EIGHTH + NOW] += new * (min(fourth * fourth, LOUDEST**8 * clock[_EIGHTH]) - clock[_EIGHTH + NOW])
        clock[_HELD] += dt
        if clock[_HELD] >= HELD:  # what was learnt a moment ago counts now
            clock[_HELD] = 0.0
            clock[_EIGHTH], clock[_EIGHTH + 2] = clock[_EIGHTH + 2], clock[_EIGHTH + NOW]
            for i in range(n):
                for row in (_MOVING, _RESTING):
                    memory[row, i], memory[row + 2, i] = memory[row + 2, i], memory[row + NOW, i]
    if level == _RESTING:
        return math.sqrt(math.sqrt(fourth))
    return math.sqrt(math.sqrt(fourth)) / max(1.0, math.sqrt(math.sqrt(clock[_EIGHTH])) / QUIET**2)


@compiled
def quiet_rows(
    q, dq, turn, momentum, bias, unexplained, steps, before, table, w, weights, threshold, sigma, tau, dry,
    first, direct, second, middle, memory, clock, line, e, variance,
):  # fmt: skip
    """Follow N samples up to the first whose statistic is above `threshold`, or that comes after a pause or a gap.

    before: s, step before the first. How many samples, the statistic, and the s that they took.
    """
    n, ratio, total = q.shape[1], 0.0, 0.0
    external, known, M, noise = scratch(n), scratch(n), scratch((n, n)), scratch(n)
    for k in range(steps.shape[0]):
        if steps[k] <= 0.0 or (steps[k] > PAUSE and steps[k] > 3.0 * before):
            return k, ratio, total
        before = steps[k]
        total += before
        filter_step(momentum[k], bias[k], w, steps[k], first, direct, second, middle)
        external_of(second, weights, external)
        expected_noise(table, q[k], sigma, w, steps[k], M, noise)
        for i in range(n):
            known[i] = 1.0 - unexplained[k, i]
        step = slow_step(
            external, dq[k], turn[k], noise, known, steps[k], w, sigma, tau, dry, False, True, memory, clock, line, e,
            variance,
        )  # fmt: skip
        ratio = max(ratio, step)
        if step > threshold:
            return k + 1, ratio, total
    return steps.shape[0], ratio, total


@compiled
def external_of(filtered, weights, external):
    """Y theta - y of [Y | y] (n, 11) and weights (theta, -1), in place."""
    for i in range(filtered.shape[0]):
        external[i] = 0.0
        for k in range(filtered.shape[1]):
            external[i] += weights[k] * filtered[i, k]


class ContactDetector:
    """Detects contacts of one arm.

    robot: the arm with all that it always carries, its friction and its residual model.
    options: see `ContactOptions`, as keyword arguments.
    Raises ArgumentError: an option is unknown or not positive.
    """

    def __init__(self, robot: RobotDescription, **options: float) -> None:
        self.options, self._robot, n = ContactOptions.of(options), robot, robot.n
        self._terms, self._validator = ArmTerms(robot), SampleValidator(robot, self.options.max_gap_s)
        self._regression, self._links = MomentumRegression(n, self.options.bandwidth_hz), LinkEvidence(robot)
        self._sigma = robot.residual.std.copy()
        dry = self._terms.model.friction[:, 1]
        self._dry = np.where(dry == 0.0, DRY, dry)
        self._tau, self._table = CORRELATION * robot.residual.correlation_time, robot.table
        self._memory, self._line, self._clock = (
            np.zeros((_RESTING + NOW + 1, n)),
            np.zeros((SLOTS, _V + 1, n)),
            np.zeros(_STILL + 1),
        )
        self._memory[_MOVING:], self._clock[_EIGHTH : _EIGHTH + NOW + 1] = 1.0, FIRST_LEVEL**8
        self._weights = np.append(np.zeros(PARAMETERS), -1.0)
        self._payload_before, self._torques = np.zeros(PARAMETERS), np.zeros(n)
        self._e, self._variance, self._external = np.zeros(n), np.ones(n), np.zeros(n)
        self._M, self._noise = np.empty((n, n)), np.empty(n)
        self._stamp = self._last_loud = self._paused_at = -math.inf
        self._named_at, self._settled, self._started, self._step = 0.0, False, False, math.inf
        self.contact: Contact | None = None
        """The last contact, which may last; None where there was none."""
        self.ratio = 0.0
        """Test statistic of the last sample, or the largest of a block without a contact; compared with `threshold`."""
        self.largest_ratio = 0.0
        """The largest since the start without a contact."""

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, count `payload` (flange frame) as part of the arm; zero mass stands for none.

        A known payload is not a contact. A contact that ends with this call was the payload being picked up or put
        down.
        """
        self.carry_vector(payload.vector)

    def carry_vector(self, vector: FloatArray) -> None:
        """`carry` with an inertial vector (10,)."""
        change = vector - self._weights[:PARAMETERS]
        self._weights[:PARAMETERS] = vector
        if self._lasting is None:
            self._shift(self._regression.filtered[:, :PARAMETERS] @ change)

    def change_arm(self, momentum: FloatArray, bias: FloatArray) -> None:
        """Go on as if the arm's terms had always been larger by these (n,): a better model is no contact."""
        self._regression.change_arm(momentum, bias)
        self._shift(-bias)

    def _shift(self, change: FloatArray) -> None:
        """The external torques change by `change` (n,), N m, for a known reason."""
        self._memory[_M] += change
        self._line[:, _M] += change

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Contact | None:
        """The contact that lasts after one more sample, or None.

        stamp: s. A stamp that repeats, or steps back a little, is ignored.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.
        Raises ArgumentError: an argument is not finite, or not of shape (n,). The detector is as it was before.
        """
        q, dq, tau = link_side_sample(self._robot, q, dq, tau)
        block = np.array([checks.number(stamp, "stamp")]), q[None], dq[None], tau[None]
        kept, steps = self._validator.select(*block)
        if kept.size:
            self.follow(self._terms.rows(*block), steps)
        return self._lasting

    def follow(self, rows: Rows, steps: FloatArray) -> list[tuple[int, Contact]]:
        """Follow N samples, `steps` (N,) s apart (0: restart); each change of `contact`, with its sample's index."""
        changes, k = [], 0
        while k < len(steps):
            before, count = self.contact, 0
            if self._settled and self._lasting is None and rows.stamp[k] - self._paused_at > BRIDGED:
                count = self._follow_quiet(rows, steps, k)
            if count == 0:
                self._follow_one(rows, steps, k)
            k += max(count, 1)
            if self.contact is not before and self.contact is not None:
                changes.append((k - 1, self.contact))
        return changes

    def _follow_quiet(self, rows: Rows, steps: FloatArray, first: int) -> int:
        """Follow samples from `first` on up to a pause, a gap or the begin of a contact; how many."""
        part = slice(first, len(steps))
        count, ratio, total = quiet_rows(
            rows.q[part], rows.dq[part], rows.s[part], rows.momentum[part], rows.bias[part], rows.unexplained[part],
            steps[part], self._step, self._table, self._regression.pole, self._weights, self.options.threshold,
            self._sigma, self._tau, self._dry, *self._regression.arrays, self._memory, self._clock, self._line, self._e,
            self._variance,
        )  # fmt: skip
        if not count:
            return 0
        self.ratio, last = ratio, first + count - 1
        self._regression.age += total
        self._stamp, self._step = float(rows.stamp[last]), float(steps[last])
        if self.ratio > self.options.threshold:
            self.begin(self._stamp, rows.q[last])
        else:
            self.largest_ratio = max(self.largest_ratio, ratio)
        return int(count)

    def _follow_one(self, rows: Rows, steps: FloatArray, k: int) -> None:
        dt, stamp = float(steps[k]), float(rows.stamp[k])
        if dt <= 0.0:
            self._settled = False
        if dt > PAUSE and dt > 3.0 * self._step:
            self._paused_at = stamp
        self._stamp, self._step = stamp, dt or self._step
        filtered = self._regression.step(dt, rows.momentum[k], rows.bias[k])
        external_of(filtered, self._weights, self._external)
        if not self._settled:
            self._settle(stamp)
            return
        expected_noise(self._table, rows.q[k], self._sigma, self._regression.pole, dt, self._M, self._noise)
        lasting = self._lasting
        self.ratio = slow_step(
            self._external, rows.dq[k], rows.s[k], self._noise, 1.0 - rows.unexplained[k], dt, self._regression.pole,
            self._sigma, self._tau, self._dry, lasting is not None, False, self._memory, self._clock, self._line,
            self._e, self._variance,
        )  # fmt: skip
        if lasting is not None:
            self._follow_contact(lasting, stamp, rows.q[k])

    @property
    def _lasting(self) -> Contact | None:
        return self.contact if self.contact is not None and self.contact.lasts else None

    def _settle(self, stamp: float) -> None:
        """Wait until the transient of the filters has died out; a contact that lasted before counts as ended."""
        if self._lasting is not None:
            self._end(self._lasting, stamp, RELEASED)
        self._settled = self._regression.age > (SETTLING / self._regression.pole if self._started else FIRST_SETTLING)
        self._started |= self._settled
        self._resume()

    def _resume(self) -> None:
        """Expect the torques of now."""
        self._memory[_M] = self._external
        self._memory[_P] = np.minimum(self._memory[_P], self._sigma**2)
        self._clock[_COUNT] = 0.0

    def begin(self, stamp: float, q: FloatArray) -> None:
        """A contact begins; q (n,), rad. What was expected a moment ago is expected until it ends."""
        if self._lasting is not None or not self._settled:
            return
        if self._clock[_COUNT]:
            self._memory[: _V + 1] = self._line[int(self._clock[_HEAD])]
        self._last_loud, self._payload_before = stamp, self._weights[:PARAMETERS].copy()
        self.contact = Contact(stamp, self._name_link(q), self._torques)

    def _follow_contact(self, contact: Contact, stamp: float, q: FloatArray) -> None:
        may_rise = stamp - contact.start <= LINK_TIME and self.ratio > RISEN * self._named_at
        if may_rise and (link := self._name_link(q)) != contact.link:
            self.contact = contact = replace(contact, link=link, torques=self._torques)
        z = np.abs(self._e) / np.sqrt(self._variance)
        if float(z.max()) > self.options.end_threshold:
            self._last_loud = stamp
        if stamp - self._last_loud > self.options.quiet_s:
            self._end(contact, stamp, PAYLOAD if self._payload_explains() else RELEASED)
        elif stamp - contact.start > self.options.longest_s:
            self._end(contact, stamp, STEADY)

    def _end(self, contact: Contact, stamp: float, ended_by: str) -> None:
        self.contact = replace(contact, torques=self._torques, end=stamp, ended_by=ended_by)
        self._resume()

    def _payload_explains(self) -> bool:
        """Whether the change of the payload since the contact began exceeds the contact's end threshold."""
        change = self._regression.filtered[:, :PARAMETERS] @ (self._weights[:PARAMETERS] - self._payload_before)
        return bool((np.abs(change) > self.options.end_threshold * np.sqrt(self._variance)).any())

    def _name_link(self, q: FloatArray) -> int:
        """The link that the present departures indicate; keeps them as the contact's torques."""
        self._named_at, self._torques = self.ratio, self._e.copy()
        return self._links.link(q, self._torques, np.sqrt(self._variance))
