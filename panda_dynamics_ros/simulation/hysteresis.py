# SPDX-License-Identifier: Apache-2.0
"""Dahl's friction: Coulomb friction that builds up over a distance, and remembers which way it came.

ds/dt = (dq - |dq| s) / distance,   tau = coulomb * s,   -1 <= s <= 1
(P. Dahl, "A solid friction model", 1968, with exponent 1; the LuGre model without its Stribeck curve). At a
standstill s keeps its value (stiction); after a reversal it takes some `distance` to turn (hysteresis).
"""

from __future__ import annotations

import math

from panda_dynamics_ros.kernels.vectors import compiled


@compiled
def dahl_step(state, dq, timestep, distance):
    """Move s (n,), in place, along one step of constant velocities dq (n,): exact for any step."""
    for i in range(state.shape[0]):
        way = abs(dq[i]) * timestep
        direction = 1.0 if dq[i] > 0.0 else -1.0
        state[i] = direction + (state[i] - direction) * math.exp(-way / distance)
