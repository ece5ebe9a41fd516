# SPDX-License-Identifier: Apache-2.0
"""Periodic motions that begin and end at rest.

With w = 2 pi / period (Swevers et al., IEEE T-RA 13(5), 1997, eq. (17)):
    dq(t) = sum_k a_k cos(w k t) + b_k sin(w k t),    sum_k a_k = 0 and sum_k k b_k = 0,
so that velocity and acceleration are zero at t = 0 and after each period: the arm can wait there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """Attributes: centre (n,), rad; cosine, sine (n, H), rad/s, the velocity's coefficients; period, s."""

    centre: FloatArray
    cosine: FloatArray
    sine: FloatArray
    period: float

    def __post_init__(self) -> None:
        for name in ("centre", "cosine", "sine"):
            object.__setattr__(self, name, checks.read_only(checks.real_array(getattr(self, name), name)))

    def __call__(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, dq, ddq (N, n) at times t (N,), s."""
        wk = 2.0 * np.pi / self.period * np.arange(1, self.cosine.shape[1] + 1)
        s, c = np.sin(np.outer(t, wk)), np.cos(np.outer(t, wk))
        q = self.centre + (s / wk) @ self.cosine.T - (c / wk) @ self.sine.T
        return q, c @ self.cosine.T + s @ self.sine.T, (c * wk) @ self.sine.T - (s * wk) @ self.cosine.T


def at_rest(cosine: FloatArray, sine: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest coefficients (n, H) of a motion that begins at rest."""
    k = np.arange(1.0, cosine.shape[1] + 1)
    return cosine - cosine.mean(axis=1, keepdims=True), sine - np.outer(sine @ k / (k @ k), k)
