# SPDX-License-Identifier: Apache-2.0
"""An arm that differs from its model as a real one does: by its inertias, its friction and its offsets.

Bodies are changed by a congruence of their pseudo-inertia, J' = L J L^T, which maps physical bodies to
physical ones, those on the cone's boundary included (Rucker and Wensing, RA-L 2022: L is an affine
deformation of the body). Friction then gets what is missing, joint by joint, so that the torque which the
model leaves unexplained on the given motion has exactly the RMS asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics, presliding_states
from panda_dynamics_ros.robot import Friction, InertialParameters, RobotDescription
from panda_dynamics_ros.robot.friction import PRESLIDING
from panda_dynamics_ros.simulation.fourier_motion import FourierMotion
from panda_dynamics_ros.simulation.realism import Realism

INERTIAL_CAP = 0.8  # of the model error's RMS at most from inertias, so that friction has its part everywhere
PRESLIDING_SPREAD = 0.4  # standard deviation of the logarithm of the distance over which friction builds up
TRANSITION = 0.05  # rad/s, of Coulomb friction where the nominal model has none
TIMESTEP = 0.02  # s, of the motion's samples


@dataclass(frozen=True, eq=False)
class TrueArm:
    """The arm as it is.

    Attributes
    ----------
    robot: with its true inertias and friction.
    presliding: (n,), rad, by which a joint turns until its dry friction has built up.
    joint_offset: (n,), rad, of the encoders.
    """

    robot: RobotDescription
    presliding: FloatArray
    joint_offset: FloatArray


def perturbed_body(
    body: InertialParameters, rng: np.random.Generator, mass_error: float, shape_error: float, com_error: float
) -> InertialParameters:
    """A physical body near `body`: relative std of mass and of each extension, std in m of its centre.

    With Sigma = tr(I)/2 1 - I about the centre: m' = s m, c' = c + t, Sigma' = s A Sigma A^T. Second moments that
    a table's rounding left negative are set to a millionth of the largest before.
    """
    moments, axes = np.linalg.eigh(0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia)
    sigma = axes @ np.diag(np.maximum(moments, 1e-6 * moments[-1])) @ axes.T
    s = np.exp(mass_error * rng.standard_normal())
    A = np.eye(3) + shape_error * rng.standard_normal((3, 3))
    sigma = s * A @ sigma @ A.T
    com = body.com + com_error * rng.standard_normal(3)
    return InertialParameters(s * body.mass, com, np.trace(sigma) * np.eye(3) - sigma)


def perturbed_arm(
    robot: RobotDescription, motion: FourierMotion, realism: Realism, rng: np.random.Generator
) -> TrueArm:
    """The arm whose torques on `motion` differ from those of `robot` by the model error that `realism` states.

    The model error's RMS is residual * sqrt(1 - disturbance_share^2) * robot.residual.std.
    """
    offset = realism.sensors.joint_offset * rng.standard_normal(robot.n)
    friction = robot.friction if realism.link_friction else Friction.of(robot.n)
    target = realism.residual * np.sqrt(1.0 - realism.disturbance_share**2) * robot.residual.std
    presliding = PRESLIDING * np.exp(PRESLIDING_SPREAD * rng.standard_normal(robot.n))
    if not target.any():
        return TrueArm(replace(robot, friction=friction), presliding, offset)
    samples = motion(motion.settled + np.arange(0.0, motion.period, TIMESTEP))
    links, error = _perturbed_links(robot, samples, target, offset, realism, rng)
    if realism.link_friction:
        s, _ = presliding_states(samples[0] * (PRESLIDING / presliding))
        friction = _filling_friction(robot, rng, samples[1], s, error, target)
    return TrueArm(replace(robot, links=links, friction=friction), presliding, offset)


def _perturbed_links(
    robot: RobotDescription,
    samples: tuple[FloatArray, FloatArray, FloatArray],
    target: FloatArray,
    offset: FloatArray,
    realism: Realism,
    rng: np.random.Generator,
) -> tuple[tuple[InertialParameters, ...], FloatArray]:
    """Other links, and the error (k, n) that they make in rigid-body torque; shrunk to INERTIAL_CAP of target."""
    q, dq, ddq = samples
    modelled = inverse_dynamics(robot, q + offset, dq, ddq)
    seed, scale = rng.integers(2**63), 1.0
    for _ in range(4):
        draws = np.random.default_rng(seed)  # the same directions each time, only smaller
        levels = [scale * level for level in (realism.mass_error, realism.shape_error, realism.com_error)]
        links = tuple(perturbed_body(link, draws, *levels) for link in robot.links)
        error = inverse_dynamics(replace(robot, links=links), q, dq, ddq) - modelled
        excess = np.max(np.sqrt(np.mean(error**2, axis=0)) / target)
        if excess <= INERTIAL_CAP:
            break
        scale *= 0.95 * INERTIAL_CAP / excess
    return links, error


def _filling_friction(
    robot: RobotDescription,
    rng: np.random.Generator,
    dq: FloatArray,
    s: FloatArray,
    error: FloatArray,
    target: FloatArray,
) -> Friction:
    """Friction that brings each joint's RMS `error` to `target` by other offset, Coulomb and viscous terms.

    s: (k, n), direction of dry friction along the motion.
    """
    nominal, n = robot.friction, robot.n
    transition = np.where(nominal.coulomb == 0.0, TRANSITION, nominal.transition)
    speed = np.sqrt(np.mean(dq**2, axis=0))
    weights = rng.uniform(0.3, 1.0, (3, n)) * rng.choice([-1.0, 1.0], (3, n))
    friction = nominal
    for _ in range(2):
        shape = weights[0] + weights[1] * s + weights[2] * dq / speed
        scale = _scale_to(error, shape, target)
        friction = replace(
            nominal,
            offset=nominal.offset + scale * weights[0],
            coulomb=nominal.coulomb + scale * weights[1],
            viscous=nominal.viscous + scale * weights[2] / speed,
            transition=transition,
        )
        driving = _feeds_energy(robot, friction)
        if not driving.any():
            break
        weights[1:] = np.where(driving, np.abs(weights[1:]), weights[1:])  # more friction than modelled, then
    return friction


def _scale_to(error: FloatArray, shape: FloatArray, target: FloatArray) -> FloatArray:
    """The s >= 0 per joint with mean((error + s shape)^2) = target^2; 0 where the error alone exceeds it."""
    a, b, c = (np.mean(x, axis=0) for x in (shape**2, error * shape, error**2))
    return np.maximum((-b + np.sqrt(np.maximum(b**2 - a * (c - target**2), 0.0))) / a, 0.0)


def _feeds_energy(robot: RobotDescription, friction: Friction) -> NDArray[np.bool_]:
    """Whether, apart from its offset, a joint's friction would drive it at some speed: (n,) booleans."""
    dq = np.linspace(-1.0, 1.0, 201)[:, None] * robot.limits.velocity
    tau = friction_torques(replace(robot, friction=replace(friction, offset=np.zeros(robot.n))), dq)
    return np.any(tau * dq < -1e-9, axis=0)
