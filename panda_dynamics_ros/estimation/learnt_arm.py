# SPDX-License-Identifier: Apache-2.0
"""The arm's model with what the payload estimator has learnt about it, for external torques and contacts.

Of the errors of `payload.arm_errors`, all but the delay are parameters of a model: inertial vectors of the links,
direction of gravity, friction with its offset, rotor inertia, and a gain of the measured torque. A corrected model
costs as little as the published one. The estimator itself goes on with the published model and its errors as states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_sample
from panda_dynamics_ros.dynamics.momentum import momentum_sample
from panda_dynamics_ros.estimation.regression import ARM, MomentumTerms
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled, place_joints


class LearntModel(NamedTuple):
    """`RobotDescription.table`, `Friction.table`, rotor inertia (n,), kg m^2, and gain (n,) of the measured torque."""

    table: FloatArray
    friction: FloatArray
    rotors: FloatArray
    gain: FloatArray


@compiled
def arm_terms(table, friction, rotors, gain, q, dq, tau, momentum, bias):
    """The arm's column of `regression.momentum_terms`, in place."""
    n = q.shape[0]
    frames, work = scratch((n, 12)), scratch((n, 18))
    p, arm_bias, friction_torque = scratch(n), scratch(n), scratch(n)
    place_joints(table, q, frames)
    momentum_sample(table, frames, dq, work, p, arm_bias)
    friction_sample(friction, dq, friction_torque)
    for i in range(n):
        momentum[i, ARM] = -p[i] - rotors[i] * dq[i]
        bias[i, ARM] = (1.0 - gain[i]) * tau[i] - friction_torque[i] - arm_bias[i]


class LearntArm:
    """Replaces the arm's column of the terms of each sample by that of the learnt model."""

    def __init__(self) -> None:
        self._model: LearntModel | None = None

    def apply(self, terms: MomentumTerms, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        """Change the terms of a sample in place; without a learnt model they stay."""
        if self._model is not None:
            arm_terms(*self._model, q, dq, tau, terms.momentum, terms.bias)

    def learn(
        self, model: LearntModel, terms: MomentumTerms, q: FloatArray, dq: FloatArray, tau: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Go on with another model; returns the change of the arm's momentum and bias (n,) in this sample."""
        self.apply(terms, q, dq, tau)
        before = terms.momentum[:, ARM].copy(), terms.bias[:, ARM].copy()
        self._model = model
        self.apply(terms, q, dq, tau)
        return terms.momentum[:, ARM] - before[0], np.subtract(terms.bias[:, ARM], before[1])
