# SPDX-License-Identifier: Apache-2.0
"""Samples of an arm, and the payloads that the benchmark lets it carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.checks import FloatArray

MASSES = (0.0, 0.2, 0.5, 1.0, 2.0, 3.0)
TIMES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
"""s after the payload came on, when the estimates are looked at."""
SCORED = (1.0, 2.0, 5.0, 10.0)
"""Those of them that go into the tables."""


@dataclass(frozen=True, eq=False)
class Samples:
    """stamp (N,) s; q, dq, tau (N, n), rad, rad/s, N m."""

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    tau: FloatArray

    def between(self, start: float, end: float) -> Samples:
        """Those with start <= stamp <= end."""
        k = slice(np.searchsorted(self.stamp, start - 1e-9), np.searchsorted(self.stamp, end + 1e-9))
        return Samples(self.stamp[k], self.q[k], self.dq[k], self.tau[k])

    def with_torques(self, extra: FloatArray) -> Samples:
        """The same motion with `extra` (N, n) on top of the torques."""
        return Samples(self.stamp, self.q, self.dq, self.tau + extra)


def body(mass: float, seed: int | None = None) -> InertialParameters:
    """A payload of `mass` kg off the flange's axis; the size of a hand, which is its radius of gyration.

    Without a seed its CoM is at (20, -15, 60) mm, where the figures of the public log were taken.
    """
    if mass == 0.0:
        return InertialParameters.zero()
    com = np.array([0.02, -0.015, 0.06])
    if seed is not None:
        rng = np.random.default_rng([seed, round(1e3 * mass)])
        angle = rng.uniform(0.0, 2.0 * np.pi)
        radius = rng.uniform(0.015, 0.05)
        com = np.array([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(0.03, 0.1)])
    return InertialParameters(mass, com, mass * np.diag([0.004, 0.004, 0.003]))
