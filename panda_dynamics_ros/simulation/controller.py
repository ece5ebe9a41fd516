# SPDX-License-Identifier: Apache-2.0
"""The controller of the simulated arm: computed torque along a reference, with the nominal model.

u = M(q) c + C(q, dq) dq + g(q) + armature c,   c = ddq_d + stiffness (q_d - q) + damping (dq_d - dq),
clipped to the joints' effort limits. Like the real controller it knows neither payload nor friction.
"""

from __future__ import annotations

from panda_dynamics_ros.dynamics.newton_euler import newton_euler_of_one
from panda_dynamics_ros.kernels.vectors import compiled

STIFFNESS = 40.0**2  # 1/s^2: errors decay at 40 rad/s, critically damped
DAMPING = 2.0 * 40.0  # 1/s


@compiled
def computed_torque(table, armature, effort, q, dq, reference, command, u):
    """Motor torques u (n,). `reference` (3, n): q_d, dq_d, ddq_d; `command` (n,): workspace."""
    for i in range(q.shape[0]):
        correction = STIFFNESS * (reference[0, i] - q[i]) + DAMPING * (reference[1, i] - dq[i])
        command[i] = reference[2, i] + correction
    newton_euler_of_one(table, 1.0, q, dq, command, u)
    for i in range(q.shape[0]):
        u[i] = min(max(u[i] + armature[i] * command[i], -effort[i]), effort[i])
