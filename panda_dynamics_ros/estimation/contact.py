# SPDX-License-Identifier: Apache-2.0
"""Contacts: when something touches the arm, on which link, and until when.

Detection, isolation and identification as in Haddadin, De Luca, Albu-Schaeffer, "Robot Collisions: A Survey on
Detection, Isolation, and Identification", IEEE T-RO 33(6), 2017. The external torques, at 10 Hz, are those of
`arm_model`: a slow part that moves with the arm and where its dry friction turns, and noise. The slow part is followed
by one scalar Kalman filter per joint, and a contact begins where the torque departs from what that filter expected a
moment ago. While the arm stands the slow part does not move: a push that rises within a second shows as well as a blow.
The noise is that of the torque, of which a slow stream leaves more below 10 Hz (it folds what is faster), and of the
measured velocity, whose effect on joint i grows with h_i = sum_j M_ij^2, M with the payload; its level is learnt in
motion and at rest, and in motion it is at least that at rest. Late torques are compared with a model that is as late.

`hypotheses` looks at the same torques at 3 Hz, which tells a contact from a payload; `ArmMonitor` joins both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled, inner, part
from panda_dynamics_ros.dynamics.mass_matrix import mass_matrix_of_one
from panda_dynamics_ros.estimation import arm_model
from panda_dynamics_ros.estimation.external_torques import touched_link
from panda_dynamics_ros.estimation.kalman_filter import ABSURD
from panda_dynamics_ros.estimation.options import PositiveOptions
from panda_dynamics_ros.estimation.regression import (
    ARM,
    TORQUE,
    UNEXPLAINED,
    FilterState,
    Rows,
    dry_friction,
    filter_step,
    first_order_hold,
)
from panda_dynamics_ros.robot.description import INERTIAL, RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS, inertial_transport
from panda_dynamics_ros.robot.residual_map import DRIFT

RELEASED, PAYLOAD, STEADY = "released", "payload", "steady"
"""How a contact ended: by its release, by a change of the payload that explains it, by lasting for `longest_s`."""
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
SHORTEST = 0.001  # rad, of the way over which the dry friction of a joint turns: 1 to 5 mrad explain the logs alike
MOVES = 0.01  # of full motion: 0.03 rad/s, three times what the noise of dq looks like
PAUSE, BRIDGED = 0.025, 0.15  # s: a longer step is bridged, but the filters show it for so long: no contact begins
END_THRESHOLD, QUIET_TIME, LEFT, RESTS = 2.5, 0.1, 0.35, 0.1
"""Standard deviations that no joint's departure exceeds, and s for which, when a contact has ended. At rest it leaves
friction elsewhere: share of its largest departure that may be left, and by which it changes no more."""
RISEN, LINK_TIME = 1.05, 0.1  # growth of the statistic, and s since the begin, for the link to be named again

FOLLOWED, BEGINS, RISES, IS_BACK, LASTS, GAP = range(6)
"""Why `follow_rows` returns: no more samples; a contact begins, grows, has ended, lasts too long, or meets a gap."""


@dataclass(frozen=True)
class ContactOptions(PositiveOptions):
    """Options of the contact detector.

    threshold: of the test statistic (sum z^4)^(1/4), z being the departure of each joint's torque in standard
        deviations. A contact begins above it.
    longest_s: a contact that lasts longer counts as something that is carried.
    Raises ArgumentError: a value is not a positive number.
    """

    threshold: float = 6.25
    longest_s: float = 5.0


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact that lasts or has ended.

    start: s, stamp of the sample at which it was detected.
    link: 1..n, on which a force explains the torques best.
    torques: (n,), N m, that it adds to the external torques: at the time of naming the link while it lasts; afterwards
        at the largest test statistic of its first tenth of a second.
    end: s, stamp at which the torques had been back for `QUIET_TIME`; None while it lasts.
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
def expected_noise(table, q, sigma, w, dt, density, M, noise):
    """Variance (n,) of the noise of each external torque, in place.

    White noise of the velocity, of variance r in each sample, has the variance r w^3 dt / 4, for an inertia of 1, after
    both low-pass filters of pole w, one of them of d/dt p: w^2 s / (s + w)^2. Linear interpolation between samples
    leaves e^(-w dt) of it. That of the torque, of spectral `density` r dt (n,), has r w dt / 4 after w^2 / (s + w)^2: a
    slow stream folds into it what vibrates faster. Interpolation leaves 92 % at 100 Hz, 64 % at 30 Hz; not counted.
    """
    n, c = q.shape[0], VELOCITY_NOISE**2 * w**3 * 0.25 * dt * math.exp(-w * dt)
    mass_matrix_of_one(table, q, M)
    for i in range(n):
        white = arm_model.WHITE * arm_model.DISTURBANCE * sigma[i]
        noise[i] = white**2 + 0.25 * w * density[i] + c * inner(M[i], M[i])


CLOCK = np.dtype([
    *((name, np.int64) for name in ("absurd", "settled", "started", "lasts", "head", "count", "untouched")),
    *((name, np.float64) for name in ("age", "step", "paused", "since", "held", "still")),
    *((name, np.float64) for name in ("begin", "loud", "statistic", "named", "largest", "strongest", "farthest")),
])  # fmt: skip
"""Whether the filters' output is absurd, so that they start again at the next sample; whether they are settled, have
ever been, and a contact lasts; first place and length of the delay line; s since the filters started, of the last step,
of the last pause, since the last entry of the line, since `HELD` was over and at rest; stamps of the contact's begin
and of its last loud sample; the test statistic now, at the link's naming and its largest without a contact; whether
`Watch.untouched` holds; largest sums of squared departures, in units of the residual, from what is expected in this
contact, and from `untouched`."""


JOINT = np.dtype([
    *((name, np.float64) for name in ("mean", "variance", "moved", "turned", "early", "place")),
    *((name, np.float64) for name in ("torque", "e", "e_variance", "quiet", "untouched")),
])  # fmt: skip
"""mean, variance: of the slow part, N m and its square; moved: its clock. turned: variance, (N m)^2, of dry friction
that has turned. early: direction of one that turns over `SHORTEST`. place: rad, at the last sample. torque: external,
N m, now; e, e_variance: its departure, and the variance of that; quiet: e at the last loud sample. untouched: torque
that was expected before the first contact of an arm that stands, N m."""


class Watch(NamedTuple):
    """What the detector knows, in arrays that change in place.

    joints: (n,), of `JOINT`. clock: (1,), of `CLOCK`. line: (SLOTS, 4, n), the first four of `JOINT` as they have been.
    direction: (2, n), of the dry friction, as modelled and as `early` has it, each with its play.
    noise: (3, 2, n), level of the noise over what is expected, in motion and at rest: what counts, what will count
        after `HELD`, and what is being learnt. loudness: (3,), the same of the eighth power of the statistic.
    learnt: (2,), s of learning, in motion and at rest.
    density: (n,), (N m)^2 s, of the torques' noise; inputs: (2, n), what it is followed with (`follow_density`).
    lags: (2, 2, n), N m, of the expected and the measured torque, as of `lagged`.
    """

    joints: np.ndarray
    clock: np.ndarray
    line: FloatArray
    direction: FloatArray
    noise: FloatArray
    loudness: FloatArray
    learnt: FloatArray
    density: FloatArray
    inputs: FloatArray
    lags: FloatArray

    @classmethod
    def of(cls, n: int) -> Watch:
        """Nothing is known of the arm's noise."""
        joints, clock, (direction, inputs) = np.zeros(n, JOINT), np.zeros(1, CLOCK), np.zeros((2, 2, n))
        joints["e_variance"], clock["step"], clock["paused"] = 1.0, math.inf, -math.inf
        noise, loudness = np.ones((3, 2, n)), np.full(3, FIRST_LEVEL**8)
        known = joints, clock, np.zeros((SLOTS, 4, n)), direction, noise, loudness, np.zeros(2)
        return cls(*known, np.zeros(n), inputs, np.zeros((2, 2, n)))


class Settings(NamedTuple):
    """Pole, rad/s, delay of the torques, s, options; residual and dry friction (n,), N m, correlation time (n,), s."""

    pole: float
    delay: float
    threshold: float
    longest_s: float
    sigma: FloatArray
    dry: FloatArray
    tau: FloatArray


@compiled
def departures(dq, turn, noise, open_, dt, settings, watch, learns):
    """Follow the external torques; returns (sum z^4)^(1/4) over its level, z = e / sqrt(e_variance).

    open_: (n,), share of the residual's variance that a residual map leaves. While a contact lasts, nothing is learnt.
    """
    n, square, fourth, clock = dq.shape[0], 0.0, 0.0, watch.clock[0]
    held = clock.lasts == 1
    for i in range(n):
        square += dq[i] * dq[i]
    motion = min(1.0, square / arm_model.FULL_SPEED**2)  # squared: the noise of dq is none
    was_still = clock.still >= BRIDGED  # before, the filters still show the motion
    clock.still = 0.0 if motion > MOVES else clock.still + dt
    level = 1 if clock.still >= BRIDGED else 0
    if level == 0 and not held:
        clock.untouched = 0
    stops, line = level == 1 and not was_still, watch.line
    for i in range(n):
        joint, overs = watch.joints[i], 0.0
        for k, direction in enumerate((turn[i], joint.early)):
            over = max(abs(direction - watch.direction[k, i]) - arm_model.TURN_PLAY, 0.0)
            watch.direction[k, i] += over if direction > watch.direction[k, i] else -over
            overs += over
        u, turned = dt * motion / settings.tau[i], (arm_model.TURN * settings.dry[i]) ** 2 * overs
        joint.moved += u
        if stops:  # what is noise in motion stays what it is
            turned += max(watch.noise[0, 0, i] - watch.noise[0, 1, i], 0.0) * noise[i]
        joint.turned += turned
        size = (open_[i] + (1.0 - open_[i]) * DRIFT * DRIFT) * settings.sigma[i] * settings.sigma[i]
        joint.variance += size * (1.0 - math.exp(-2.0 * u)) + turned
        r = max(watch.noise[0, level, i], watch.noise[0, 1, i]) * noise[i]  # at least that at rest
        before, P, passed = joint.mean, joint.variance, 0.0
        if clock.count > 0 and not held:
            old = line[clock.head]
            before, passed = old[0, i], joint.moved - old[2, i]
            P = old[1, i] + joint.turned - old[3, i]
        joint.e = joint.torque - before
        joint.e_variance = P + size * (1.0 - math.exp(-2.0 * passed)) + r
        fourth += (joint.e * joint.e / joint.e_variance) ** 2
        if not held:
            if learns:
                seen = min(joint.e * joint.e, arm_model.OUTLIER * joint.e_variance) - (joint.e_variance - r)
                new = 1.0 - math.exp(-dt / min(LEVEL_TIME, FIRST_TIME + watch.learnt[level]))
                watch.noise[2, level, i] += new * (max(seen, 0.0) / noise[i] - watch.noise[2, level, i])
            # Neighbours share the filters' noise.
            K = joint.variance / (joint.variance + r * max(1.0, 2.0 / (settings.pole * dt)))
            joint.mean += K * (joint.torque - joint.mean)
            joint.variance *= 1.0 - K
    if not held:
        clock.since += dt
        if clock.since >= LAG / SLOTS or clock.count == 0:
            clock.since = 0.0
            if clock.count == SLOTS:
                clock.head, clock.count = (clock.head + 1) % SLOTS, clock.count - 1
            last = line[(clock.head + clock.count) % SLOTS]
            for i in range(n):
                joint = watch.joints[i]
                last[0, i], last[1, i], last[2, i], last[3, i] = joint.mean, joint.variance, joint.moved, joint.turned
            clock.count += 1
    if learns:
        watch.learnt[level] += dt
        if level == 0:
            new = 1.0 - math.exp(-dt / min(LEVEL_TIME, FIRST_TIME + watch.learnt[0]))
            seen = min(fourth * fourth, LOUDEST**8 * watch.loudness[0])
            watch.loudness[2] += new * (seen - watch.loudness[2])
        clock.held += dt
        if clock.held >= HELD:  # what was learnt a moment ago counts now
            clock.held = 0.0
            for k in range(2):
                watch.loudness[k] = watch.loudness[k + 1]
                for i in range(n):
                    watch.noise[k, 0, i], watch.noise[k, 1, i] = watch.noise[k + 1, 0, i], watch.noise[k + 1, 1, i]
    loudness = 0.0 if level == 1 else watch.loudness[0]
    return math.sqrt(math.sqrt(fourth)) / max(1.0, math.sqrt(math.sqrt(loudness)) / QUIET**2)


@part
def resume(sigma, watch):
    """Expect the torques of now, in place."""
    for i in range(sigma.shape[0]):
        joint = watch.joints[i]
        joint["mean"], joint["variance"] = joint["torque"], min(joint["variance"], sigma[i] ** 2)
    watch.clock[0]["count"] = 0


@compiled
def is_loud(sigma, watch):
    """Whether something still touches the arm."""
    clock, off, change, now, left = watch.clock[0], False, 0.0, 0.0, 0.0
    for i in range(sigma.shape[0]):
        joint = watch.joints[i]
        off |= joint.e**2 > END_THRESHOLD**2 * joint.e_variance
        change += ((joint.e - joint.quiet) / sigma[i]) ** 2
        now += (joint.e / sigma[i]) ** 2
        left += ((joint.torque - joint.untouched) / sigma[i]) ** 2
    clock.strongest, clock.farthest = max(clock.strongest, now), max(clock.farthest, left)
    is_back = now <= LEFT**2 * clock.strongest or left <= LEFT**2 * clock.farthest
    loud = off and not (is_back and clock.still >= BRIDGED and change <= RESTS**2 * clock.strongest)
    for joint in watch.joints:
        joint.quiet = joint.e if loud else joint.quiet
    return loud


@part
def lagged(torque, hold, lag, i):
    """A torque behind a low-pass with the coefficients `hold`; `lag` (2, n), its output and its input, follows."""
    a, b0, b1 = hold
    lag[0, i], lag[1, i] = a * lag[0, i] + b0 * torque + b1 * lag[1, i], torque
    return lag[0, i]


@compiled
def follow_rows(table, rows, steps, first, settings, weights, filters, watch, external):
    """Follow N samples from `first` on up to one at which something has to be decided: its index, and what.

    `steps` (N,): s before each sample, 0 to restart. External torques are y of `weights` (theta, -1): `external`
    (N, n) after one low-pass filter, and those that are watched after both.
    """
    n, clock = rows.q.shape[1], watch.clock[0]
    M, noise, step = np.empty((n, n)), np.empty(n), np.empty(1)
    for k in range(first, steps.shape[0]):
        q, dq, stamp = rows.q[k], rows.dq[k], rows.stamp[k]
        dt = 0.0 if clock.absurd == 1 else steps[k]
        clock.absurd = 0
        filter_step(rows.momentum[k], rows.bias[k], settings.pole, first_order_hold(settings.pole, dt), filters)
        late = first_order_hold(1.0 / max(settings.delay, 1e-9), dt)  # where nothing is late, nothing lags
        early = first_order_hold(1.0 / max(-settings.delay, 1e-9), dt)
        for i in range(n):
            joint, torque = watch.joints[i], 0.0
            way, joint.place = q[i] - joint.place, q[i]
            clock.still = clock.still if dt > 0.0 or abs(way) < SHORTEST else 0.0  # moved in a gap
            joint.early = min(max(joint.early + way / SHORTEST, -1.0), 1.0)
            external[k, i] = 0.0
            watch.density[i] = watch.density[i] if dt > 0.0 else 0.0
            for c in range(ARM + 1):
                external[k, i] += weights[c] * filters.middle[i, c]
                torque += weights[c] * filters.second[i, c]
            if not abs(external[k, i]) < ABSURD:
                clock.absurd = 1
            measured = filters.second[i, TORQUE]
            torque = lagged(torque + measured, late, watch.lags[0], i)
            joint.torque = torque - lagged(measured, early, watch.lags[1], i)
        if dt > PAUSE and dt > 3.0 * clock.step:
            clock.paused = stamp
        step[0] = dt
        momentum, bias = rows.momentum[k : k + 1], rows.bias[k : k + 1]
        clock.age = arm_model.follow_density(momentum, bias, 0.0, step, clock.age, watch.inputs, watch.density)
        if dt <= 0.0:
            clock.settled = clock.untouched = 0
            clock.paused = -math.inf  # stamps may have jumped back
        else:
            clock.step = dt
        if clock.settled == 0:  # the transient of the filters has not died out
            if clock.age > (SETTLING / settings.pole if clock.started == 1 else FIRST_SETTLING):
                clock.settled = clock.started = 1
            if clock.lasts == 1 and clock.still >= BRIDGED and stamp >= clock.loud:
                clock.loud = stamp  # nobody has seen it end
                continue
            resume(settings.sigma, watch)
            if clock.lasts == 1:
                return k, GAP
            continue
        expected_noise(table, q, settings.sigma, settings.pole, dt, watch.density, M, noise)
        learns = clock.lasts == 0 and stamp - clock.paused > BRIDGED
        open_ = rows.bias[k, :, UNEXPLAINED]
        clock.statistic = departures(dq, rows.s[k], noise, open_, dt, settings, watch, learns)
        if learns:
            if clock.statistic > settings.threshold:
                return k, BEGINS
            clock.largest = max(clock.largest, clock.statistic)
        if clock.lasts == 1:
            if is_loud(settings.sigma, watch):
                clock.loud = stamp
            if stamp - clock.loud > QUIET_TIME:
                return k, IS_BACK
            if stamp - clock.begin > settings.longest_s:
                return k, LASTS
            if stamp - clock.begin <= LINK_TIME and clock.statistic > RISEN * clock.named:
                return k, RISES
    return steps.shape[0] - 1, FOLLOWED


class ContactDetector:
    """The momentum observer of one arm, and the contacts in what it says.

    robot: the arm with all that it always carries, its friction and its residual model.
    bandwidth: Hz, of the low-pass filters on the external torques.
    options: see `ContactOptions`, as keyword arguments.
    Raises ArgumentError: an option is unknown or not positive.
    """

    def __init__(self, robot: RobotDescription, bandwidth: float = 10.0, **options: float) -> None:
        self.options, self._robot, n = ContactOptions.of(options), robot, robot.n
        o, dry, residual = self.options, dry_friction(robot.friction)[:, 1], robot.residual
        pole = 2.0 * math.pi * checks.number(bandwidth, "bandwidth", minimum=1e-3)
        dry, tau = np.where(dry == 0.0, arm_model.DRY, dry), arm_model.CORRELATION * residual.correlation_time
        self._settings = Settings(pole, 0.0, o.threshold, o.longest_s, residual.std.copy(), dry, tau)
        self._filters, self._watch = FilterState.at_rest(n, TORQUE + 1), Watch.of(n)
        self._table, self._to_last = robot.table, inertial_transport(robot.last_joint_frame("flange"))
        self._joints, self._clock = self._watch.joints, self._watch.clock
        self._weights = np.append(np.zeros(PARAMETERS), -1.0)
        self._payload_before, self._torques = np.zeros(PARAMETERS), np.zeros(n)
        self.contact: Contact | None = None
        """The last contact, which may last; None where there was none."""

    def carry(self, vector: FloatArray, delay: float = 0.0) -> None:
        """From the next sample on, count a payload of this inertial vector (10,), in the flange frame, as known.

        delay: s, of the torques behind the positions, as known.
        A known payload is not a contact. A contact that ends with this call was a pick or a release.
        """
        change = vector - self._weights[:PARAMETERS]
        self._weights[:PARAMETERS], self._settings = vector, self._settings._replace(delay=delay)
        table = self._robot.table.copy()
        table[self._robot.n - 1, INERTIAL:] += self._to_last @ vector  # the noise of dq shows in its momentum, too
        self._table = checks.read_only(table)
        known = self._filters.second[:, :PARAMETERS] @ change
        self._joints["untouched"] += known
        self._watch.lags[0] += known
        if not self._clock["lasts"][0]:  # the torques change for a known reason
            self._joints["mean"] += known
            self._watch.line[:, 0] += known

    def follow(self, rows: Rows, steps: FloatArray, first: int = 0) -> tuple[FloatArray, list[tuple[int, Contact]]]:
        """Follow the first N samples of `rows`, from `first` on, `steps` (N,) s apart (0: restart).

        Returns their external torques (N - first, n), and each change of `contact` with its sample's index.
        """
        external, changes, k = np.empty((len(steps), rows.q.shape[1])), [], first
        while k < len(steps):
            before = self.contact
            k, what = follow_rows(
                self._table, rows, steps, k, self._settings, self._weights, self._filters, self._watch, external
            )
            if what != FOLLOWED:
                self._decide(what, float(rows.stamp[k]), rows.q[k])
            if self.contact is not before and self.contact is not None:
                changes.append((k, self.contact))
            k += 1
        return external[first:], changes

    @property
    def largest_ratio(self) -> float:
        """The largest test statistic since the start without a contact; compared with `threshold`."""
        return float(self._clock["largest"][0])

    def begin(self, stamp: float, q: FloatArray) -> None:
        """A contact begins; q (n,), rad. What was expected a moment ago is expected until it ends."""
        if self._clock["lasts"][0] or not self._clock["settled"][0]:
            return
        joints, line = self._joints, self._watch.line
        if self._clock["count"][0]:
            joints["mean"], joints["variance"], joints["moved"], joints["turned"] = line[self._clock["head"][0]]
        self._payload_before = self._weights[:PARAMETERS].copy()
        if not self._clock["untouched"][0]:
            joints["untouched"], self._clock["farthest"] = joints["mean"], 0.0
        self._clock["lasts"], self._clock["begin"], self._clock["loud"] = 1, stamp, stamp
        self._clock["untouched"], self._clock["strongest"] = 1, 0.0
        self.contact = Contact(stamp, self._name_link(q), self._torques)

    def _decide(self, what: int, stamp: float, q: FloatArray) -> None:
        """What becomes of the contact at a sample at which `follow_rows` has stopped."""
        contact = self.contact
        if contact is None or not contact.lasts:
            self.begin(stamp, q)
        elif what == RISES:
            if (link := self._name_link(q)) != contact.link:
                self.contact = replace(contact, link=link, torques=self._torques)
        else:
            # Whether it is the change of the payload since the contact began that has brought the torques back.
            left, explained = (((x / self._settings.sigma) ** 2).sum() for x in (self._joints["e"], self._of_payload))
            is_payload = what == IS_BACK and left <= LEFT**2 * self._clock["strongest"][0] < explained
            ended_by = STEADY if what == LASTS else PAYLOAD if is_payload else RELEASED
            stamp = max(stamp, contact.start)  # they may have jumped back
            self.contact = replace(contact, torques=self._torques, end=stamp, ended_by=ended_by)
            self._clock["lasts"] = 0
            resume(self._settings.sigma, self._watch)

    @property
    def _of_payload(self) -> FloatArray:
        """(n,), N m, of the external torques, that the change of the payload since the contact began has explained."""
        change: FloatArray = self._weights[:PARAMETERS] - self._payload_before
        return self._filters.second[:, :PARAMETERS] @ change

    def _name_link(self, q: FloatArray) -> int:
        """The link that the present departures indicate; keeps them as the contact's torques.

        What a payload is thought to explain meanwhile is the contact's until it ends.
        """
        self._clock["named"], self._torques = self._clock["statistic"], self._joints["e"] - self._of_payload
        return touched_link(self._robot, q, self._torques, np.sqrt(self._joints["e_variance"]))
