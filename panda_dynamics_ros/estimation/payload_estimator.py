# SPDX-License-Identifier: Apache-2.0
"""The payload estimator: mass, centre of mass and inertia from joint torques, block of samples by block.

A block passes these calls; a single sample is a block of one row:

    SampleValidator.select      which samples are used (`validation`)
    ArmTerms.rows               momentum and bias of arm and payload (`regression`)
    MomentumRegression.rows     low-pass filters: Y, y
    ErrorColumns.step           A, every `update_period_s` (`arm_model`)
    predict, correct, fade      the state (`kalman_filter`)
    ChangeDetector              what has happened (`hypotheses`)
    published_estimate          a body that can exist (`publication`)
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kinematics import jacobian
from panda_dynamics_ros.dynamics.newton_euler import link_side_sample
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import arm_model, hypotheses
from panda_dynamics_ros.estimation.arm_model import ArmErrors, ErrorColumns, MotionClock, Noise
from panda_dynamics_ros.estimation.estimate import (
    CHANGED,
    ESTIMATING,
    NORMAL_95,
    SETTLING,
    STANDSTILL,
    TOUCHED,
    UNDECIDED,
    WAITING,
    ArmMemory,
    ChangeEvent,
    PayloadEstimate,
    PayloadMemory,
)
from panda_dynamics_ros.estimation.external_torques import force_covariance
from panda_dynamics_ros.estimation.hypotheses import CONTACT, LOAD, PICK, RELEASE, SHIFT, Change, ChangeDetector
from panda_dynamics_ros.estimation.kalman_filter import ABSURD, THETA, GaussianState, correct, fade, predict
from panda_dynamics_ros.estimation.options import EstimatorOptions, Shape, shape_problem
from panda_dynamics_ros.estimation.plausibility import PlausibilityCheck
from panda_dynamics_ros.estimation.publication import ConsistentBody, identifiable, published_estimate
from panda_dynamics_ros.estimation.regression import ARM, TORQUE, UNEXPLAINED, ArmTerms, MomentumRegression, Rows
from panda_dynamics_ros.estimation.validation import STAMP_RESOLUTION, SampleCounts, SampleValidator, without_gaps
from panda_dynamics_ros.robot.description import RobotDescription, require_robot
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.libfranka_state import FrankaState

FLOW, ONE_CHANGE = 1.0, 1.0  # s: what does not come at once may become anything; changes of a kind are one event
RISE, DECIDED = 0.05, 0.15  # s after the onset: a payload beyond doubt is told; so is a contact, or a load
CONSISTENT = 3.0  # sigmas of the chi square of the torque that is what was expected before a touch


@dataclass
class _Happening:
    """The last change of the payload that was adopted.

    mass: kg, after it. untouched: the state without it, while it may be a steady push. possible: log probability of
    such a payload, by what is known. evidence: log Bayes factor of a payload against a push, of the motion since.
    """

    kind: str
    onset: float
    mass: float
    untouched: GaussianState | None = None
    possible: float = 0.0
    evidence: float = 0.0


@dataclass
class _Touch:
    """Somebody has touched the arm since `onset`.

    untouched, loaded: the states without it, and if the payload had changed instead. back: s for which the torque is
    what is expected without it. lead, evidence: log Bayes factor of the second, now and so far. time: s, so far. level:
    (n,), standard deviation of the hand's torques over that of the disturbance.
    """

    onset: float
    untouched: GaussianState
    loaded: GaussianState
    back: float = 0.0
    evidence: float = 0.0
    lead: float = -math.inf
    time: float = 0.0
    level: FloatArray | float = arm_model.TOUCH


class PastChange(NamedTuple):
    """A change of the payload at its onset, s. is_clear: whether it was, when it was found."""

    onset: float
    is_clear: bool


class _Row(NamedTuple):
    """The measurement of one update: y = Y theta + d + A phi + e = H x + e, with e of `variance` (n,)."""

    H: FloatArray
    y: FloatArray
    variance: FloatArray

    def departure(self, state: GaussianState, std: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """By how much y departs from what `state` expects, (n,), and its covariance; `std` (n,) is added to it."""
        H, k = self.H, slice(0, self.H.shape[1])
        return self.y - H @ state.mean[k], H @ state.covariance[k, k] @ H.T + np.diag(self.variance + std**2)

    def surprise(self, state: GaussianState, std: FloatArray | float) -> float:
        """Chi square, of n degrees of freedom, of y given `state`; see `departure`."""
        nu, S = self.departure(state, std)
        return float(nu @ np.linalg.solve(S, nu))


class PayloadEstimator:
    """Kalman filter for the payload of one arm and for what the arm's description has wrong.

    robot: the arm without the payload, with its friction and its residual model.
    shape: of the payloads, if known: it gives their inertia. A `Shape`, or "box 0.1 0.05 0.2" (m, along flange axes).
    options: see `EstimatorOptions`, as keyword arguments.
    Raises ArgumentError: `robot` is not a robot, an option is unknown or not positive, or the shape is malformed.

    estimate: after the last sample.
    residual: (n,), N m, what neither description nor payload explain, at the last update; nan while the filters settle.
    delay: s, by which the torques are behind the positions, as known before what happens now.
    """

    def __init__(self, robot: RobotDescription, *, shape: Shape | str | None = None, **options: float) -> None:
        self.robot, self.options = require_robot(robot), EstimatorOptions.of(options, "shape")
        o, n = self.options, robot.n
        self.shape, self._period = Shape.of(shape), o.update_period_s - STAMP_RESOLUTION
        self.regression = MomentumRegression(n, o.bandwidth_hz)
        self._errors = ErrorColumns(robot, self.regression.pole, o.arm_error_ratio)
        self._noise, self._clock = Noise(robot, o.update_period_s), MotionClock(n)
        self._d = slice(PARAMETERS, PARAMETERS + n)
        self._phi = slice(PARAMETERS + n, PARAMETERS + n + self._errors.size)
        self._reference = slice(self._phi.stop, self._phi.stop + PARAMETERS)  # what counts as no payload, once tared
        place, sigma = self._errors.common_gain
        self._gain = self._phi.start + place, sigma
        self._missing = 0.0 if np.allclose(robot.T_flange_ee, np.eye(4)) else hypotheses.TAKEN_OFF
        self._nothing = hypotheses.NOTHING / o.mass_std * o.prior_std
        self.keeps_past = False
        """Whether the payload before each change stays in the state (`smoother`), with `changes` and `motion`."""
        self._settled = hypotheses.SETTLED * np.hypot(robot.residual.std, self._errors.dry)
        self._consistent = n + CONSISTENT * math.sqrt(2.0 * n)
        known = robot.residual.std, self._settled, o.prior_std, o.max_mass, self._errors.size
        self._detector = ChangeDetector(*known, self._force)
        self._terms, self._has_map = ArmTerms(robot), robot.residual_map is not None
        self.reset()

    def reset(self) -> None:
        """Start again: the payload is unknown, and nothing is tared."""
        self.validator, self._tared = SampleValidator(self.robot, self.options.max_gap_s), False
        self._plausibility = PlausibilityCheck(self.robot, self.options)
        self._stamp = -math.inf
        self._forget_all()
        self.estimate = self._published(WAITING)

    def _forget_all(self) -> None:
        self._noise.restart()
        self._clock.restart()
        self._state = GaussianState.prior(self.options.prior_std, self._noise.std, self._errors.size)
        self._body = ConsistentBody()
        self._touch: _Touch | None = None
        self._detector.has_released = False
        self._flow_end = -math.inf
        self._since_fade = self.delay = 0.0
        self._last: _Happening | None = None
        self._found, self._found_at, self._told = "", -math.inf, ""
        self._seen: tuple[Change | None, GaussianState] = (None, self._state)
        self.changes: list[PastChange] = []
        self.motion: list[tuple[float, float]] = []  # stamp of each update, s, and s in motion since the one before
        self._resumed = self._unseen_since = -math.inf
        self._restart_filters()

    def _restart_filters(self, stands: bool = False, gap: float = 0.0) -> None:
        """Start the filters again, after a gap, s; what is known stays. stands: whether the arm does."""
        self.regression.restart(stands)
        self.residual = np.full(self.robot.n, math.nan)
        self._detector.restart(after_gap=gap)
        self._updated = -math.inf

    def tare(self) -> None:
        """Count the present payload as none; later ones are relative to it, and what is unknown of it is in none."""
        self._state = self._referred(self.final_state())
        if (touch := self._touch) is not None:
            before = slice(len(touch.loaded.mean) - PARAMETERS, len(touch.loaded.mean))
            touch.untouched = self._referred(touch.untouched)
            touch.loaded = touch.loaded.of(slice(0, self._phi.stop), before, before)
        self._tared, self._last = True, None
        self._detector.restart()
        self.estimate = self._published(self.estimate.status)

    def _referred(self, state: GaussianState) -> GaussianState:
        """The state with its payload as the reference, from which it differs by nothing, and the least of the past."""
        base, _ = self._least(state)
        referred = state.of(slice(0, self._phi.stop), THETA, *([base] if base.start > 0 else []))
        referred.variance[THETA] += self._nothing**2
        return referred

    def _refer_to(self, tare: FloatArray, covariance: FloatArray) -> None:
        """Count a vector, (10,) and its covariance, as none: the payload that is known so far comes on top of it."""
        self._state, self._tared = self._state.of(slice(0, self._phi.stop), THETA), True
        k, P = self._reference, self._state.covariance
        self._state.mean[k], P[k], P[:, k] = tare, 0.0, 0.0
        self._state.mean[THETA] += tare
        P[THETA, THETA] += covariance
        P[k, k] = P[THETA, k] = P[k, THETA] = covariance
        self._detector.restart()

    def restore(self, memory: PayloadMemory) -> None:
        """Start again from what another estimator knew.

        The disturbance starts from its prior, and so does what is known of the arm, unless `memory.arm` brings it.

        Raises ArgumentError: `memory.arm` belongs to another arm.
        """
        arm, size = memory.arm, PARAMETERS + self._errors.size
        tared = bool(memory.tare.any()) or (arm is not None and len(arm.mean) == size + PARAMETERS)
        size += PARAMETERS * tared
        if arm is not None and (len(arm.mean), len(arm.noise_ratio)) != (size, self.robot.n):
            raise ArgumentError(
                f"memory.arm: expected {size} entries for the {self.robot.n} joints of {self.robot.name}, got "
                f"{len(arm.mean)} for {len(arm.noise_ratio)}: it was saved with another robot or end effector"
            )
        self.reset()
        self._stamp = memory.stamp
        payload, P, (k, sigma) = memory.vector, self._state.covariance, self._gain
        self._state.mean[THETA], P[THETA, THETA] = payload, memory.covariance + sigma**2 * np.outer(payload, payload)
        P[THETA, k] = P[k, THETA] = sigma * payload  # as the torques of an unknown gain show it
        if tared:
            self._refer_to(memory.tare, memory.covariance)
        if arm is not None:
            known = np.r_[THETA, self._phi.start : self._first]
            self._state.mean[known], self._state.covariance[np.ix_(known, known)] = arm.mean, arm.covariance
            if tared:
                self._state.mean[self._reference] = memory.tare
            self._noise.ratio = arm.noise_ratio.copy()
        self.estimate = self._published(WAITING)

    @property
    def memory(self) -> PayloadMemory:
        """What `restore` needs to continue from here, in another process or on another day."""
        state, known = self._present, np.r_[THETA, self._phi.start : self._first]
        if not self._tared or self._least(state)[0].start >= self._first:  # else `restore` finds the same least again
            state = self._with_base(state, self._least(state))
        P = state.covariance[np.ix_(known, known)]  # rounding in `correct` is not symmetric
        arm = ArmMemory(state.mean[known], 0.5 * (P + P.T), self._noise.ratio)
        payload = self.carried(self._present)
        tare = state.mean[self._reference] if self._tared else np.zeros(PARAMETERS)
        covariance = 0.5 * (payload.covariance + payload.covariance.T)
        return PayloadMemory(payload.mean, covariance, tare, arm, self.estimate.stamp)

    @property
    def arm_errors(self) -> ArmErrors:
        """What the arm's description has wrong, as learnt so far."""
        state = self._with_base(self._present, self._least(self._present))
        return self._errors.errors(state.mean[self._phi], state.variance[self._phi])

    @property
    def error_torques(self) -> FloatArray:
        """(n,), N m, filtered, of what the filter knows beside the description and the published payload."""
        beside = self._present.mean[THETA] - self.estimate.vector
        return self._errors.A @ self._present.mean[self._phi] + self.regression.filtered[:, :ARM] @ beside

    @property
    def raw_mass(self) -> float:
        """Mass, kg, of the filter: with its sign, before limits and physical consistency are applied."""
        return float(self.carried(self._present).mean[0])

    def carried(self, state: GaussianState, place: slice = THETA) -> GaussianState:
        """What is carried (10,) where the torques show the payload at `place` in a state: less by the common gain.

        It is relative to the tare, or to the least of the past if less than nothing: a described part is not mounted.
        """
        (k, sigma), (base, empty) = self._gain, (least := self._least(state))
        may_miss = self._missing > 0.0 and base.start > 0
        is_missing = may_miss and empty < 0.5 and state.mean[base.start] < 0.0
        relative = [self._reference] if self._tared else [base] if is_missing else []
        shown = self._with_base(state, least, place, slice(k, k + 1), *relative)
        payload, slope = shown.mean[THETA], np.zeros((PARAMETERS, len(shown.mean)))
        np.fill_diagonal(slope, 1.0 - sigma * shown.mean[PARAMETERS])
        if relative:
            tare = slice(PARAMETERS + 1, 2 * PARAMETERS + 1)
            payload, slope[:, tare] = payload - shown.mean[tare], -slope[:, THETA]
        slope[:, PARAMETERS] = -sigma * payload
        covariance = slope @ shown.covariance @ slope.T
        if place in relative:  # a payload differs from itself by nothing
            covariance += np.diag(self._nothing**2)
        return GaussianState(slope[0, 0] * payload, covariance)

    def _with_base(self, state: GaussianState, least: tuple[slice, float], *places: slice) -> GaussianState:
        """The state, given that the `_least` of the past may be nothing; with `places`, these entries come first.

        The filter itself uses this only where it is clear, so that the prior counts once.
        """
        base, empty = least
        if empty == 0.0 or state.covariance[base.start, base.start] < hypotheses.NOTHING**2:
            return state.of(*places) if places else state
        if places:  # fewer entries take less time
            state, base = state.of(*places, base), slice(-PARAMETERS, None)
        return state.mixed(state.conditioned(base, self._nothing), empty)

    @property
    def counts(self) -> SampleCounts:
        """How many samples were used, and how many were ignored for which reason."""
        return self.validator.counts

    @property
    def _present(self) -> GaussianState:
        """The state, with the change that is pending, or suspected."""
        pending = self._detector.pending
        change, probability = self._detector.suspected or (pending, 1.0)
        if change is None:
            return self._state
        if change is not self._seen[0]:
            if pending is None:
                adopted = self._state.mixed(self._adopted(change)[0], probability)
            elif pending.kind == CONTACT:
                adopted = pending.state.of(slice(0, len(self._state.mean)))
            else:
                adopted, _ = self._adopted(pending)
            self._seen = change, adopted
        return self._seen[1]

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> PayloadEstimate:
        """The estimate after one more sample.

        stamp: s. A stamp that repeats or steps back a little is ignored and counted, and so is a measurement that
            repeats the last one while the arm moves. A jump back by more than `max_gap_s` restarts the filters.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.
        Raises ArgumentError: an argument is not finite, or not of shape (n,). The estimate is as it was before.
        """
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        self.follow(np.array([checks.number(stamp, "stamp")]), q[None], dq[None], tau[None])
        return self.estimate

    def follow(self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """`update` with N samples that were checked: stamp (N,), and q, dq and tau (N, n), of the links."""
        kept, steps = self.validator.select(stamp, q, dq, tau)
        if len(kept) < len(stamp):
            self.ignore()
            stamp, q, dq, tau = (values[kept] for values in (stamp, q, dq, tau))
        for part in without_gaps(steps):
            own, k = steps[part], 0
            if own[0] <= 0.0:
                self._terms.resume(q[part][0])
            rows = self._terms.rows(stamp[part], q[part], dq[part], tau[part])
            while k < len(own):
                k = self.advance(rows, own, k)

    def update_state(self, state: Any) -> PayloadEstimate:
        """`update` with a libfranka RobotState; see `ArmMonitor.update_state`."""
        return self.update(*FrankaState(state).sample)

    def ignore(self) -> None:
        """A sample was not used: no event happens at it, and the problem may be with the samples."""
        problem = self.validator.problem or self._plausibility.problem
        if self.estimate.event is not None or problem != self.estimate.problem:
            self.estimate = replace(self.estimate, event=None, problem=problem)

    def advance(self, rows: Rows, steps: FloatArray, k: int) -> int:
        """Follow the samples of `rows` from k on, up to the first at which the filter is updated; the index behind it.

        steps: (N,), s before each sample; 0 where the filters have to restart, which only the first may be.
        """
        after_event = self.estimate.event is not None
        if after_event:  # an event is on its own sample only: the next one is a step of its own
            self.estimate = replace(self.estimate, event=None)
        if steps[k] <= 0.0:
            self._resume(float(rows.stamp[k]), rows.q[k], rows.dq[k], rows.s[k])
        end = k + 1
        if end < len(steps) and not after_event:
            end = min(k + 1 + int(np.searchsorted(rows.stamp[k:], self._updated + self._period)), len(steps))
        momentum, bias, own = rows.momentum[k:end], rows.bias[k:end], steps[k:end]
        self.regression.rows(own, momentum, bias)
        self._noise.measure(momentum, bias, self.regression.pole, own)
        self._stamp = float(rows.stamp[end - 1])
        if self._stamp - self._updated >= self._period:
            self._update(rows.q[end - 1], rows.dq[end - 1], rows.s[end - 1], float(steps[end - 1]))
        elif self.validator.problem and not self.estimate.problem:
            self.estimate = replace(self.estimate, problem=self.validator.problem)
        return end

    def _resume(self, stamp: float, q: FloatArray, dq: FloatArray, s: FloatArray) -> None:
        """Go on after a gap: the payload is what it was; the disturbance has changed as far as the arm has moved."""
        self.final_state()
        gap, motion, since = stamp - self._stamp, math.inf, self._stamp
        if is_gap := 0.0 < gap < math.inf:
            motion = max(self._clock.step(q, gap), arm_model.CREEP * gap)
        else:  # stamps begin anew, as where a recording is played in a loop
            self._clock.restart()
            self._touch, self._found_at = None, -math.inf
            since = -math.inf if gap < 0.0 else stamp  # nobody knows how long ago that was
            if self._last is not None:
                self._last.onset = stamp
        is_slow = math.sqrt(float(dq @ dq)) < arm_model.SLOW * arm_model.FULL_SPEED
        stands = is_gap and is_slow and self._updated > -math.inf  # in a restored state the disturbance is unknown
        if not stands or motion > arm_model.SLOW * gap:
            self._flow_end = -math.inf
        decay = self._noise.decay(motion, s)
        self._state = predict(self._state, decay, self._noise.std)
        self._predict_others(decay)
        self._unseen_since, self._resumed = since, stamp
        self._restart_filters(stands, stamp - since)

    def final_state(self) -> GaussianState:
        """The state after the last sample; a change that is pending counts as it looks now."""
        if (pending := self._detector.pending) is not None:
            self._adopt(pending, self._stamp - pending.age)
        else:
            self._state = self._present
        self._detector.restart()
        return self._state

    @property
    def is_in_doubt(self) -> bool:
        """Whether something touches the arm, or a change is not decided: an earlier state may come back."""
        return self._touch is not None or self._untouched is not None or self._detector.pending is not None

    def forget_past(self, count: int) -> None:
        """Leave the first of `changes`, and the payloads before them, out of the state, while nothing is in doubt.

        A change that begins at this moment is found some hundredths of a second later.
        """
        first, end = self._first, len(self._state.mean)
        self._state = self._state.of(slice(0, first), slice(first + PARAMETERS * count, end))
        del self.changes[:count]
        self._detector.restart()

    def _update(self, q: FloatArray, dq: FloatArray, s: FloatArray, step: float) -> None:
        """One step of the filter, and what follows from it."""
        elapsed = self._stamp - self._updated
        dt = elapsed if math.isfinite(elapsed) else self.options.update_period_s
        motion, self._updated = self._clock.step(q, dt), self._stamp
        if self.keeps_past:
            self.motion.append((self._stamp, motion))
        filtered, noise = self.regression.filtered, self._noise
        Y, y, torque = filtered[:, :ARM], filtered[:, ARM], filtered[:, TORQUE]
        if self._has_map:
            noise.enter(filtered[:, UNEXPLAINED].copy())
        self._errors.step(elapsed, (q, dq, s), self.regression.expected(self._present.mean[THETA]), noise.share)
        decay, std, last, touch = noise.decay(max(motion, arm_model.CREEP * dt), s), noise.std, self._last, self._touch
        self._predict_others(decay)
        if touch is not None:
            decay, std = np.full(self.robot.n, math.exp(-dt / arm_model.TOUCH_TIME)), touch.level * std
        state, prior = predict(self._state, decay, std), self.options.prior_std**2
        rate = 0.0  # 1/s, at which the payload becomes an unknown one
        if self._stamp < self._flow_end:
            rate = 1.0 / FLOW
        elif touch is None and self._detector.pending is None:
            rate = self._detector.unnoticed / prior[0]
        state.variance[THETA] += min(rate * dt, 1.0) * np.maximum(prior - state.variance[THETA], 0.0)
        if not self.regression.settled:
            self._state, self.estimate = state, self._published(SETTLING)
            return
        aliased = min(2.0, 2.0 * self.regression.pole * step)  # the filters do not average a slow stream
        self._errors.H[:, THETA] = Y
        row = self._row = _Row(self._errors.H, y, noise.white_variance(dt, aliased))
        corrected, filter_step = correct(state, *row, decay)
        if not float(np.abs(corrected.mean).max()) < ABSURD:
            self.counts.restarts += 1
            tare, covariance, _ = self._state.difference(self._reference, None)
            self._forget_all()
            if self._tared:
                self._refer_to(tare, covariance)
            self.estimate = self._published(SETTLING)
            return
        self._state = corrected
        self._detector.follow(filter_step, self.regression, state, corrected)
        self._q = q
        pending, lead = self._detector.pending, None
        if pending is not None:
            lead = self._lead(row, self._detector.before(pending.reach), std)
        elif touch is None and self._stamp >= self._flow_end:
            self.delay = self._errors.delay(self._detector.before(hypotheses.PASSED).mean[self._phi])
        event = self._changes(lead)
        if self._detector.pending is None:
            self._learn(motion, filter_step.innovation, filter_step.variance)
        if self._touch is not None:
            event = self._look_at_touch(self._touch, dt, row) or event
        elif last is not None and last is self._last and self._detector.pending is None:
            event = self._look_at_doubt(last, row, motion) or event
        self.residual = y - Y @ self._present.mean[THETA]
        pending = self._detector.pending
        is_touched = self._touch is not None or (pending is not None and pending.kind == CONTACT)
        if self._plausibility.update(torque, y, self.residual, motion, is_touched):
            theta, prior_std = self.carried(self._present), self.options.prior_std
            of_shape = shape_problem(self.shape, theta.mean, theta.covariance, prior_std) if self.shape else ""
            shown = theta, self._present, self._present.of(self._least(self._present)[0])
            masses = [(float(each.mean[0]), math.sqrt(each.covariance[0, 0])) for each in shown]
            # The state has entries behind phi once a change was adopted, or something was tared.
            from_start = pending is None and self._touch is None and len(self._state.mean) == self._phi.stop
            self._plausibility.evaluate(masses, from_start, self.arm_errors, of_shape)
        status = ESTIMATING if motion > 0.0 else STANDSTILL
        if event is not None:
            self._body, status = ConsistentBody(), CHANGED
        elif self._is_undecided:
            status = UNDECIDED
        elif self._touch is not None:
            status = TOUCHED
        self.estimate = self._published(status, event)

    def _predict_others(self, decay: FloatArray) -> None:
        """Predict the states that are carried along, without what is in doubt and without a touch."""
        std, last, touch = self._noise.std, self._last, self._touch
        if last is not None and last.untouched is not None:
            last.untouched = predict(last.untouched, decay, std)
        if touch is not None:
            touch.untouched, touch.loaded = (predict(each, decay, std) for each in (touch.untouched, touch.loaded))

    def _learn(self, motion: float, innovation: FloatArray, variance: FloatArray) -> None:
        """Let what is known fade with the motion, and learn the level of the noise."""
        if motion <= 0.0 or self._touch is not None or self._stamp < self._flow_end:
            return
        self._since_fade += motion
        if self._since_fade > 0.1:  # s: it is slow
            o = self.options
            self._state = fade(self._state, self._since_fade, o.memory_s, o.arm_memory_s, o.prior_std, self._phi)
            self._since_fade = 0.0
        self._noise.learn(motion, self._state.mean[self._d], self._state.variance[self._d], innovation, variance)

    def _force(self) -> FloatArray:
        """Covariance of the torques of a force as large as 1 kg is heavy, in any direction, where payloads are."""
        square = float(self.robot.gravity @ self.robot.gravity)
        return square * force_covariance(jacobian(self.robot, self._q), self.options.com_std)

    def _lead(self, row: _Row, before: GaussianState, std: FloatArray) -> float:
        """Log Bayes factor of a payload against a contact since `before`; d may have changed by `std` (n,)."""
        payload, contact = self._detector.present_evidence(*row.departure(before, std), row.H[:, THETA])
        return payload - contact

    def _changes(self, lead: float | None) -> ChangeEvent | None:
        """What has happened, as an event to announce."""
        if self._detector.pending is None:
            self._told = ""
        still = math.inf if self._touch is not None else self._clock.still
        change = self._detector.detect(self._state, still, lead, self._untouched is not None, self._told)
        passed, event = self._detector.passed, None
        if change is not None:
            kind, age, log_odds, onset = change.kind, change.age, self._detector.lead, self._stamp - change.age
            # The less clear the kind is, the longer it is looked at; what has had another kind, as long as a touch.
            seen = min(age, self._detector.shown)
            least = RISE * hypotheses.SURE if seen == age else hypotheses.PASSED * hypotheses.CLEAR
            is_due = seen >= hypotheses.PASSED or (seen >= RISE and seen * abs(log_odds) >= least)
            if kind == CONTACT:  # in doubt it may be a payload, and the detector of contacts tells it at once
                is_due, seen = is_due and age >= DECIDED and log_odds < 0.0, age
            elif kind == PICK and self._clock.still > 0.0:  # in doubt it is a load
                is_due = is_due or age >= DECIDED
            if is_due and kind != self._told:
                self._told, event = kind, self._event(kind, onset)
            if seen >= hypotheses.PASSED:
                self._adopt(change, onset)
        elif passed is not None:  # never clear: what is likely of it stays
            (change, share), before, onset = passed, self._state, self._stamp - passed[0].age
            is_new = not self.changes or onset > self.changes[-1].onset + hypotheses.PASSED
            if self.keeps_past and is_new and share > math.exp(-hypotheses.CLEAR):
                before = before.with_past()
                self.changes.append(PastChange(max(onset, self._resumed), False))
            self._state = before.mixed(self._adopted(change)[0], share)
            if share > 0.5:  # the other hypotheses are of the same change
                self._detector.restart()
        return event

    def _event(self, kind: str, onset: float) -> ChangeEvent | None:
        """The event of a change that was just found; closer ones of one kind are one event, and a shift is none."""
        if kind == PICK and self._clock.still > 0.0:
            kind = LOAD  # a weight, or a steady push
        continues = kind == self._found and self._stamp - self._found_at < ONE_CHANGE
        self._found, self._found_at = kind, self._stamp
        return None if continues or kind == SHIFT else ChangeEvent(self._stamp, kind, onset)

    def _adopt(self, change: Change, onset: float) -> None:
        """Go on from a change that has passed the filters."""
        if change.kind == CONTACT:
            before, self._state = self._detector.before(change.age), self._present
            self._flow_end = -math.inf
            self._touch = self._touch or _Touch(onset, before, self._changed(before))  # one touch may follow another
        elif (untouched := self._untouched) is not None and change.kind == PICK and self._is_back(change.state):
            self._return_to(untouched, self._settled)  # what seemed to be released: a push has ended
            self._touch, self._last, self._flow_end = None, None, -math.inf
        elif (touch := self._touch) is not None:  # which goes on
            state, _ = self._adopted(replace(change, state=touch.untouched.with_payload(change.state)))
            self._go_on_touched(state, onset, self._stamp, touch)
            self._return_to(self._state, touch.level * self._noise.std)
        else:
            state, new = self._adopted(change)
            is_past = new < 0.5  # of a release, or nothing
            before = self._detector.before(change.age, self._noise.std)
            present, jump, prior = self._changed(before), change.state, self.options.prior_std
            # Hausman's test: the present torques alone are as right if it did not come at once, only less certain.
            difference = present.mean[THETA] - jump.mean[THETA]
            more = present.covariance[THETA, THETA] - jump.covariance[THETA, THETA]
            same = hypotheses.are_the_same(difference, more, prior / prior[0], hypotheses.START_ODDS)
            is_told = change.age >= hypotheses.PASSED and change.kind != SHIFT  # else the test says nothing
            is_gradual = change.rise > hypotheses.AT_ONCE or (change.kind == RELEASE and not is_past)
            comes_slowly = is_gradual or (is_told and same < 0.5)
            if comes_slowly:  # nobody knows how it came, what was learnt meanwhile is wrong, and more may follow
                self._return_to(before)
                self._flow_end = self._stamp + FLOW
                state, _ = self._adopted(replace(change, state=present))
            elif is_told and len(present.mean) == len(jump.mean):  # both answers count by their probability
                state = self._adopted(replace(change, state=present))[0].mixed(state, same)
            # What unloads the arm at rest may push it up, unless it comes at once and leaves what was carried before.
            is_back = self._clock.still <= 0.0 or (is_past and not comes_slowly)
            in_doubt = self._detector.lead < hypotheses.CLEAR or (change.kind == RELEASE and not is_back)
            self._go_on(state, onset, before, self._found == LOAD or (in_doubt and change.kind != SHIFT))
        self._clock.still = 0.0
        self._detector.restart()

    def _is_back(self, state: GaussianState) -> bool:
        """Whether a state has come back to what was carried before a release or load in doubt: a push has ended."""
        last, prior, k = self._last, self.options.prior_std, len(self._state.mean) - PARAMETERS
        if self.keeps_past or last is None or last.untouched is None or last.kind not in (RELEASE, LOAD):
            return False
        now, before = state.mean[0], state.mean[k]
        far = abs(now - last.mass) if last.kind == RELEASE else 0.5 * hypotheses.LIGHTEST  # no light object
        if abs(now - before) > far or abs(last.untouched.mean[0] - before) > hypotheses.LIGHTEST:
            return False  # or more than this change is in doubt
        difference, covariance, _ = state.difference(THETA, slice(k, k + PARAMETERS))
        odds = 1.0 / hypotheses.change_probability(self._stamp - last.onset)  # else it has changed twice
        return hypotheses.are_the_same(difference, covariance, prior / prior[0], odds) > 0.5

    def _look_at_doubt(self, last: _Happening, row: _Row, motion: float) -> ChangeEvent | None:
        """Decide by motion whether what has come is a weight or a steady push, and return the event of that."""
        if (before := last.untouched) is None:
            return None
        lead = self._lead(row, before, self._noise.std)  # of what may be about to be told as a contact, too
        last.evidence += min(max(lead, -hypotheses.SURE), hypotheses.SURE) * motion / hypotheses.PASSED
        mass, variance, max_mass = self._state.mean[0], self._state.covariance[0, 0], self.options.max_mass
        exists = hypotheses.log_existence(mass, variance, max_mass, hypotheses.TOO_HEAVY)
        flows = self._stamp < self._flow_end
        has_ended = flows and self._is_back(self._state)  # no pick is detected meanwhile
        if has_ended or min(last.evidence, 0.0 if flows else exists) < -hypotheses.CLEAR:  # a push: go on from before
            has_gone = self._expects(before)
            self._touch = None if has_gone else _Touch(last.onset, before, self._changed(before))
            self._last, self._flow_end = None, -math.inf
            self._return_to(before, self._settled if has_gone else arm_model.TOUCH * self._noise.std)
            self._detector.restart()
            return None if has_gone else self._event(CONTACT, last.onset)
        if last.evidence + last.possible < hypotheses.CLEAR:
            return None
        last.untouched = None
        return ChangeEvent(self._stamp, PICK, last.onset) if last.kind == LOAD else None

    def _adopted(self, change: Change) -> tuple[GaussianState, float]:
        return change.adopted(self.options.prior_std, self._phi.stop, self._missing)

    def _return_to(self, state: GaussianState, std: FloatArray | float = 0.0) -> None:
        """Go on from an earlier state: what has changed since then has not, but the disturbance, by `std` (n,)."""
        self._state = state.copy()
        self._state.variance[self._d] += std**2
        del self.changes[(len(state.mean) - self._first) // PARAMETERS :]

    def _go_on(self, state: GaussianState, onset: float, before: GaussianState, in_doubt: bool) -> None:
        """Go on from the state after a change of the payload; `before` is the state without this change.

        It keeps the payload before as its last ten entries, and the least so far; or all of them, and `changes`.
        """
        if self.keeps_past:
            self.changes.append(PastChange(max(onset, self._resumed), True))  # what has changed in a gap did so there
        before = before if self._untouched is None else self._untouched  # one push may have become another
        possible = max(self._detector.possibility(state), -hypotheses.SURE) if in_doubt else 0.0
        untouched, mass = before if in_doubt else None, float(state.mean[0])
        self._last, self._state = _Happening(self._found, onset, mass, untouched, possible), state
        self._detector.has_released |= not in_doubt and bool(state.mean[0] < before.mean[0] - hypotheses.LIGHTEST)
        if not self.keeps_past:
            others, last = state.past(self._first), slice(len(state.mean) - PARAMETERS, len(state.mean))
            is_least = all(state.mean[0] < state.mean[each.start] for each in (*others, last))
            self._state = state.of(slice(0, self._first), *([THETA] if is_least else others[:1]), last)

    def _least(self, state: GaussianState) -> tuple[slice, float]:
        return hypotheses.least_carried(state, self._phi.stop, self._missing)

    @property
    def _first(self) -> int:
        """Where the payloads of the past begin in the state, which may be forgotten."""
        return self._reference.stop if self._tared else self._phi.stop

    @property
    def _untouched(self) -> GaussianState | None:
        """The state without what was last adopted, while that may be a weight or a steady push."""
        return None if self._last is None else self._last.untouched

    @property
    def _is_undecided(self) -> bool:
        """Whether what has come, or is coming, may be a weight or a steady push."""
        is_told = self._detector.pending is not None and self._found != CONTACT
        return self._found == LOAD if is_told else self._untouched is not None

    def _changed(self, before: GaussianState) -> GaussianState:
        """What the present torques show if the payload has become any other since a state."""
        opened = before.with_past()
        opened.variance[: self._phi.start] += np.concatenate((self.options.prior_std, self._settled)) ** 2
        return correct(opened, *self._row, np.ones(self.robot.n))[0]

    def _expects(self, state: GaussianState) -> bool:
        """Whether the torque is what a state expects, where friction may have settled anew."""
        return self._row.surprise(state, self._settled) < self._consistent

    def _look_at_touch(self, touch: _Touch, dt: float, row: _Row) -> ChangeEvent | None:
        """End a touch whose torque has gone, or is what a payload would have brought, and return the event of that."""
        usual, touch.time = self._noise.std, touch.time + dt
        squared = (self._state.mean[self._d] ** 2 + self._state.variance[self._d]) / usual**2  # as in `Noise.learn`
        share = dt / min(arm_model.LEVEL_MEMORY, arm_model.TOUCH_TIME + touch.time)
        touch.level = np.sqrt(touch.level**2 + share * (squared - touch.level**2))
        # What had come before, and was in doubt, was a push as well if the torque is what was expected without it.
        before = next(filter(self._expects, filter(None, (touch.untouched, self._untouched))), None)
        was_push = before is not None and before is not touch.untouched
        touch.back = 0.0 if before is None else touch.back + dt
        now = self._changed(touch.untouched)
        more, std = now.mean[0] - touch.untouched.mean[0], math.sqrt(now.covariance[0, 0])
        change = Change(PICK if more > 0.0 else RELEASE, 0.0, now, hypotheses.AT_ONCE)
        possible = lead = -math.inf
        if abs(more) > 2.0 * std:  # a hand that takes over a load lifts it by its weight
            possible = self._detector.possibility(now, min(self._detector.leaves_known(change), 0.0))
        if possible > -hypotheses.CLEAR:
            lead = self._lead(row, touch.untouched, usual)
        just_now = math.log(hypotheses.change_probability(max(self._stamp - touch.onset, hypotheses.PASSED)))
        if lead == -math.inf or row.surprise(touch.loaded, 0.0) > self._consistent:
            touch.loaded, touch.evidence = now, just_now  # if the payload has changed, it has just now
        else:
            touch.loaded, _ = correct(touch.loaded, *row, np.ones(self.robot.n))
            touch.evidence = max(touch.evidence + lead * dt / hypotheses.PASSED, just_now)
        touch.lead = lead + possible
        if self._detector.pending is not None:
            return None
        if before is not None and touch.back >= hypotheses.PASSED:
            self._last = None if was_push else self._last
            self._return_untouched(before, touch.onset, row)
            return None
        if was_push or touch.evidence + possible < hypotheses.CLEAR:
            return None
        state, _ = self._adopted(change)
        if more > 0.0 and state.mean[0] < max(touch.untouched.mean[0], 0.0) + hypotheses.LIGHTEST:
            return None  # the hand has let go of what it lifted
        # What seemed to touch the arm, or came with a touch, is a payload; what shows it is of the last half second.
        event = self._event(change.kind, touch.onset)
        self._go_on_touched(state, touch.onset, self._stamp - hypotheses.PASSED, touch)
        self._detector.restart()
        return event

    def _go_on_touched(self, state: GaussianState, onset: float, since: float, touch: _Touch) -> None:
        """Go on from a payload's change at `onset`; the touch goes on, and `since` then may hide another one."""
        self._return_to(touch.untouched)
        self._go_on(state, onset, touch.untouched, True)
        self._touch = _Touch(since, self._state, self._changed(self._state), time=touch.time, level=touch.level)

    def _return_untouched(self, before: GaussianState, onset: float, row: _Row) -> None:
        """Go on from the state before a touch that has ended; friction has settled anew, and the payload may differ."""
        payload, _ = self._detector.present_evidence(*row.departure(before, self._noise.std), row.H[:, THETA])
        loaded = self._changed(before)
        possible = self._detector.possibility(loaded)
        meanwhile = hypotheses.change_probability(self._stamp - onset)
        share = hypotheses.probability(math.log(meanwhile) + payload + possible)
        self._return_to(before.mixed(loaded, share), self._settled)
        self._touch = None
        self._detector.restart()

    def _published(self, status: str, event: ChangeEvent | None = None) -> PayloadEstimate:
        pending, last, touch = self._detector.pending, self._last, self._touch
        theta = self.carried(self._present)
        is_from_start = last is None and pending is None and touch is None  # if there is any
        if is_from_start and theta.mean[0] > 0.0:
            # The interval stays that of a payload: one may have come unnoticed.
            known = float(theta.mean[0]), float(theta.covariance[0, 0])
            empty = hypotheses.nothing_is_carried(*known, hypotheses.START_ODDS)
            theta = theta.mixed(GaussianState(np.zeros(PARAMETERS), theta.covariance), empty)
        estimate = published_estimate(
            theta.mean, theta.covariance, self.options, self.shape, self._body,
            stamp=self._stamp, status=status, event=event,
            problem=self.validator.problem or self._plausibility.problem,
        )  # fmt: skip
        if touch is None and pending is None and not self._is_undecided and status != SETTLING:
            return estimate
        other, covariance, share = estimate.vector, estimate.covariance, 0.0  # other: what is carried if not this
        if self._is_undecided:  # its odds are above one in twenty: the 95 % interval reaches it
            share, before = NORMAL_95**-2, self._untouched
            state = self._state if before is not None or pending is None else pending.state
            answers = [self.carried(state, slice(len(state.mean) - PARAMETERS, len(state.mean))).mean]
            answers += [] if before is None else [self.carried(before).mean]  # what came before may be in doubt, too
            other = max(answers, key=lambda vector: abs(float(vector[0]) - estimate.mass))
        elif pending is not None and touch is None:  # or it is of the other kind
            before, is_contact = self._detector.before(pending.age), pending.kind == CONTACT
            other = self.carried(self._changed(before) if is_contact else before).mean
            share = hypotheses.probability(self._detector.lead if is_contact else -self._detector.lead)
        else:  # a touch, or a gap, may also hide a change
            unseen = self._stamp - (self._unseen_since if touch is None else touch.onset)
            may_have_changed = hypotheses.change_probability(unseen)
            covariance = covariance + may_have_changed * np.diag(self.options.prior_std**2)
            if touch is not None:
                other, share = self.carried(touch.loaded).mean, hypotheses.probability(touch.lead)
        covariance = covariance + share * np.outer(estimate.vector - other, estimate.vector - other)
        flags = identifiable(estimate.vector, covariance, self.options)
        return replace(estimate, covariance=checks.read_only(covariance), identifiable=flags)
