# SPDX-License-Identifier: Apache-2.0
"""What happens to the arm: an object comes or goes, or something touches it, by the evidence of one filter's steps.

A change at an onset is a jump delta that enters the measurement as G_k delta; the filter, which does not know of it, is
linear, so that the jump moves its state by X_k delta and its innovations by g_k delta, with

    g_k = G_k - H_k X_k,    X_k <- X_k + K_k g_k,    X_k+1 = F X_k

(Willsky and Jones, "A generalized likelihood ratio approach to the detection and estimation of jumps in linear
systems", IEEE TAC 1976). L = sum g' S^-1 g and v = sum g' S^-1 nu hold all that the data says of delta, and the filter
runs only once. Each `PERIOD` an onset is added, and followed in a slot. A jump is that of a payload's (m, m c), through
its onset regressor, or of a contact: any torques on the joints up to its link, or a force at what is carried, as large
as weights are, in any direction. What weighs on a joint lets its friction settle anew, so that a payload comes with a
small jump of the torques, too; within `PASSED` of a stop it may settle without one. What a hand passes comes gradually,
within about `GRADUAL`, and a load may come on steadily while the arm moves: such a change has G_k min(t / rise, 1) in
place of G_k. For delta ~ N(0, P),

    log p(data | jump) / p(data | none) = 1/2 v' (L + P^-1)^-1 v - 1/2 log det(1 + P L).

The second term penalises the freedom of the hypothesis. Size and link are unknown: the Bayes factor is the mean over
them. The scale of the noise is known only as from `DEGREES` innovations, so that the density of the innovations is
Student's: a burst of noise that no jump explains is no evidence for one.

A change is announced, and taken for a fact, once it is clear. What is not clear when it has been followed for its time
has a probability, by its Bayes factor and the prior rate `CHANGES`, and the estimate is the mixture of the states
without and with it. A ramp, which may take seconds, has its probability all the while. Picks that are too light are
process noise of the payload (`unnoticed_variance`).

The state keeps what was carried before the last change, and the least so far: what is released leaves one of them, and
what is picked up may be one. A release that leaves something else may go on, as where something is poured.
What slips or turns in the hand keeps its mass: such a change is no event, but the centre of mass is unknown again.
"""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled, factorise, forward
from panda_dynamics_ros.estimation.kalman_filter import THETA, FilterStep, GaussianState, add_row, predict
from panda_dynamics_ros.estimation.regression import MomentumRegression, OnsetRegressors
from panda_dynamics_ros.robot.inertial import PARAMETERS

MOMENTS = 4  # parameters of a payload's jump that show at once: m and m c
PERIOD, LIFETIME = 0.02, 0.4  # s, between two onsets, and for which an onset is followed
GRADUAL, GRADUAL_PERIOD, GRADUAL_LIFETIME = 0.3, 0.1, 0.5  # s, in which what a hand passes comes; as above, of such
RAMP, RAMP_PERIOD, RAMP_LIFETIME = 1.0, 0.4, 2.0  # s, in which a ramp rises; as above, of ramps
AT_ONCE = 1e-9  # s, in which a jump comes
PASSED = 0.5  # s, after which a jump has passed the low-pass filters to a thousandth, and what it is counts as decided
SIZES = np.array([0.3, 1.0, 3.0])
"""kg, one sigma of a payload's jump; its other parameters are in proportion to their priors."""
TOUCHES = np.array([3.0, 10.0, 30.0])  # one sigma of a contact's torques, in standard deviations of the residual
SETTLED = 0.2  # by how much friction settles anew under a weight, one sigma, as a share of residual and dry friction
CHANGES = 0.1  # 1/s, prior rate of changes of the payload, and of touches
EVIDENCE, CLEAR, SURE = 12.0, 3.0, 6.0
"""Log Bayes factor against no change from which on there is one: by chance it exceeds 12 once in e^12 onsets, an hour
of fifty a second, at most. Log Bayes factor between payload and contact, log odds at the last look, beyond doubt."""
DEGREES = 20.0
_INVERSE_SIZE, _HALF = float(np.mean(1.0 / SIZES)), 0.5 * float(np.mean(SIZES**2))
_FAMILIES = (LIFETIME, PERIOD, AT_ONCE), (GRADUAL_LIFETIME, GRADUAL_PERIOD, GRADUAL), (RAMP_LIFETIME, RAMP_PERIOD, RAMP)
EMPTY_ODDS, START_ODDS, NOTHING, TAKEN_OFF = 10.0, 1.0, 0.01, 0.01
"""Prior odds that the hand was empty before a pick, that a release leaves what was carried before, and that what is
carried at the start is a tool; that nothing is carried at the start, and that a pick is of what was carried before; kg,
one sigma of nothing and of no difference; probability that a tool, or what releases have left, is taken off."""
LIGHTEST, TOO_HEAVY = 0.05, 0.15  # kg: smallest jump, and error of a difference of masses; error of a mass, one sigma
SHIFTS = 0.1  # prior probability that a change is one of the centre of mass alone: an object slips in the hand
PICK, RELEASE, SHIFT, CONTACT, LOAD = "pick", "release", "shift", "contact", "load"


@compiled
def follow_step(slots, decay, H, gain, innovation, variance, regressors, step_response, X, L, v, chi):
    """Follow a prediction and a correction of the filter in every slot, in place.

    regressors (n, 4, slots), step_response (slots,): torque of unit jumps. chi (slots, 2): sum of squared innovations
    over their variance, and their number.
    """
    (n, size), count = gain.shape, step_response.shape[0]
    columns = MOMENTS + n
    # Slots come last and are all computed, those without a hypothesis too: long rows suit the processor.
    rows, g = X.reshape(size, columns * count), np.empty(columns * count)
    for i in range(n):
        for c in range(columns * count):
            rows[PARAMETERS + i, c] *= decay[i]
    for i in range(n):
        g[:] = 0.0
        for k in range(H.shape[1]):
            if H[i, k] != 0.0:
                add_row(-H[i, k], rows[k], g)
        for slot in range(count):
            for c in range(MOMENTS):
                g[c * count + slot] += regressors[i, c, slot]
            g[(MOMENTS + i) * count + slot] += step_response[slot]
        for slot in slots:
            chi[slot, 0] += innovation[i] * innovation[i] / variance[i]
            chi[slot, 1] += 1.0
            for c in range(columns):
                weighted = g[c * count + slot] / variance[i]
                v[slot, c] += weighted * innovation[i]
                for r in range(c + 1):
                    L[slot, c, r] += g[r * count + slot] * weighted
        for k in range(size):
            if gain[i, k] != 0.0:
                add_row(gain[i, k], g, rows[k])
    for slot in slots:
        for c in range(columns):
            for r in range(c):
                L[slot, r, c] = L[slot, c, r]


@compiled
def fits_and_penalties(L, v, variance, fits, penalties):
    """1/2 v' (L + P^-1)^-1 v and 1/2 log det(1 + P L), P = diag(variance), of a jump's last n entries.

    They are those of the first 1, 2, .. n of them: one factorisation serves all, since the factor of a leading block is
    the leading block of the factor.
    """
    n, fit, penalty = variance.shape[0], 0.0, 0.0
    first = v.shape[0] - n
    A, x = L[first:, first:].copy(), v[first:].copy()
    for i in range(n):
        A[i, i] += 1.0 / variance[i]
    factorise(A)
    forward(A, x)
    for i in range(n):
        fit += 0.5 * x[i] * x[i]
        penalty += math.log(A[i, i]) + 0.5 * math.log(variance[i])
        fits[i], penalties[i] = fit, penalty


@compiled
def log_mean_exp(terms):
    """log of the mean of exp(terms)."""
    largest, total = terms[0], 0.0
    for term in terms:
        largest = max(largest, term)
    for term in terms:
        total += math.exp(term - largest)
    return largest + math.log(total / terms.shape[0])


@compiled
def log_bayes_factors(slots, L, v, chi, payloads, touches, settled, least, evidence):
    """Evidence (slots, 3) of a payload's jump, of a contact, and of friction that has settled anew, in every slot.

    It is 0 where that of a jump and of a contact cannot reach `least` (slots,): no fit exceeds half of `chi`. Returns
    whether it is so in all slots.
    payloads (sizes, 4 + n), touches (sizes, n), settled (n,): prior variances of what jumps, by size.
    """
    (sizes, n), last = touches.shape, payloads.shape[1] - 1
    of_payload, of_touch = np.empty(payloads.shape[0]), np.empty(sizes * n)
    fits, penalties, none = np.empty(last + 1), np.empty(last + 1), True
    for slot in slots:
        evidence[slot, 0] = evidence[slot, 1] = evidence[slot, 2] = 0.0
        if 0.5 * chi[slot, 0] < least[slot]:
            continue
        for s in range(payloads.shape[0] - 1, -1, -1):  # the widest fits best: it bounds them all
            fits_and_penalties(L[slot], v[slot], payloads[s], fits, penalties)
            of_payload[s] = fits[last] - penalties[last]
            if s == payloads.shape[0] - 1 and fits[last] < least[slot]:
                break
            if s == 0:
                evidence[slot, 0] = log_mean_exp(of_payload)
        for s in range(sizes - 1, -1, -1):
            fits_and_penalties(L[slot], v[slot], touches[s], fits, penalties)
            if s == sizes - 1 and fits[n - 1] < least[slot]:
                break
            for i in range(n):  # a contact loads the joints up to its link
                of_touch[s * n + i] = fits[i] - penalties[i]
            if s == 0:
                evidence[slot, 1] = log_mean_exp(of_touch)
        if evidence[slot, 0] != 0.0 or evidence[slot, 1] != 0.0:
            fits_and_penalties(L[slot], v[slot], settled, fits, penalties)
            evidence[slot, 2], none = max(0.0, fits[n - 1] - penalties[n - 1]), False
    return none


def probability(log_odds: float) -> float:
    """The probability that has these log odds."""
    return 1.0 / (1.0 + math.exp(min(-log_odds, 50.0)))


def change_probability(time: float) -> float:
    """Prior probability that what is carried changes within `time` s."""
    return -math.expm1(-CHANGES * time)


def force_evidence(L: FloatArray, v: FloatArray, force: FloatArray, settled: FloatArray) -> FloatArray:
    """Log Bayes factors (.., 3) of a force of each of `SIZES`, by L (.., n, n) and v (.., n) of jumps of the torques.

    force: (n, n), (N m)^2, covariance of the torques of a force as large as the weight of 1 kg, in any direction.
    """
    P, v = SIZES[:, None, None] ** 2 * force + np.diag(settled**2), v[..., None, :]
    A = np.eye(len(settled)) + P @ L[..., None, :, :]
    fit = 0.5 * (v * np.linalg.solve(A, P @ v[..., None])[..., 0]).sum(axis=-1)
    return np.asarray(fit - 0.5 * np.linalg.slogdet(A)[1])


def tempered(evidence: float, chi: FloatArray) -> tuple[float, float]:
    """A log Bayes factor where the scale of the noise is known only as from `DEGREES` innovations.

    While the innovations are no larger than expected it stays what it is; beyond, it grows with the logarithm of the
    share that is explained. The second number is the part beyond. Evidence against a change stays what it is.
    """
    if evidence < 0.0:
        return evidence, 0.0
    least, total = DEGREES + chi[1], DEGREES + chi[0]
    left = total - 2.0 * evidence
    beyond = 0.5 * least * math.log(max(total, least) / max(left, least))
    return beyond + 0.5 * max(min(total, least) - left, 0.0), beyond


def unnoticed_variance(L: FloatArray, shares: FloatArray) -> float:
    """kg^2/s, by which a payload's mass varies through picks that are too light to be noticed.

    The evidence for a pick of m kg, its CoM at one sigma, is at most 1/2 J m^2, J being the information on it. The pick
    is noticed if this exceeds `EVIDENCE`. Half of the changes are picks, of m >= 0 with the density 2 p at zero: those
    lighter than m have the variance 1/2 (2 p m^3 / 3), and at most that of all picks.

    L: information on a jump of (m, m c) and on what friction settles by, when its hypothesis is dropped.
    shares: (10,), prior standard deviations per kg.
    """
    J = float(shares[:MOMENTS] ** 2 @ L.diagonal()[:MOMENTS])
    at_zero = _INVERSE_SIZE / math.sqrt(2.0 * math.pi)
    return CHANGES * min(at_zero * (2.0 * EVIDENCE / J) ** 1.5 / 3.0, _HALF)


def nothing_is_carried(mass: float, variance: float, odds: float, missing: float = 0.0) -> float:
    """Probability that what is carried is nothing, which has the prior `odds`, and no payload of one of `SIZES`.

    mass, variance: kg and its square. The Bayes factor is that of posterior and prior density at zero (Dickey 1971);
        it is too small where the mass is known no better than by `SIZES`.
    missing: probability that something is missing instead, with a mass below zero.
    """
    variance += NOTHING**2
    log_ratio = -math.log(_INVERSE_SIZE) - 0.5 * (math.log(variance) + mass**2 / variance)
    x = mass / math.sqrt(2.0 * variance)  # no payload is below zero
    log_ratio -= math.log(max((1.0 - missing) * math.erfc(-x) + missing * math.erfc(x), 1e-300))
    return probability(log_ratio + math.log(odds))


def least_carried(state: GaussianState, first: int, missing: float = 0.0) -> tuple[slice, float]:
    """Place of the least payload of the past, and the probability that it is nothing, an empty hand.

    After the first change it may be the present one, which a release has left; before any, the probability is 0. A mass
    clearly below zero is that of a part that is not mounted, or of a lift: of a lift if another payload is nothing.
    first: where the past begins in the state. missing: probability that a described part is not mounted.
    """
    mean, past = state.mean, [*range(first, len(state.mean), PARAMETERS)]
    k, *others = sorted(past if len(past) > 1 else [0, *past], key=lambda place: mean[place])
    if math.erfc(-mean[k] / math.sqrt(2.0 * (state.covariance[k, k] + TOO_HEAVY**2))) < 2.0 * math.exp(-CLEAR):
        k = next((i for i in others if nothing_is_carried(float(mean[i]), state.covariance[i, i], START_ODDS) > 0.5), k)
    empty = nothing_is_carried(float(mean[k]), state.covariance[k, k], EMPTY_ODDS, missing)
    return slice(k, k + PARAMETERS), empty * (len(past) > 0)


def are_the_same(difference: FloatArray, covariance: FloatArray, shares: FloatArray, odds: float) -> float:
    """Probability that two payloads are the same, which has the prior `odds`, by the density of (m, m c) at zero.

    difference, covariance: of their vectors (10,), as known. shares: (10,), prior standard deviations per kg.
    """
    k, n = slice(0, MOMENTS), NOTHING**2 * np.eye(MOMENTS)
    D, S = difference[k] / shares[k], covariance[k, k] / np.outer(shares[k], shares[k]) + n
    misfit = 0.5 * float(D @ np.linalg.solve(S, D) + np.linalg.slogdet(S)[1])
    return probability(math.log(odds / float(np.mean(SIZES ** -float(MOMENTS)))) - misfit)


@dataclass(frozen=True, eq=False)
class Change:
    """A change, as far as it is known.

    kind: "pick", "release", "shift" or "contact".
    age, rise: s since its onset, and in which it comes on steadily.
    reach: s since the earlier of two onsets: its own, and that of the best change of the other kind.
    state: the filter's state with the jump included, and the payload before it as the last ten entries; of a contact,
        the state before it, but for its force, and with the covariance of a jump.
    """

    kind: str
    age: float
    state: GaussianState
    rise: float
    reach: float = 0.0

    def adopted(self, payload_std: FloatArray, first: int, missing: float = 0.0) -> tuple[GaussianState, float]:
        """The state to go on from after a change of the payload, with the payload before it as the last ten entries.

        The payload may be one of the past again, which begin at `first` in the state: what was carried before a pick is
        what its release leaves. All answers count by their probability. The second result: the probability that it is
        something new, neither one of the past nor nothing.
        """
        state, past, is_release = self.state.copy(), self.state.past(first), self.kind == RELEASE
        shares, (base, empty) = payload_std / payload_std[0], least_carried(state, first, missing)
        if empty > 1.0 - math.exp(-CLEAR):
            state = state.conditioned(base, NOTHING * shares)
        new = 1.0 - empty * (base == THETA)
        for other in past if is_release else past[1:]:  # a pick leaves more than the least
            difference, covariance, _ = state.difference(THETA, other)
            same = are_the_same(difference, covariance, shares, EMPTY_ODDS if is_release else START_ODDS)
            if other == base:  # an empty hand is told by its mass
                same = max(same, empty * nothing_is_carried(state.mean[0], state.covariance[0, 0], EMPTY_ODDS))
            state, new = state.mixed(state.conditioned(THETA, NOTHING * shares, other), same), new * (1.0 - same)
        return state, new


class ChangeDetector:
    """Compares hypotheses of recent changes by the steps of one filter.

    sigma: (n,), N m, standard deviation of the arm's residual.
    settled: (n,), N m, one sigma of what friction changes by as it settles anew.
    payload_std: (10,), of an unknown payload.
    max_mass: kg, the heaviest payload of this arm.
    errors: how many errors of the arm's model the filter's state has.
    force: gives the covariance of `force_evidence` in the present posture.

    pending: the change that is looked at, from its detection until it has passed the filters.
    shown: s for which it has not turned from a payload to a contact, or back.
    lead: log odds that it is a change of the payload, and no contact.
    suspected: where none is pending, the likeliest ramp, and the probability that there is one.
    passed: a change that is followed no longer, and its probability; None without one.
    unnoticed: kg^2/s, see `unnoticed_variance`; 0 until a hypothesis has been dropped.
    has_released: whether a release beyond doubt has left what there is to stay.
    """

    def __init__(
        self, sigma: FloatArray, settled: FloatArray, payload_std: FloatArray, max_mass: float, errors: int,
        force: Callable[[], FloatArray],
    ) -> None:  # fmt: skip
        n, self._force = len(sigma), force
        self._sigma, self._settled, self._payload_std, self._max_mass = sigma, settled, payload_std, max_mass
        self._shares = payload_std / payload_std[0]
        payloads = (SIZES[:, None] * self._shares[:MOMENTS]) ** 2, np.tile(settled**2, (len(SIZES), 1))
        self._variances = np.hstack(payloads), np.outer(TOUCHES, sigma) ** 2, settled**2  # by size
        # Two slots more of each family: a stream's period need not divide.
        numbers = [math.ceil(life / period) + 2 for life, period, _ in _FAMILIES]
        slots, columns = sum(numbers), MOMENTS + n
        self._first = np.cumsum([0, *numbers])  # slots of each family
        _, self._sudden, self._brief, _ = self._first  # those before are jumps; jumps and gradual changes
        self._lifetime, self._period, self._rise = np.repeat(_FAMILIES, numbers, axis=0).T
        self._priors = np.log(CHANGES * self._period)  # log odds at an onset
        self._is_long = np.zeros(slots, bool)  # ramps, and what may have changed in a gap
        self._onsets = OnsetRegressors(n, slots, MOMENTS)
        self._jumping = np.r_[0:MOMENTS, PARAMETERS : PARAMETERS + n]  # places in the state of what jumps
        self._pasts = PARAMETERS + n + errors  # place in the state of past payloads
        self._X = np.zeros((self._pasts, columns, slots))
        self._L, self._v = np.zeros((slots, columns, columns)), np.zeros((slots, columns))
        self._chi, self._evidence = np.zeros((slots, 2)), np.zeros((slots, 3))
        self._age, self._followed, self.has_released = np.full(slots, math.inf), 0.0, False
        # The filter's states, with the age of the regression's filters and the clock of the disturbance (n,) by then.
        self._states: deque[tuple[float, GaussianState, FloatArray]] = deque()
        self.restart()

    def restart(self, after_gap: float | None = None) -> None:
        """Drop all hypotheses. After a gap without samples, s, the first new one is a change meanwhile."""
        self._age[:] = math.inf
        self._states.clear()
        self._clock = np.zeros(len(self._sigma))
        self._since_onset, self._after_gap = np.full(len(_FAMILIES), math.inf), after_gap
        self.unnoticed = 0.0
        if after_gap is not None:  # age of the regression's filters, up to which they have been followed
            self._followed = 0.0
        self.pending: Change | None = None
        self.lead, self._turned = 0.0, -math.inf
        self.suspected: tuple[Change, float] | None = None
        self.passed: tuple[Change, float] | None = None

    def follow(
        self, step: FilterStep, regression: MomentumRegression, predicted: GaussianState, state: GaussianState
    ) -> None:
        """Follow one step of the filter, from a predicted state to the next one, and add an onset if it is time."""
        if self._after_gap is not None:  # nothing was measured before
            self._states.append((regression.age - PERIOD, predicted, self._clock))
        self._clock = self._clock - np.log(step.decay)
        self._states.append((regression.age, state, self._clock))
        if self._states[0][0] < regression.age - RAMP_LIFETIME - PASSED:  # the oldest onset
            self._states.popleft()
        elapsed, self._followed = regression.age - self._followed, regression.age
        self._age += elapsed
        self._since_onset += elapsed
        if self.pending is None:
            for family, (_, period, _) in enumerate(_FAMILIES):
                if self._since_onset[family] >= period - 1e-6:
                    self._since_onset[family] = 0.0
                    self._start(slice(*self._first[family : family + 2]))
        if len(self._X) != (size := len(state.mean)):  # it has changed at `restart`, or by `with_past`
            self._X = self._X[np.r_[0 : len(self._X), THETA, THETA][:size]]
        onsets = self._onsets.follow(np.minimum((self._age + AT_ONCE) / self._rise, 1.0), regression)
        slots = np.flatnonzero(self._age < math.inf)
        follow_step(slots, *step, *onsets, self._X, self._L, self._v, self._chi)

    def before(self, age: float, std: FloatArray | None = None) -> GaussianState:
        """The state before an onset `age` s ago; with `std` (n,), of the disturbance, as it would be by now."""
        onset = self._followed - age - 0.5 * PERIOD
        _, state, clock = self._states[max(bisect_left(self._states, onset, key=itemgetter(0)) - 1, 0)]
        return state if std is None else predict(state, np.exp(clock - self._clock), std)

    def _start(self, family: slice) -> None:
        """Let one more slot of a family stand for a change now, or, after a gap, for one of before."""
        slot = family.start + int(np.argmax(self._age[family]))
        gap, self._after_gap = self._after_gap, None
        self._age[slot] = 0.0 if gap is None else PERIOD
        # Of a gap: what has come may have gone again. Of a time t, these are the odds of an odd number of changes.
        self._priors[slot] = math.log(math.tanh(CHANGES * max(gap or 0.0, self._period[slot])))
        self._is_long[slot] = gap is not None or slot >= self._brief
        self._onsets.start(slot, float(gap is not None))
        self._X[:, :, slot] = self._L[slot] = self._v[slot] = self._chi[slot] = 0.0

    def detect(
        self, state: GaussianState, still: float, lead: float | None = None, in_doubt: bool = False, told: str = ""
    ) -> Change | None:  # fmt: skip
        """The change that the evidence is clear about, if any.

        still: s for which the arm has stood; infinite while something touches it.
        in_doubt: whether what seems to be carried may be a push, which does not slip. told: what was announced of it.
        Once there is one it is `pending`, and its onset follows the evidence. The present torques decide its kind, not
        the way in which they rose: `lead`, evidence of a payload less that of a contact (`present_evidence`).
        """
        self._may_slip, self._told = not in_doubt, told
        if self.pending is None:  # hands and settling friction are as slow as ramps
            ramps = self._age[self._brief :]
            ramps[ramps < still] = math.inf
        alive, self._still = np.flatnonzero(self._age < math.inf), still
        least = -self._priors - CLEAR  # less is negligible
        none = self._compare(alive, self._L, self._v, self._chi, least, self._evidence)
        found = None if none and self.pending is None else self._clear_change(alive, state, lead)
        found = found or self._suspect(alive[:0] if none else alive[self._evidence[alive, 0] != 0.0], alive, state)
        if found is not None:
            if self.pending is not None and (self.pending.kind == CONTACT) != (found[0].kind == CONTACT):
                self._turned = self._followed  # as a hand does, and a weight does not
            self.shown = self._followed - self._turned
            self.pending, self.lead, self.suspected, self.passed = *found, None, None
        return self.pending

    def _compare(
        self, slots: np.ndarray, L: FloatArray, v: FloatArray, chi: FloatArray, least: FloatArray, evidence: FloatArray
    ) -> bool:
        """`log_bayes_factors`, with a force at what is carried among the contacts; whether no slot has any."""
        none = bool(log_bayes_factors(slots, L, v, chi, *self._variances, least, evidence))
        if not none and (slots := slots[(evidence[slots, 0] > 0.0) & (evidence[slots, 1] != 0.0)]).size:  # both compete
            of_force = force_evidence(L[slots, MOMENTS:, MOMENTS:], v[slots, MOMENTS:], self._force(), self._settled)
            links = evidence[slots, 1] + math.log(len(TOUCHES) * len(self._sigma))
            of_any = np.logaddexp(links, np.logaddexp.reduce(of_force, axis=-1))
            evidence[slots, 1] = of_any - math.log(len(TOUCHES) * len(self._sigma) + len(SIZES))
        return none

    def _clear_change(self, alive: np.ndarray, state: GaussianState, lead: float | None) -> tuple[Change, float] | None:
        """The change that is clear, always one if one is pending, and its `lead`; see `detect`."""
        evidence = self._evidence[alive, :2]
        if self.pending is None and not (evidence > EVIDENCE).any():
            return None
        # Of a gradual change it has to be clear that no jump explains it as well.
        evidence[(alive >= self._sudden) & (alive < self._brief)] -= EVIDENCE
        slots = alive[np.argmax(evidence, axis=0)]
        of_slots = float(self._evidence[slots[0], 0] - self._evidence[slots[1], 1])
        lead = of_slots if lead is None else lead
        if slots[1] >= self._sudden:  # the disturbance follows a touch that comes on slowly
            jumps = alive[alive < self._sudden]
            slots[1] = jumps[np.argmax(self._evidence[jumps, 1])]
        # A contact may load joints by any torques, as a sensor drifts: only what noise does not explain counts.
        payload, touch = self._counted(slots[0], 0)[0], self._counted(slots[1], 1)[1]
        if self.pending is None and max(payload, touch) < EVIDENCE:
            return None
        change = self._payload_change(int(slots[0]), state)
        possibility = self._of_change(change)  # what was carried may have been estimated too low
        clear = payload + possibility > EVIDENCE, touch > EVIDENCE
        lead += self._of_change(change, self.leaves_known(change))
        if possibility < -CLEAR:
            lead -= CLEAR
        if self.pending is not None:
            is_told, has_turned = CONTACT in (self.pending.kind, self._told), self._turned > -math.inf
            is_touch = lead < (CLEAR if is_told else 0.0 if has_turned else -CLEAR)
        elif (clear[0] and lead > CLEAR) or (clear[1] and lead < -CLEAR):
            is_touch = lead < 0.0
        else:
            return None
        if is_touch:  # the payload is what it was before, however the force has changed meanwhile
            change = self._jump(int(slots[1]), MOMENTS, (TOUCHES[-1] * self._sigma) ** 2, state)
            before, force = self.before(change.age).with_past(), self._jumping[MOMENTS:]
            before.mean[force] = change.state.mean[force]
            change = replace(change, state=GaussianState(before.mean, change.state.covariance))
        return replace(change, reach=float(self._age[slots].max())), lead

    def present_evidence(self, nu: FloatArray, S: FloatArray, Y: FloatArray) -> tuple[float, float]:
        """Log Bayes factors of a payload, and of a contact, that have come in any course of time, against no change.

        nu: (n,), N m, by how much the filtered torque has departed from what was expected before the change, and S:
        (n, n), its covariance. Y: (n, 10), regressor of the payload.
        """
        G, of_one, evidence = np.hstack((Y[:, :MOMENTS], np.eye(len(nu)))), np.zeros(1, np.int64), np.zeros((1, 3))
        weighted = np.linalg.solve(S, G)
        L, v, least = (G.T @ weighted)[None], (nu @ weighted)[None], np.full(1, -math.inf)
        self._compare(of_one, L, v, np.zeros((1, 2)), least, evidence)
        return float(evidence[0, 0]), float(evidence[0, 1])

    def _suspect(self, seen: np.ndarray, alive: np.ndarray, state: GaussianState) -> tuple[Change, float] | None:
        """Suspect the likeliest long change, and look a last time at all; what is clear by then, and its `lead`."""
        over, self.suspected, self.passed = self._age > self._lifetime, None, None
        if seen.size and (over[seen] | self._is_long[seen]).any():  # the others count at their last look
            payload, touch = ({k: self._priors[k] + self._counted(k, kind)[0] for k in seen} for kind in (0, 1))
            of_none = np.logaddexp.reduce([0.0, *touch.values()])
            of_all = np.logaddexp.reduce([of_none, *payload.values()])
            for slots in filter(len, (seen[self._is_long[seen]], seen[~self._is_long[seen]])):
                likeliest = int(max(slots, key=payload.__getitem__))
                of_any = np.logaddexp.reduce([payload[k] for k in slots])
                if not over[likeliest] and not (self._is_long[likeliest] and of_any > of_all - CLEAR):
                    continue
                change = self._payload_change(likeliest, state)
                if self._of_change(change) < -CLEAR:
                    continue
                if over[likeliest] and likeliest < self._brief and of_any - of_none > CLEAR:
                    return replace(change, reach=change.age), float(of_any - of_none)
                found = change, float(np.exp(of_any - of_all))
                self.passed, self.suspected = (found, self.suspected) if over[likeliest] else (self.passed, found)
        dropped = alive[over[alive]]
        if dropped.size and dropped[0] < self._sudden:
            self.unnoticed = unnoticed_variance(self._L[dropped[0]], self._shares)
        self._age[dropped] = math.inf
        return None

    def _counted(self, slot: int, kind: int) -> tuple[float, float]:
        """Evidence of a payload's change (kind 0) or of a touch (1) that nothing else explains; see `tempered`."""
        settles = 0.0 < self._still <= PASSED + self._age[slot]  # after a stop
        settled = self._evidence[slot, 2] if settles else 0.0
        return tempered(float(self._evidence[slot, kind] - settled), self._chi[slot])

    def _payload_change(self, slot: int, state: GaussianState) -> Change:
        """The payload has changed: (m, m c) from the data and a wide prior; the inertia is unknown again."""
        variance, inertia = self._payload_std**2, slice(MOMENTS, PARAMETERS)
        change = self._jump(slot, 0, np.concatenate((variance[:MOMENTS], self._settled**2)), state)
        changed = change.state
        changed.mean[inertia] = 0.0
        changed.covariance[inertia, :] = changed.covariance[:, inertia] = 0.0
        changed.covariance[inertia, inertia] = np.diag(variance[inertia])
        mass, before = slice(0, 1), slice(len(changed.mean) - PARAMETERS, len(changed.mean) - PARAMETERS + 1)
        (more,), variance, _ = changed.difference(mass, before)
        is_same = abs(more) < LIGHTEST or nothing_is_carried(abs(more), float(variance[0, 0]), SHIFTS) > 0.5
        if is_same and self._may_slip:
            return replace(change, kind=SHIFT, state=changed.conditioned(mass, np.array([NOTHING]), before))
        return replace(change, kind=PICK if more > 0.0 else RELEASE)

    def _jump(self, slot: int, first: int, variance: FloatArray, state: GaussianState) -> Change:
        """The jump of the columns from `first` on in a slot, given its prior variance, and the state with it included.

        The state changes by the jump itself less what the filter has already made of it (Willsky and Jones).
        """
        state, L, v = state.with_past(), self._L[slot, first:, first:], self._v[slot, first:]
        covariance = np.asarray(np.linalg.inv(L + np.diag(1.0 / variance)))
        jump = covariance @ v
        effect = -self._X[np.r_[0 : len(self._X), THETA], first:, slot]
        effect[self._jumping[first:], np.arange(len(jump))] += float(self._onsets.share[slot])
        changed = GaussianState(state.mean + effect @ jump, state.covariance + effect @ covariance @ effect.T)
        return Change(CONTACT, float(self._age[slot]), changed, float(self._rise[slot]))

    def leaves_known(self, change: Change) -> float:
        """Log Bayes factor of a release that, by `EMPTY_ODDS`, leaves what was carried before, against any release."""
        if change.kind != RELEASE:
            return 0.0
        _, new = change.adopted(self._payload_std, self._pasts)
        return -math.log(max((1.0 + EMPTY_ODDS) * new, 1e-9))

    def _of_change(self, change: Change, known: float = 0.0) -> float:
        """`possibility` of a change; only what is carried can shift."""
        state, k = change.state, -PARAMETERS
        if change.kind != SHIFT:
            return self.possibility(state, known)
        nothing = nothing_is_carried(state.mean[k], state.covariance[k, k], START_ODDS)
        return math.log(max(SHIFTS * (1.0 - nothing), 1e-300))

    def possibility(self, state: GaussianState, known: float = 0.0) -> float:
        """Log probability that a payload, the last ten entries of a state, has become its present one.

        What is left is the least that was carried before, and more; seldom less. See `log_possibility`.
        known: log Bayes factor that it is one that was known, which can be said only of what is usual.
        """
        P, k = state.covariance, len(state.mean) - PARAMETERS
        before, after, variances = state.mean[k], state.mean[0], np.array([P[k, k], P[0, 0]])
        possible = log_possibility(before, after, variances, self._max_mass, TOO_HEAVY)
        base, empty = least_carried(state, self._pasts)
        if (place := base.start) in (0, k):
            return possible + known
        variances += P[place, place] - 2.0 * P[[k, 0], place]
        least, less = state.mean[place], TAKEN_OFF if self.has_released else 1.0 / (1.0 + EMPTY_ODDS)
        less += (1.0 - less) * empty  # it may have come unnoticed
        usual = log_possibility(before - least, after - least, variances, self._max_mass, LIGHTEST)
        return float(np.logaddexp(math.log(max(1.0 - less, 1e-300)) + usual + known, math.log(less) + possible))


def log_existence(mass: float, variance: float, max_mass: float, error: float) -> float:
    """Log probability that a mass, kg, is neither negative nor above `max_mass`; error: 1 sigma, beside `variance`."""
    scale = math.sqrt(2.0 * (max(variance, 0.0) + error**2))
    return math.log(max(0.25 * math.erfc(-mass / scale) * math.erfc((mass - max_mass) / scale), 1e-300))


def log_possibility(before: float, after: float, variances: FloatArray, max_mass: float, error: float) -> float:
    """`log_existence` of what is there after a change of the mass and, of a release, before.

    Masses in kg, with their `variances` (2,). It is -inf of a change below `LIGHTEST`.
    """
    if abs(after - before) < LIGHTEST:
        return -math.inf
    possible = log_existence(after, variances[1], max_mass, error)
    if after > before:
        return possible
    return possible + math.log(max(1.0 - nothing_is_carried(before, max(variances[0], 0.0), START_ODDS), 1e-300))
