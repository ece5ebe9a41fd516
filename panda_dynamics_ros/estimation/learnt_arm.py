# SPDX-License-Identifier: Apache-2.0
"""The arm's model with what the payload estimator has learnt about it, for external torques and contacts.

Of the errors of `payload.arm_errors`, all but the delay are parameters of a model: inertial vectors of the links,
direction of gravity, friction with its offset, rotor inertia, and a gain of the measured torque. A corrected model
costs as little as the published one. The estimator itself goes on with the published model and its errors as states.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_of_joint
from panda_dynamics_ros.dynamics.momentum import momentum_sample
from panda_dynamics_ros.estimation.contact.detector import ContactDetector
from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms, SampleRows, SampleTerms
from panda_dynamics_ros.estimation.payload.arm_errors import LearntModel
from panda_dynamics_ros.estimation.payload.estimator import PayloadEstimator
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled, place_joints

RENEWAL = 0.5
"""s between two times that external torques and contacts are given what was learnt about the arm."""


@compiled
def arm_terms(table, friction, rotors, gain, q, dq, tau, s, momentum, bias):
    """The arm's column of `regression.momentum_terms`, in place."""
    n = q.shape[0]
    frames, work = scratch((n, 12)), scratch((n, 18))
    p, arm_bias = scratch(n), scratch(n)
    place_joints(table, q, frames)
    momentum_sample(table, frames, dq, work, p, arm_bias)
    for i in range(n):
        momentum[i, ARM] = -p[i] - rotors[i] * dq[i]
        bias[i, ARM] = (1.0 - gain[i]) * tau[i] - friction_of_joint(friction[i], dq[i], s[i]) - arm_bias[i]


@compiled
def arm_rows(table, friction, rotors, gain, q, dq, tau, s, momentum, bias):
    """`arm_terms` of N samples."""
    for k in range(q.shape[0]):
        arm_terms(table, friction, rotors, gain, q[k], dq[k], tau[k], s[k], momentum[k], bias[k])


class LearntArm:
    """Replaces the arm's column of the terms of each sample by that of the learnt model.

    Parameters
    ----------
    observer, detector: which go on, as far as they can, as if the model in use had always been used.
    """

    def __init__(self, observer: MomentumObserver, detector: ContactDetector) -> None:
        self._observer, self._detector = observer, detector
        self._model: LearntModel | None = None
        self._learnt_at = -math.inf

    @property
    def renewal(self) -> float:
        """s, stamp from which it may be time to learn again."""
        return self._learnt_at + RENEWAL

    def update(self, estimator: PayloadEstimator, terms: MomentumTerms | SampleTerms, *sample: FloatArray) -> bool:
        """Go on with what the estimator has learnt, each `RENEWAL` and where the payload changes; whether it was time.

        Not where a residual map knows the arm, or the samples contradict it, and not while something touches it.

        terms, sample: of the published model; q, dq and tau (n,). They stay as they are.
        """
        estimate, contact = estimator.estimate, self._detector.contact
        touched = contact is not None and contact.lasts
        changed = estimate.event is not None and estimate.event.kind != "contact"
        early = self._learnt_at <= estimate.stamp < self.renewal
        is_due = not terms.has_map and not estimate.problem and (changed or not (touched or early))
        if is_due:
            self.use(estimator.learnt_model, terms, *sample)
            self._learnt_at = estimate.stamp
        return is_due

    def use(self, model: LearntModel | None, terms: MomentumTerms | SampleTerms, *sample: FloatArray) -> None:
        """Go on with a model, or with the published one (None); terms and sample as in `update`."""
        momentum, bias = np.empty((2, 2, *terms.momentum.shape))
        for k, each in enumerate((self._model, model)):
            momentum[k], bias[k] = terms.momentum, terms.bias
            if each is not None:
                arm_terms(*each, *sample, terms.s, momentum[k], bias[k])
        self._model = model
        change = momentum[1, :, ARM] - momentum[0, :, ARM], bias[1, :, ARM] - bias[0, :, ARM]
        self._observer.change_arm(*change)
        self._detector.change_arm(*change)

    def apply(self, terms: MomentumTerms, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Change the terms of a sample in place; without a learnt model they stay."""
        if self._model is not None and not terms.has_map:
            arm_terms(*self._model, q, dq, tau, terms.s, terms.momentum, terms.bias)

    def rows(self, rows: SampleRows, first: int) -> SampleRows:
        """The samples from `first` on with the terms of the learnt model."""
        if self._model is None or rows.terms.has_map:
            return rows
        momentum, bias = rows.terms.momentum.copy(), rows.terms.bias.copy()
        samples = (rows.q[first:], rows.dq[first:], rows.tau[first:])
        arm_rows(*self._model, *samples, rows.terms.s[first:], momentum[first:], bias[first:])
        return rows._replace(terms=rows.terms._replace(momentum=momentum, bias=bias))
