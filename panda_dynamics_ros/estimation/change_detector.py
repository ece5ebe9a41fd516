# SPDX-License-Identifier: Apache-2.0
"""Tells a changed payload from a contact and from nothing, by a bank of hypotheses.

Every `spawn_period` two filters branch off the main one: in one the payload has just jumped, in the other the
disturbance has (a contact loads the joints before it by any pattern). Each lives for `lifetime`. Their
log-likelihood over that time against the main filter's is the evidence; a Bayesian comparison needs no
threshold per joint, and the wider hypothesis pays for its freedom by itself. A payload has to explain seven
torques with one body, so a push on a link is recognised by not doing so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.disturbance_filter import PARAMETERS, Belief, correct, predict
from panda_dynamics_ros.robot import ResidualModel

# How far a payload jumps, at one sigma: kg, kg m, kg m^2. Larger jumps are seen all the sooner.
_PAYLOAD_JUMP = np.diag(np.array([0.3, *[0.03] * 3, *[1e-3] * 6]) ** 2)
# kg: the least jump that is worth a new start, and by how much a mass may seem to fall below what is possible.
_LEAST_JUMP = 0.1
_LEAST_MASS_DOUBT = 0.15
# By how much evidence an explanation must be ahead of the other. A payload starts well ahead, having four
# parameters that matter to a contact's seven; one whose lead is gone does not fit. While a payload's torque
# still rises through the filters its pattern is not clear, so a contact has to wait, too.
_PAYLOAD_LEAD = 6.0
_CONTACT_LEAD = 4.0
# A contact's torque at one sigma, in standard deviations of the residual.
_CONTACT_JUMP = 3.0


@dataclass
class _Hypothesis:
    start: Belief
    payload: Belief
    contact: Belief
    age: float = 0.0
    payload_evidence: float = 0.0
    contact_evidence: float = 0.0


@dataclass(frozen=True)
class Detection:
    """A change: its kind, the belief before it and its age (s), and the belief that takes it for a contact."""

    kind: str
    before: Belief
    age: float
    contact: Belief


class ChangeDetector:
    """The bank of hypotheses about the last `lifetime` seconds.

    Parameters
    ----------
    residual: the arm's residual model.
    threshold: evidence (natural logarithm of the Bayes factor) that a change needs.
    lifetime, spawn_period: s.
    """

    def __init__(
        self, residual: ResidualModel, threshold: float = 4.0, lifetime: float = 0.15, spawn_period: float = 0.05
    ) -> None:
        self._residual = residual
        self._threshold, self._lifetime, self._spawn_period = threshold, lifetime, spawn_period
        self._bank: list[_Hypothesis] = []
        self._since_spawn = np.inf

    def restart(self) -> None:
        """Forget all hypotheses."""
        self._bank.clear()
        self._since_spawn = np.inf

    def spawn(self, belief: Belief, dt: float) -> None:
        """Branch off the main filter, before it takes in the sample that came `dt` s after the last one."""
        self._since_spawn += dt
        if self._since_spawn < self._spawn_period:
            return
        self._since_spawn = 0.0
        payload = belief.copy()
        payload.covariance[:PARAMETERS, :PARAMETERS] += _PAYLOAD_JUMP
        contact = belief.with_new_disturbance(_CONTACT_JUMP * self._residual.std)
        self._bank.append(_Hypothesis(belief.copy(), payload, contact))

    def test(
        self,
        dt: float,
        motion_time: float,
        Y: FloatArray,
        y: FloatArray,
        variance: FloatArray,
        log_likelihood: float,
        least_mass: float = 0.0,
    ) -> Detection | None:
        """Take the sample into every hypothesis; `log_likelihood` is the main filter's for the same sample.

        `least_mass` (kg) is what no payload is less than: minus the mass of a tared tool.
        """
        sigma, correlation_time = self._residual.std, self._residual.correlation_time
        for hypothesis in self._bank:
            for branch, name in ((hypothesis.payload, "payload_evidence"), (hypothesis.contact, "contact_evidence")):
                predict(branch.mean, branch.covariance, motion_time, sigma, correlation_time)
                gained = correct(branch.mean, branch.covariance, Y, y, variance) - log_likelihood
                setattr(hypothesis, name, getattr(hypothesis, name) + gained)
            hypothesis.age += dt
        detection = self._verdict(least_mass)
        self._bank = [hypothesis for hypothesis in self._bank if hypothesis.age < self._lifetime]
        return detection

    def _verdict(self, least_mass: float) -> Detection | None:
        if not self._bank:
            return None
        payload = max(self._bank, key=lambda hypothesis: hypothesis.payload_evidence)
        contact = max(self._bank, key=lambda hypothesis: hypothesis.contact_evidence)
        for_payload, for_contact = payload.payload_evidence, contact.contact_evidence
        held = payload.start.mean[0] - least_mass
        jump = payload.payload.mean[0] - payload.start.mean[0]
        if _is_possible(held, jump) and for_payload > max(self._threshold, for_contact + _PAYLOAD_LEAD):
            kind = "pick" if jump > 0.0 else "release"
        elif for_contact > max(self._threshold, for_payload) + _CONTACT_LEAD:
            kind = "contact"
        else:
            return None
        # The oldest branch left before the change began to show, so that none of it is in its disturbance.
        oldest = self._bank[0]
        return Detection(kind, oldest.start, oldest.age, contact.contact)


def _is_possible(held: float, jump: float) -> bool:
    """Whether a mass of `held` kg can change by `jump` kg: only what is there can be put down."""
    if jump > 0.0:
        return jump > _LEAST_JUMP
    return jump < -_LEAST_JUMP and held > _LEAST_JUMP and held + jump > -_LEAST_MASS_DOUBT
