# SPDX-License-Identifier: Apache-2.0
"""An arm whose truth is known, and recordings of it."""

from dataclasses import replace

import numpy as np
from motion import coloured, sinusoids

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.identification.procedure import FREE
from panda_dynamics_ros.identification.regression import TRANSITION, PriorScale

PLAIN = PriorScale(FREE, FREE, 0.0, 0.0)
"""Ordinary least squares over base parameters and friction: the prior fixes only what the data does not determine."""


def other_arm(robot: pdr.RobotModel, rng: np.random.Generator) -> pdr.RobotModel:
    """An arm of the same kind: masses off by 5 %, centres of mass by 1 cm, friction within the model."""
    links = [
        pdr.InertialParameters(
            link.mass * (1.0 + 0.05 * rng.normal()),
            link.com + 0.01 * rng.normal(size=3),
            link.inertia + 1e-3 * np.eye(3),
        )
        for link in robot.links
    ]
    n = robot.n
    f, viscous = robot.friction, robot.friction.viscous + 0.05 * rng.normal(size=n)
    coulomb, offset = 0.1 * rng.normal(size=(2, n))
    friction = replace(f, viscous=viscous, coulomb=coulomb, offset=offset, transition=np.full(n, TRANSITION))
    return replace(robot, links=tuple(links), friction=friction)


def record(
    arm: pdr.RobotModel, duration: float = 20.0, rng: np.random.Generator | None = None, scale: float = 0.3
) -> pdr.JointDataset:
    """Samples at 200 Hz; with `rng`, a coloured disturbance of `scale` times the residual of the real arm."""
    motion = sinusoids(duration, rate=200.0)
    s, _ = presliding_states(motion.q)
    tau = arm.inverse_dynamics(motion.q, motion.dq, motion.ddq) + arm.friction_torques(motion.dq, s)
    if rng is not None:
        tau = tau + scale * coloured(arm, motion.stamp, rng)
    return pdr.JointDataset(motion.stamp, motion.q, motion.dq, tau, arm.joint_names, "simulated")
