# SPDX-License-Identifier: Apache-2.0
"""Tells a changed payload from a contact and from nothing, by the likelihood of either having come on.

Every `spawn_period` a moment is noted at which something may have happened. From then on the filter's innovations
say how well a jump of the payload at that moment explains them, and how well a contact does, which loads the
joints up to the link that it acts on by any torques (`jump_signatures`). Bayes factors compare the two and
nothing: there is no threshold per joint, and the wider hypothesis pays for its freedom by itself. A payload has
to explain seven torques with one body, so a push on a link is recognised by not doing so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.payload.glr_signatures import MOMENTS, JumpSignatures
from panda_dynamics_ros.estimation.payload.jump_evidence import COM_STD, CONTACT_SIZES, PAYLOAD_SIZES, weigh
from panda_dynamics_ros.estimation.payload.kalman_filter import PARAMETERS, Belief, Lesson
from panda_dynamics_ros.estimation.payload.onset_regressors import GatedRegressors
from panda_dynamics_ros.estimation.regression import FilterState, MomentumRegression

# kg: the least jump that is worth an event, and by how much a mass may seem to leave what is possible.
_LEAST_JUMP = 0.1
_LEAST_MASS_DOUBT = 0.15
# By how much evidence a payload must be ahead of a contact: 4 at first, when little more than the sign of its
# torque shows, and 1.5 from a tenth of a second on. A contact is the wider explanation and fits nearly as well.
_FIRST_LEAD, _LAST_LEAD, _LEAD_PERIOD = 4.0, 1.5, 0.1
# A contact changes while it lasts, and ends; for so many s after it more is asked of a payload.
_ONE_CONTACT, _LEAD_AFTER_CONTACT = 0.5, 10.0
# And a contact must be ahead of a payload, and be clear by itself: nothing waits for it.
_CONTACT_LEAD, _CONTACT_THRESHOLD = 3.0, 12.0
# s: what happened so long ago has passed the filters.
_LONG_AGO = 100.0


@dataclass(frozen=True)
class Detection:
    """A change.

    Attributes
    ----------
    kind: "pick", "release" or "contact".
    age: s since it happened.
    jump: what jumped: m and m c (4,), or the torque of a contact (n,).
    belief: the filter's belief, with the jump in it.
    before: (10,), the payload before it.
    filters: of the regressor since the change.
    """

    kind: str
    age: float
    jump: FloatArray
    belief: Belief
    before: FloatArray
    filters: FilterState


class ChangeDetector:
    """Watches the lessons of one filter.

    Parameters
    ----------
    sigma: (n,), N m, standard deviation of the arm's residual.
    prior_covariance: (10, 10), of a payload of which nothing is known.
    max_mass: kg, what the arm can carry.
    threshold: evidence (natural logarithm of the Bayes factor against nothing) that a payload's change needs.
    lifetime, spawn_period: s.
    """

    def __init__(
        self,
        sigma: FloatArray,
        prior_covariance: FloatArray,
        max_mass: float = 3.0,
        threshold: float = 5.0,
        lifetime: float = 0.3,
        spawn_period: float = 0.02,
    ) -> None:
        self._sigma, self._prior_covariance, self._max_mass = sigma, prior_covariance, max_mass
        self._threshold, self._lifetime, self._spawn_period = threshold, lifetime, spawn_period
        # As many moments as live at once, and room for a stream whose period does not divide theirs.
        slots, n = math.ceil(lifetime / spawn_period) + 2, len(sigma)
        self._gates, self._signatures = GatedRegressors(n, slots), JumpSignatures(n, slots)
        self._age = np.full(slots, np.inf)
        self._past, self._risen, self._payload_evidence, self._contact_evidence = np.zeros((4, slots))
        self._since_contact = np.inf
        self.restart()

    def restart(self, unseen: bool = False) -> None:
        """Forget all moments; `unseen`: something may have happened before the regression's filters started."""
        self._age[:], self._past[:] = np.inf, 0.0
        self._alive = np.zeros(0, dtype=np.int64)
        self._since_spawn, self._unseen = np.inf, unseen

    def follow(self, regression: MomentumRegression, dt: float) -> None:
        """Follow the regression through a sample that came `dt` s after the last one; 0 starts it."""
        if dt > 0.0:
            self._gates.step(self._alive, regression, dt)
            self._age[self._alive] += dt
            self._since_spawn += dt
            self._since_contact += dt
        else:
            self._gates.start(regression)

    def learn(self, lesson: Lesson, regression: MomentumRegression) -> None:
        """Follow one lesson of the filter."""
        phase = regression.pole * (self._age + self._past)[self._alive]
        self._risen[self._alive] = 1.0 - (1.0 + phase) * np.exp(-phase)  # unit step through both poles
        self._signatures.step(self._alive, lesson, self._gates.regressors, self._risen)

    def verdict(self, belief: Belief, least_mass: float = 0.0) -> Detection | None:
        """What has happened, if something has; `least_mass` (kg) is what no payload is less than."""
        alive = self._alive
        if not alive.size:
            return None
        weigh(
            alive, self._signatures.L, self._signatures.v, PAYLOAD_SIZES, COM_STD, CONTACT_SIZES, self._sigma,
            self._threshold, self._payload_evidence, self._contact_evidence,
        )  # fmt: skip
        payload = int(alive[np.argmax(self._payload_evidence[alive])])
        contact = int(alive[np.argmax(self._contact_evidence[alive])])
        for_payload, for_contact = self._payload_evidence[payload], self._contact_evidence[contact]
        if for_payload > max(self._threshold, for_contact + self._payload_lead(self._age[payload])):
            detection = self._payload(payload, belief)
            if self._is_possible(detection, least_mass):
                return detection
        if for_contact > max(_CONTACT_THRESHOLD, for_payload + _CONTACT_LEAD):
            self._since_contact = 0.0
            return self._contact(contact, belief)
        return None

    def _payload_lead(self, age: float) -> float:
        """By how much evidence a payload that came on `age` s ago has to be ahead of a contact."""
        lead = _FIRST_LEAD + (_LAST_LEAD - _FIRST_LEAD) * min(1.0, age / _LEAD_PERIOD)
        return lead + (_LEAD_AFTER_CONTACT if self._since_contact < _ONE_CONTACT else 0.0)

    def spawn(self, regression: MomentumRegression) -> None:
        """Note this moment, if it is time to, and forget those that are too old."""
        if self._since_spawn >= self._spawn_period - 1e-6:
            self._since_spawn = 0.0
            self._age[self._age > self._lifetime] = np.inf
            slot = int(np.argmax(self._age))
            self._age[slot] = 0.0
            self._past[slot] = 0.0
            if self._unseen:
                self._past[slot], self._unseen = _LONG_AGO, False
                self._gates.open_whole(slot, regression)
            else:
                self._gates.open(slot, regression)
            self._signatures.open(slot)
            self._alive = np.flatnonzero(np.isfinite(self._age))

    def _payload(self, slot: int, belief: Belief) -> Detection:
        """The payload has changed: (m, m c) by what the data says from a wide prior, the inertia is unknown again."""
        P, inertia = self._prior_covariance, slice(MOMENTS, PARAMETERS)
        detection = self._moved(slot, slice(0, MOMENTS), P[:MOMENTS, :MOMENTS], 0, belief)
        changed = detection.belief
        changed.mean[inertia] = 0.0
        changed.covariance[inertia, :] = changed.covariance[:, inertia] = 0.0
        changed.covariance[inertia, inertia] = P[inertia, inertia]
        return replace(detection, kind="pick" if detection.jump[0] > 0.0 else "release")

    def _contact(self, slot: int, belief: Belief) -> Detection:
        """Something touches the arm: the disturbance has jumped, the payload is what it was before."""
        widest = np.diag((CONTACT_SIZES[-1] * self._sigma) ** 2)
        return self._moved(slot, slice(MOMENTS, None), widest, PARAMETERS, belief)

    def _moved(self, slot: int, columns: slice, prior: FloatArray, state: int, belief: Belief) -> Detection:
        """The jump of `columns` in a slot, from its prior covariance, and the belief with it in.

        The filter's state has to move by the jump itself, which sits at `state` in it, less what the filter has
        already made of it (Willsky and Jones, incrementing the filter).
        """
        signatures = self._signatures
        L, v, made = signatures.L[slot, columns, columns], signatures.v[slot, columns], signatures.X[slot, :, columns]
        covariance: FloatArray = np.asarray(np.linalg.inv(L + np.linalg.inv(prior)), dtype=np.float64)
        jump = covariance @ v
        effect = -made
        before = belief.mean[:PARAMETERS] + effect[:PARAMETERS] @ jump
        size = np.arange(len(jump))
        effect[state + size, size] += 1.0
        return Detection(
            kind="contact",
            age=float(self._age[slot] + self._past[slot]),
            jump=jump,
            belief=belief.moved(effect, jump, covariance),
            before=before,
            filters=self._gates.state(slot),
        )

    def _is_possible(self, detection: Detection, least_mass: float) -> bool:
        """Whether the mass can change so: only what is there can be put down, what is too heavy is not held."""
        held, jump = float(detection.before[0]) - least_mass, float(detection.jump[0])
        doubt = _LEAST_MASS_DOUBT + math.sqrt(detection.belief.covariance[0, 0])
        if jump > 0.0:
            return jump > _LEAST_JUMP and held + jump < self._max_mass + doubt
        return jump < -_LEAST_JUMP and held > _LEAST_JUMP and held + jump > -doubt
