# SPDX-License-Identifier: Apache-2.0
"""Detects that the payload has changed, or that something touches the arm, from the innovations of the Kalman filter.

Every `onset_period` the detector adds a hypothesis: that a change happened at this onset. From then on the filter's
innovations say how well a jump of the payload at that onset explains them, and how well a contact does, which loads
the joints up to its link by any torques (`glr_signatures`). Bayes factors compare the two with no change at all. There
is no threshold per joint, and the wider hypothesis is penalised for its freedom. One payload has to explain seven
torques, which a push on a link does not achieve: this is what tells a contact from a pick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.payload.glr_signatures import (
    COM_STD,
    CONTACT_SIZES,
    MOMENTS,
    PAYLOAD_SIZES,
    GlrSignatures,
    log_bayes_factors,
    tempered,
)
from panda_dynamics_ros.estimation.payload.kalman_filter import FilterStep, GaussianState
from panda_dynamics_ros.estimation.payload.onset_regressors import OnsetRegressors
from panda_dynamics_ros.estimation.regression import FilterState, MomentumRegression
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS

# kg: the smallest jump that makes an event, and by how much a mass may exceed what is possible.
_SMALLEST_JUMP = 0.1
_MASS_TOLERANCE = 0.15
# Where a residual map knows the arm: the smallest jump, and by how much more evidence a change needs. What is left of
# the residual is small, but has more large values than a normal distribution: a jerk on the public log has six sigmas.
_SMALLEST_KNOWN, _KNOWN_LEAD = 0.04, 4.0
# By how much evidence a payload must exceed a contact: 4 at first, when little more than the sign of its torque shows,
# and 1.5 from a tenth of a second on. A contact is the wider explanation and fits nearly as well.
_FIRST_LEAD, _LAST_LEAD, _LEAD_PERIOD = 4.0, 1.5, 0.1
# A contact changes while it lasts, and ends, and a person who guides the arm touches it again: for so many s a payload
# needs more evidence; and for `_START` s after the start, when somebody may guide the arm already.
_CONTACT_DURATION, _START, _LEAD_AFTER_CONTACT = 2.0, 1.3, 10.0
# A contact must exceed a payload by this, and needs this much by itself: no output waits for it.
_CONTACT_LEAD, _CONTACT_THRESHOLD = 3.0, 12.0
# s: a change this long ago has passed the filters completely.
_LONG_AGO = 100.0


@compiled
def free_slot(age, lifetime, alive):
    """The slot of the oldest onset, or of none, for one of age 0 now; those older than `lifetime` are dropped.

    Slots with an onset into the first entries of `alive`, whose count is returned, too.
    """
    slot, count = 0, 0
    for k in range(age.shape[0]):
        if age[k] > lifetime:
            age[k] = math.inf
        if age[k] > age[slot]:
            slot = k
    age[slot] = 0.0
    for k in range(age.shape[0]):
        if age[k] < math.inf:
            alive[count] = k
            count += 1
    return slot, count


@compiled
def step_responses(slots, pole, age, past, responses):
    """What a unit step at the onset of each slot has become after both poles, in place."""
    for slot in slots:
        phase = pole * (age[slot] + past[slot])
        responses[slot] = 1.0 - (1.0 + phase) * math.exp(-phase)


@dataclass(frozen=True)
class Detection:
    """A change.

    Attributes
    ----------
    kind: "pick", "release" or "contact".
    age: s since its onset.
    jump: of m and m c (4,), or the torque of a contact (n,), N m.
    state: the filter's state with the jump included.
    before: (10,), the payload before it, with before_covariance: (10, 10), and before_cross: (N, 10), its covariance
        with the state.
    slot: of its hypothesis, see `filters`.
    """

    kind: str
    age: float
    jump: FloatArray
    state: GaussianState
    before: FloatArray
    before_covariance: FloatArray
    before_cross: FloatArray
    slot: int


class ChangeDetector:
    """Compares hypotheses of recent changes by the steps of one filter.

    Parameters
    ----------
    sigma: (n,), N m, standard deviation of the arm's residual.
    prior_covariance: (10, 10), of an unknown payload.
    max_mass: kg, the heaviest payload of this arm.
    threshold: evidence (natural logarithm of the Bayes factor against no change) that a payload's change needs.
    onset_lifetime: s, for which a hypothesis is followed; onset_period: s, between two onsets.
    errors: how many errors of the arm's model the filter's state has.
    """

    def __init__(
        self,
        sigma: FloatArray,
        prior_covariance: FloatArray,
        max_mass: float = 3.0,
        threshold: float = 6.0,
        onset_lifetime: float = 0.3,
        tentative: float = 0.5,
        onset_period: float = 0.02,
        errors: int = 0,
    ) -> None:
        self._sigma, self._prior_covariance, self._max_mass = sigma, prior_covariance, max_mass
        self._tentative, self.pending = tentative, None
        self._threshold, self._onset_lifetime, self._onset_period = threshold, onset_lifetime, onset_period
        # As many slots as hypotheses live at once, and two more for a stream whose period does not divide theirs.
        slots, n = math.ceil(onset_lifetime / onset_period) + 2, len(sigma)
        self._onset_regressors, self._signatures = OnsetRegressors(n, slots), GlrSignatures(n, slots, errors)
        self._age, self._slots = np.full(slots, np.inf), np.zeros(slots, dtype=np.int64)
        self._past, self._step_response, self._payload_evidence, self._contact_evidence = np.zeros((4, slots))
        self._since_contact, self._elapsed = _CONTACT_DURATION - _START, 0.0
        self.known = 0.0
        """Share of the residual's variance that a residual map explains at present."""
        self.restart()

    def restart(self, after_gap: bool = False) -> None:
        """Drop all hypotheses; `after_gap`: the first new one is a change before the regression's filters started."""
        self._age[:], self._past[:] = np.inf, 0.0
        self.pending = None
        self._since_contact += self._elapsed
        self._elapsed = 0.0
        self._alive = np.zeros(0, dtype=np.int64)
        self._since_last_onset, self._after_gap = np.inf, after_gap

    def follow_sample(self, pole: float, dt: float) -> None:
        """Follow the regression through a sample that came `dt` s after the last one, above 0; pole: rad/s, its own."""
        self._onset_regressors.step(pole, dt)
        self._elapsed += dt

    def follow_samples(self, pole: float, steps: FloatArray) -> None:
        """`follow_sample` with N samples."""
        self._onset_regressors.steps(pole, steps)
        for dt in steps.tolist():
            self._elapsed += dt

    def follow_filter(self, step: FilterStep, regression: MomentumRegression) -> None:
        """Follow one step of the filter."""
        step_responses(self._alive, regression.pole, self._age, self._past, self._step_response)
        regressors = self._onset_regressors.regressors(regression)
        self._signatures.update(self._alive, step, regressors, self._step_response)

    def add_hypothesis(self, regression: MomentumRegression) -> None:
        """Add a change at this sample to the hypotheses, once each `onset_period`, and drop those that are too old."""
        self._age += self._elapsed
        self._since_last_onset += self._elapsed
        self._since_contact += self._elapsed
        self._elapsed = 0.0
        if self.pending is None and self._since_last_onset >= self._onset_period - 1e-6:
            self._since_last_onset = 0.0
            slot, count = free_slot(self._age, self._onset_lifetime, self._slots)
            self._past[slot] = 0.0
            if self._after_gap:
                self._past[slot], self._after_gap = _LONG_AGO, False
                self._onset_regressors.start_settled(slot)
            else:
                self._onset_regressors.start(slot, regression)
            self._signatures.start(slot)
            self._alive = self._slots[:count]

    def detect(self, state: GaussianState, least_mass: float = 0.0) -> Detection | None:
        """The change that the evidence is clear about, if any; no payload weighs less than `least_mass` (kg)."""
        alive = self._alive
        if not alive.size:
            return None
        log_bayes_factors(
            alive, self._signatures.L, self._signatures.v, PAYLOAD_SIZES, COM_STD, CONTACT_SIZES, self._sigma,
            self._threshold, self._payload_evidence, self._contact_evidence,
        )  # fmt: skip
        lead = _KNOWN_LEAD * self.known
        payload = int(alive[np.argmax(self._payload_evidence[alive])])
        contact = int(alive[np.argmax(self._contact_evidence[alive])])
        for_payload, for_contact = self._payload_evidence[payload], self._contact_evidence[contact]
        if self.pending is not None:
            is_payload = self.pending.kind != "contact"
            if is_payload and for_contact > for_payload + _CONTACT_LEAD:
                is_payload = False
            elif not is_payload and for_payload > for_contact + _CONTACT_LEAD:
                is_payload = self._is_possible(self._payload_change(payload, state), least_mass)
            self.pending = self._payload_change(payload, state) if is_payload else self._contact(contact, state)
            return self.pending
        chi, least = self._signatures.chi, _CONTACT_THRESHOLD + lead
        if tempered(for_payload, chi[payload]) > least and for_payload > for_contact + self._payload_lead(self._age[payload]):
            detection = self._payload_change(payload, state)
            if self._is_possible(detection, least_mass):
                self.pending = detection
                return detection
        if tempered(for_contact, chi[contact]) > least and for_contact > for_payload + _CONTACT_LEAD:
            self._since_contact = 0.0
            self.pending = self._contact(contact, state)
            return self.pending
        return None

    @property
    def is_complete(self) -> bool:
        """Whether the pending change has passed the low-pass filters."""
        return self.pending is not None and self.pending.age >= self._tentative

    def _payload_lead(self, age: float) -> float:
        """By how much evidence a payload that appeared `age` s ago must exceed a contact."""
        lead = _FIRST_LEAD + (_LAST_LEAD - _FIRST_LEAD) * min(1.0, age / _LEAD_PERIOD)
        return lead + (_LEAD_AFTER_CONTACT if self._since_contact < _CONTACT_DURATION else 0.0)

    def _payload_change(self, slot: int, state: GaussianState) -> Detection:
        """The payload has changed: (m, m c) from the data and a wide prior; the inertia is unknown again."""
        P, inertia = self._prior_covariance, slice(MOMENTS, PARAMETERS)
        detection = self._jump(slot, slice(0, MOMENTS), P[:MOMENTS, :MOMENTS], 0, state)
        kind = "pick" if detection.jump[0] > 0.0 else "release"
        if kind == "pick":
            detection = _if_empty_before(detection, P)
        changed = detection.state
        changed.mean[inertia] = 0.0
        changed.covariance[inertia, :] = changed.covariance[:, inertia] = 0.0
        changed.covariance[inertia, inertia] = P[inertia, inertia]
        return replace(detection, kind=kind)

    def _contact(self, slot: int, state: GaussianState) -> Detection:
        """Something touches the arm: the disturbance has jumped, the payload is what it was before."""
        widest = np.diag((CONTACT_SIZES[-1] * self._sigma) ** 2)
        return self._jump(slot, slice(MOMENTS, None), widest, PARAMETERS, state)

    def _jump(self, slot: int, columns: slice, prior: FloatArray, first: int, state: GaussianState) -> Detection:
        """The jump of `columns` in a slot, given its prior covariance, and the state with the jump included.

        The state changes by the jump itself, whose entries start at `first`, less what the filter has already made
        of it (Willsky and Jones, incrementing the filter).
        """
        signatures = self._signatures
        L, v, X = signatures.L[slot, columns, columns], signatures.v[slot, columns], signatures.X[:, columns, slot]
        covariance: FloatArray = np.asarray(np.linalg.inv(L + np.linalg.inv(prior)), dtype=np.float64)
        jump = covariance @ v
        effect = -X
        taken = effect[:PARAMETERS].copy()  # before = theta of the filter less what it has made of the jump
        size = np.arange(len(jump))
        effect[first + size, size] += 1.0
        return Detection(
            kind="contact",
            age=float(self._age[slot] + self._past[slot]),
            jump=jump,
            state=state.with_jump(effect, jump, covariance),
            before=state.mean[:PARAMETERS] + taken @ jump,
            before_covariance=state.covariance[:PARAMETERS, :PARAMETERS] + taken @ covariance @ taken.T,
            before_cross=state.covariance[:, :PARAMETERS] + effect @ covariance @ taken.T,
            slot=slot,
        )

    def filters(self, slot: int, regression: MomentumRegression) -> FilterState:
        """Filters of the regressor since the onset of a hypothesis."""
        return self._onset_regressors.state(slot, regression)

    def _is_possible(self, detection: Detection, least_mass: float) -> bool:
        """Whether the mass can change so: only what is held can be released, and it cannot become too heavy."""
        held, jump = float(detection.before[0]) - least_mass, float(detection.jump[0])
        tolerance = _MASS_TOLERANCE + math.sqrt(detection.state.covariance[0, 0])
        smallest = _SMALLEST_JUMP + self.known * (_SMALLEST_KNOWN - _SMALLEST_JUMP)
        if jump > 0.0:
            return jump > smallest and held + jump < self._max_mass + tolerance
        return jump < -smallest and held > smallest and held + jump > -tolerance


EMPTY_ODDS = 10.0


def _if_empty_before(detection: Detection, prior: FloatArray) -> Detection:
    """The same pick, given that nothing was carried before it, if that is the more probable.

    The Bayes factor of an empty hand against a payload of the prior is the ratio of posterior and prior density at zero
    (Dickey 1971).
    """
    b, P = detection.before, detection.before_covariance
    log_ratio = 0.5 * (math.log(prior[0, 0] / P[0, 0]) - b[0] ** 2 / P[0, 0])
    empty = 1.0 / (1.0 + math.exp(-min(log_ratio, 50.0)) / EMPTY_ODDS)
    cross = detection.before_cross
    gain = np.linalg.solve(P, cross.T).T
    state = detection.state
    change = -gain @ b
    covariance = state.covariance - empty * gain @ cross.T + empty * (1.0 - empty) * np.outer(change, change)
    changed = GaussianState(state.mean + empty * change, covariance)
    jump = changed.mean[:MOMENTS] - (1.0 - empty) * b[:MOMENTS]
    return replace(detection, state=changed, before=(1.0 - empty) * b, jump=jump)
