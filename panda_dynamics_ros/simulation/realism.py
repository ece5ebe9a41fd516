# SPDX-License-Identifier: Apache-2.0
"""How far the simulated arm departs from its model: bodies, friction, offsets, coloured disturbances, sensors.

Levels of torque noise are those of the public 1 kHz log of Gaz et al. (a real Panda): first differences over
sqrt(2) of .097 .110 .096 .097 .051 .063 .039 N m, and a content above 20 Hz of .250 .347 .213 .339 .089 .105
.026 N m, most of it at 25-45 Hz. White noise and vibration below add up to both (joint 7: to the first).

Bodies are changed by a congruence of their pseudo-inertia, J' = L J L^T, which maps physical bodies to
physical ones, those on the cone's boundary included (Rucker and Wensing, RA-L 2022: L is an affine
deformation of the body). Friction then gets what is missing, joint by joint, so that the torque which the
model leaves unexplained on the given motion has exactly the RMS asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics, presliding_states
from panda_dynamics_ros.robot import Friction, InertialParameters, RobotDescription
from panda_dynamics_ros.robot.inertial import second_moments
from panda_dynamics_ros.robot.joints import PRESLIDING
from panda_dynamics_ros.simulation.motions import FourierMotion

VIBRATION_HZ, VIBRATION_S = 35.0, 0.03  # frequency and correlation time


class OrnsteinUhlenbeck:
    """Independent coloured processes of given std and correlation time, from a stationary start.

    Ornstein-Uhlenbeck processes (Physical Review 36, 1930), plain and oscillating: dx = (-1/tau + i w) x dt + noise, of
    which the real part is used: its autocorrelation is std^2 exp(-abs(s) / tau) cos(w s).

    std: (n,), the stationary standard deviation, >= 0; in the unit of the output.
    correlation_time: (n,) or number, s, > 0. timestep: s. frequency: Hz, of the oscillation; 0 for none.
    """

    def __init__(
        self, std: ArrayLike, correlation_time: ArrayLike, timestep: float, rng: Generator, frequency: float = 0.0
    ) -> None:
        sigma, tau, h = np.asarray(std, dtype=np.float64), np.asarray(correlation_time, dtype=np.float64), timestep
        # x_{k+1} = e^{(-1/tau + i w) h} x_k + std sqrt(1 - e^{-2 h/tau}) xi_k
        self._decay = np.ones(sigma.size) * np.exp((-1.0 / tau + 2j * np.pi * frequency) * h)
        self._input = sigma * np.sqrt(-np.expm1(-2.0 * h / tau))
        self._rng = rng
        self._state = sigma * self._noise()

    def step(self) -> FloatArray:
        """The present value (n,), after which the process moves on by one time step."""
        value: FloatArray = self._state.real.copy()
        self._state = self._decay * self._state + self._input * self._noise()
        return value

    def _noise(self) -> FloatArray:
        """Complex noise whose real and imaginary parts have unit variance each."""
        return self._rng.standard_normal(2 * self._decay.size).view(np.complex128)


@dataclass(frozen=True)
class SensorLevels:
    """Imperfections of the seven joints' sensors; `SensorLevels()` is the real arm.

    torque_noise, torque_vibration: N m per joint, white, and narrow-banded at 35 Hz.
    velocity_noise, velocity_lag: rad/s, white; s, of a first-order filter on dq.
    position_noise, position_step: rad, white, and of the encoder.
    joint_offset: rad, std of each joint's constant encoder offset.
    """

    torque_noise: tuple[float, ...] = (0.079, 0.075, 0.084, 0.056, 0.048, 0.060, 0.039)
    torque_vibration: tuple[float, ...] = (0.237, 0.339, 0.196, 0.334, 0.075, 0.086, 0.0)
    velocity_noise: float = 0.004
    velocity_lag: float = 0.005
    position_noise: float = 2e-5
    position_step: float = 1e-5
    joint_offset: float = 3e-4


class Sensors:
    """Measurements (q, dq, tau) of true values (q, dq, tau), sample after sample."""

    def __init__(self, levels: SensorLevels, joint_offset: FloatArray, timestep: float, rng: Generator) -> None:
        self.levels, self.joint_offset, self.rng, n = levels, joint_offset, rng, len(joint_offset)
        self._filtered_dq: FloatArray | None = None
        self._white = np.array([*[levels.position_noise] * n, *[levels.velocity_noise] * n, *levels.torque_noise])
        self._vibration = OrnsteinUhlenbeck(levels.torque_vibration, VIBRATION_S, timestep, rng, VIBRATION_HZ)
        lag = levels.velocity_lag
        self._gain = -math.expm1(-timestep / lag) if lag > 0.0 else 1.0

    def measure(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is reported (three (n,) arrays) of the true q, dq and link-side torque."""
        noise = (self._white * self.rng.standard_normal(self._white.size)).reshape(3, -1)
        if self._filtered_dq is None:
            self._filtered_dq = dq.copy()
        self._filtered_dq += self._gain * (dq - self._filtered_dq)
        return self._rounded(q + noise[0]), self._filtered_dq + noise[1], tau + noise[2] + self._vibration.step()

    def _rounded(self, q: FloatArray) -> FloatArray:
        step, shifted = self.levels.position_step, q + self.joint_offset
        return step * np.rint(shifted / step) if step > 0.0 else shifted


@dataclass(frozen=True)
class Realism:
    """Imperfections of the simulated arm; `Realism()` is at the real arm's level.

    The torque that the model leaves unexplained has the RMS `residual * robot.residual.std` per joint, in two parts:
    `disturbance_share` of it (in std) is a coloured disturbance that no model explains, the rest comes from wrong
    inertias, friction and offsets and repeats with the motion. One half agrees with the public 1 kHz log, of which a
    model identified on the very motion leaves a median of 0.48, which stays the same for 0.2 s on held-out blocks
    (`benchmarks/identification.py` prints that).

    residual: scale of the whole, 1 for the real level; 0 for a plant that is the rigid model, without link friction.
    disturbance_share: from 0 to below 1.
    disturbance_time: correlation time of the disturbance, in units of `robot.residual.correlation_time`.
    """

    residual: float = 1.0
    disturbance_share: float = 0.5
    disturbance_time: float = 0.4
    sensors: SensorLevels = field(default_factory=SensorLevels)

    @classmethod
    def repeating(cls) -> Realism:
        """An arm whose model error repeats when it repeats a motion, as the arm of the public log does.

        Two passes of one motion, 13 s apart, leave of each other, below 3 Hz and for one pass, .11 .03 .09 .03 .04 .08
        .06 of the residual of joints 1 to 7, for 0.2 to 0.4 s (`python -m benchmarks.paired_runs`): a tenth of the
        whole is the disturbance here, the rest repeats.
        """
        return cls(disturbance_share=0.1, disturbance_time=0.5)


MASS_ERROR, SHAPE_ERROR, COM_ERROR = 0.03, 0.03, 0.003
"""Relative std of each link's mass and of its extension in each direction; m, of each coordinate of its centre."""
INERTIAL_CAP = 0.8  # of the model error's RMS at most from inertias, so that friction has its part everywhere
PRESLIDING_SPREAD = 0.4  # standard deviation of the logarithm of the distance over which friction builds up
TRANSITION = 0.05  # rad/s, of Coulomb friction where the nominal model has none
TIMESTEP = 0.02  # s, of the motion's samples


@dataclass(frozen=True, eq=False)
class TrueArm:
    """The arm as it is.

    robot: with its true inertias and friction.
    presliding: (n,), rad, by which a joint turns until its dry friction has built up.
    joint_offset: (n,), rad, of the encoders.
    """

    robot: RobotDescription
    presliding: FloatArray
    joint_offset: FloatArray


def perturbed_body(
    body: InertialParameters, rng: Generator, mass_error: float, shape_error: float, com_error: float
) -> InertialParameters:
    """A physical body near `body`: relative std of mass and of each extension, std in m of its centre.

    With Sigma = tr(I)/2 1 - I about the centre: m' = s m, c' = c + t, Sigma' = s A Sigma A^T. Second moments that
    a table's rounding left negative are set to a millionth of the largest before.
    """
    moments, axes = second_moments(body.inertia)
    sigma = axes @ np.diag(np.maximum(moments, 1e-6 * moments[-1])) @ axes.T
    s = np.exp(mass_error * rng.standard_normal())
    A = np.eye(3) + shape_error * rng.standard_normal((3, 3))
    sigma = s * A @ sigma @ A.T
    com = body.com + com_error * rng.standard_normal(3)
    return InertialParameters(s * body.mass, com, np.trace(sigma) * np.eye(3) - sigma)


def perturbed_arm(robot: RobotDescription, motion: FourierMotion, realism: Realism, rng: Generator) -> TrueArm:
    """The arm whose torques on `motion` differ from those of `robot` by the model error that `realism` states.

    The model error's RMS is residual * sqrt(1 - disturbance_share^2) * robot.residual.std.
    """
    offset = realism.sensors.joint_offset * rng.standard_normal(robot.n)
    presliding = PRESLIDING * np.exp(PRESLIDING_SPREAD * rng.standard_normal(robot.n))
    if realism.residual == 0.0:
        return TrueArm(replace(robot, friction=Friction.of(robot.n)), presliding, offset)
    target = realism.residual * np.sqrt(1.0 - realism.disturbance_share**2) * robot.residual.std
    q, dq, ddq = motion(motion.settled + np.arange(0.0, motion.period, TIMESTEP))
    modelled = inverse_dynamics(robot, q + offset, dq, ddq)
    seed, levels = rng.integers(2**63), np.array([MASS_ERROR, SHAPE_ERROR, COM_ERROR])
    for _ in range(4):  # the levels are scaled down where they alone would exceed INERTIAL_CAP
        draws = np.random.default_rng(seed)  # the same directions each time, only smaller
        other = replace(robot, links=tuple(perturbed_body(link, draws, *levels) for link in robot.links))
        error = inverse_dynamics(other, q, dq, ddq) - modelled
        excess = np.max(np.sqrt(np.mean(error**2, axis=0)) / target)
        if excess <= INERTIAL_CAP:
            break
        levels *= 0.95 * INERTIAL_CAP / excess
    # Friction brings each joint's RMS error to the target by other offset, Coulomb and viscous terms.
    s, _ = presliding_states(q * (PRESLIDING / presliding))
    nominal, n = robot.friction, robot.n
    speed = np.sqrt(np.mean(dq**2, axis=0))
    weights = rng.uniform(0.3, 1.0, (3, n)) * rng.choice([-1.0, 1.0], (3, n))
    sweep = np.linspace(-1.0, 1.0, 201)[:, None] * robot.limits.velocity
    for _ in range(2):
        shape = weights[0] + weights[1] * s + weights[2] * dq / speed
        # The s >= 0 per joint with mean((error + s shape)^2) = target^2; 0 where the error alone exceeds it.
        a, b, c = (np.mean(x, axis=0) for x in (shape**2, error * shape, error**2))
        scale = np.maximum((-b + np.sqrt(np.maximum(b**2 - a * (c - target**2), 0.0))) / a, 0.0)
        friction = replace(
            nominal,
            offset=nominal.offset + scale * weights[0],
            coulomb=nominal.coulomb + scale * weights[1],
            viscous=nominal.viscous + scale * weights[2] / speed,
            transition=np.where(nominal.coulomb == 0.0, TRANSITION, nominal.transition),
        )
        without_offset = replace(robot, friction=replace(friction, offset=np.zeros(n)))
        driving = (friction_torques(without_offset, sweep) * sweep < -1e-9).any(axis=0)  # a joint, at some speed
        if not driving.any():
            break
        weights[1:] = np.where(driving, np.abs(weights[1:]), weights[1:])  # more friction than modelled, then
    return TrueArm(replace(other, friction=friction), presliding, offset)
