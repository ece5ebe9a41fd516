# SPDX-License-Identifier: Apache-2.0
"""Pandas that differ from the published model in one way each, and their torques along a motion.

Nothing here is fitted to a motion: each kind is a number that a person can check, drawn anew for each seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import panda_dynamics_ros as pdr
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.simulation.realism import perturbed_body

Motion = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Arm:
    """`robot` with its true inertias, gravity and friction, and what its torque signal adds.

    sensed: from torques (N, n), dq and ddq (N, n) to the torques that are measured. late: s.
    """

    robot: RobotModel
    sensed: Callable[[FloatArray, FloatArray, FloatArray], FloatArray] = lambda tau, dq, ddq: tau
    late: float = 0.0

    def torques(self, motion: Motion) -> FloatArray:
        """(N, n), N m, link side, along q, dq, ddq."""
        return self.robot.inverse_dynamics(*motion) + self.robot.friction_torques(motion[1])


def published() -> RobotModel:
    """The model that the estimator is given."""
    return pdr.load_robot("panda")


def _links(rng: np.random.Generator, mass: float) -> RobotModel:
    robot = published()
    return replace(robot, links=tuple(perturbed_body(link, rng, mass, 0.0, 0.0015) for link in robot.links))


def _as_modelled(rng: np.random.Generator) -> Arm:
    return Arm(published())


def _other_links(rng: np.random.Generator) -> Arm:
    return Arm(_links(rng, 0.06))


def _friction(share: float) -> Callable[[np.random.Generator], Arm]:
    robot = published()
    return lambda rng: Arm(robot, lambda tau, dq, ddq: tau + (share - 1.0) * robot.friction_torques(dq))


def _drive(rotor: float, viscous: float) -> Callable[[np.random.Generator], Arm]:
    return lambda rng: Arm(published(), lambda tau, dq, ddq: tau + rotor * ddq + viscous * dq)


def _offsets(rng: np.random.Generator) -> Arm:
    offset = rng.uniform(-1.2, 1.2, 7)
    return Arm(published(), lambda tau, dq, ddq: tau + offset)


def _one_offset(rng: np.random.Generator) -> Arm:
    offset = np.zeros(7)
    offset[rng.integers(7)] = rng.choice([-1.5, 1.5])
    return Arm(published(), lambda tau, dq, ddq: tau + offset)


def _gain(rng: np.random.Generator) -> Arm:
    gain = 1.0 + 0.02 * rng.choice([-1.0, 1.0])
    return Arm(published(), lambda tau, dq, ddq: gain * tau)


def _gains(rng: np.random.Generator) -> Arm:
    gain = 1.0 + 0.02 * rng.standard_normal(7)
    return Arm(published(), lambda tau, dq, ddq: gain * tau)


def _tilted(rng: np.random.Generator) -> Arm:
    robot, angle = published(), rng.uniform(0.0, 2.0 * np.pi)
    lean = 0.01 * np.array([np.cos(angle), np.sin(angle), 0.0])
    return Arm(replace(robot, gravity=robot.gravity + np.linalg.norm(robot.gravity) * lean))


def _late(seconds: float) -> Callable[[np.random.Generator], Arm]:
    return lambda rng: Arm(published(), late=seconds)


def _mixture(rng: np.random.Generator) -> Arm:
    robot, share = _links(rng, 0.03), rng.uniform(-0.5, 0.5, 7)
    offset, gain = rng.uniform(-0.4, 0.4, 7), 1.0 + 0.01 * rng.standard_normal(7)
    return Arm(robot, lambda tau, dq, ddq: gain * (tau + share * robot.friction_torques(dq)) + offset, late=0.005)


def _another_set(rng: np.random.Generator) -> Arm:
    return Arm(replace(published(), links=pdr.load_robot("fr3").links))


KINDS: dict[str, Callable[[np.random.Generator], Arm]] = {
    "as modelled": _as_modelled,
    "link masses 6 % off, CoM 1.5 mm": _other_links,
    "no friction": _friction(0.0),
    "friction doubled": _friction(2.0),
    "actuator torque: + 0.1 ddq + 1.0 dq": _drive(0.1, 1.0),
    "offsets in +-1.2 N m": _offsets,
    "gain 2 % off": _gain,
    "15 ms late": _late(0.015),
    "gain 2 % off, each joint": _gains,
    "base tilted by 10 mrad": _tilted,
    "one joint's offset 1.5 N m": _one_offset,
    "viscous + 0.5 dq": _drive(0.0, 0.5),
    "30 ms late": _late(0.03),
    "mixture of all, smaller": _mixture,
    "the FR3's inertias": _another_set,
}
"""By name."""
