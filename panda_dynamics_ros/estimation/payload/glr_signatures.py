# SPDX-License-Identifier: Apache-2.0
"""What a jump would have done to the innovations of a Kalman filter that does not know of it.

Willsky and Jones, "A generalized likelihood ratio approach to the detection and estimation of jumps in linear
systems", IEEE TAC 1976. The filter is linear: a jump delta that enters the measurement as G_k delta moves the
filter's state by X_k delta and its innovations by g_k delta, with

    g_k = G_k - H_k X_k,    X_k <- X_k + K_k g_k,    X_k+1 = F X_k,

so that L = sum g' S^-1 g and v = sum g' S^-1 nu are all that the data says about delta, and the filter runs once.
A jump is a payload's (m, m c), behind its gated regressor, beside a contact's torque on every joint, which rises
through the same low-pass filters.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.estimation.payload.kalman_filter import Lesson
from panda_dynamics_ros.estimation.regression import PARAMETERS
from panda_dynamics_ros.kernels.vectors import compiled

MOMENTS = 4
"""Parameters of a payload's jump that show at once: m and m c."""


@compiled
def follow(slots, decay, Y, gain, innovation, spread, gated, risen, X, L, v):
    """Take a prediction and a correction of the filter into every slot, in place.

    decay (n,): of the disturbance in the prediction. Y (n, 10), gain (n, 10 + n), innovation and spread (n,): of the
    correction, joint after joint. gated (slots, n, 10), risen (slots,): torque of unit jumps.
    """
    n, size = gain.shape
    columns = MOMENTS + n
    g = np.empty(columns)
    for slot in slots:
        for i in range(n):
            for c in range(columns):
                X[slot, PARAMETERS + i, c] *= decay[i]
        for i in range(n):
            for c in range(columns):
                g[c] = -X[slot, PARAMETERS + i, c]
                for k in range(PARAMETERS):
                    g[c] -= Y[i, k] * X[slot, k, c]
            for c in range(MOMENTS):
                g[c] += gated[slot, i, c]
            g[MOMENTS + i] += risen[slot]
            for c in range(columns):
                weighted = g[c] / spread[i]
                v[slot, c] += weighted * innovation[i]
                for r in range(columns):
                    L[slot, r, c] += g[r] * weighted
            for k in range(size):
                for c in range(columns):
                    X[slot, k, c] += gain[i, k] * g[c]


class JumpSignatures:
    """Signatures of jumps in numbered slots, each of which belongs to one moment.

    Attributes
    ----------
    X: (slots, 10 + n, 4 + n), what a unit jump has done to the filter's state.
    L, v: (slots, 4 + n, 4 + n) and (slots, 4 + n), the data's information on the jump.
    """

    def __init__(self, n: int, slots: int) -> None:
        columns = MOMENTS + n
        self.X = np.zeros((slots, PARAMETERS + n, columns))
        self.L, self.v = np.zeros((slots, columns, columns)), np.zeros((slots, columns))

    def open(self, slot: int) -> None:
        """Let `slot` stand for a jump now."""
        self.X[slot] = self.L[slot] = self.v[slot] = 0.0

    def step(self, slots: np.ndarray, lesson: Lesson, gated: np.ndarray, risen: np.ndarray) -> None:
        """Follow one lesson of the filter."""
        follow(
            slots, lesson.decay, lesson.Y, lesson.gain, lesson.innovation, lesson.spread, gated, risen,
            self.X, self.L, self.v,
        )  # fmt: skip
