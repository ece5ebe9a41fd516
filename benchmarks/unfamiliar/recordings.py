# SPDX-License-Identifier: Apache-2.0
"""Recordings of such arms at 1 kHz: sums of sines, a payload picked up and put down, noise as the real arm's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.payload.samples import Samples
from benchmarks.unfamiliar.arms import Arm, Motion, published
from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.simulation.realism import OrnsteinUhlenbeck, SensorLevels, Sensors

STEP = 1e-3  # s
LEAD, CARRIED, REST = 6.0, 24.0, 10.0  # s before the pick, with the payload, after it was put down
START, SINES = 1.5, 3  # s to get going; sines for each joint
SPEED_SHARE, RANGE_SHARE = 0.7, 0.7  # at most, of the limits
FREQUENCIES = (0.1, 0.4)  # Hz


@dataclass(frozen=True, eq=False)
class Recording:
    """`data`; the payload that was carried from `pick` to `drop`, s."""

    data: Samples
    payload: InertialParameters
    pick: float
    drop: float


def multisine(rng: np.random.Generator, stamp: FloatArray) -> Motion:
    """q, dq, ddq (N, 7) within the limits, from rest."""
    limits = published().limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    w = 2.0 * np.pi * rng.uniform(*FREQUENCIES, (SINES, 7))
    size, phase = rng.uniform(0.3, 1.0, (SINES, 7)), rng.uniform(0.0, 2.0 * np.pi, (SINES, 7))
    size *= np.minimum(RANGE_SHARE * half / size.sum(axis=0), SPEED_SHARE * limits.velocity / (w * size).sum(axis=0))
    angle = w * stamp[:, None, None] + phase
    f, df, ddf = ((size * wave).sum(axis=1) for wave in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
    x = np.minimum(stamp / START, 1.0)[:, None]
    s, ds = x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * (1.0 - x) ** 2 / START
    dds = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / START**2
    return middle + s * f, ds * f + s * df, dds * f + 2.0 * ds * df + s * ddf


def payload(rng: np.random.Generator, mass: float = 1.0) -> InertialParameters:
    """Of `mass` kg, the size of a hand, anywhere within some centimetres of the flange's axis."""
    angle, radius, height = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.0, 0.06), rng.uniform(0.02, 0.12)
    com = [radius * np.cos(angle), radius * np.sin(angle), height]
    return InertialParameters(mass, com, mass * np.diag([0.004, 0.004, 0.003]))


@lru_cache(maxsize=1)
def _of_seed(seed: int) -> tuple[FloatArray, Motion, Samples, FloatArray, FloatArray, InertialParameters, float]:
    """What all kinds of a seed share: motion, its measurement with noise alone for torque, coloured torque, payload."""
    rng = np.random.default_rng([seed, 13])
    stamp = np.arange(0.0, LEAD + CARRIED + REST, STEP)
    motion = multisine(rng, stamp)
    levels = SensorLevels()
    sensors = Sensors(levels, levels.joint_offset * rng.standard_normal(7), STEP, rng)
    nothing = np.zeros(7)
    rows = [sensors.measure(q, dq, nothing) for q, dq in zip(*motion[:2], strict=True)]
    q, dq, noise = (np.array(column) for column in zip(*rows, strict=True))
    residual = published().residual
    coloured = OrnsteinUhlenbeck(residual.std, residual.correlation_time, STEP, rng)
    slow = np.array([coloured.step() for _ in stamp])
    carried = payload(rng)
    added = published().payload_regressor(*motion) @ carried.vector
    return stamp, motion, Samples(stamp, q, dq, noise), slow, added, carried, LEAD + rng.uniform(-0.5, 0.5)


def recording(arm: Arm, seed: int, coloured: bool) -> Recording:
    """The arm along the motion of a seed; `coloured`: with the real arm's residual on top."""
    stamp, motion, measured, slow, added, carried, pick = _of_seed(seed)
    drop = pick + CARRIED
    held = ((stamp >= pick) & (stamp < drop))[:, None]
    tau = arm.sensed(arm.torques(motion) + added * held, *motion[1:])
    steps = round(arm.late / STEP)
    tau = np.concatenate([np.repeat(tau[:1], steps, axis=0), tau[: len(tau) - steps]])
    tau = tau + measured.tau + (slow if coloured else 0.0)
    return Recording(Samples(stamp, measured.q, measured.dq, tau), carried, pick, drop)
