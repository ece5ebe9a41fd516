# SPDX-License-Identifier: Apache-2.0
"""How far the simulated arm departs from the estimator's model, and the errors of its sensors.

Levels of torque noise are those of the public 1 kHz log of Gaz et al. (a real Panda): first differences over
sqrt(2) of .097 .110 .096 .097 .051 .063 .039 N m, and a content above 20 Hz of .250 .347 .213 .339 .089 .105
.026 N m, most of it at 25-45 Hz. White noise and vibration below add up to both (joint 7: to the first).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.simulation.disturbance import OrnsteinUhlenbeck

TORQUE_NOISE = (0.079, 0.075, 0.084, 0.056, 0.048, 0.060, 0.039)  # N m
TORQUE_VIBRATION = (0.237, 0.339, 0.196, 0.334, 0.075, 0.086, 0.0)  # N m
VIBRATION_FREQUENCY, VIBRATION_TIME = 35.0, 0.03  # Hz, s


@dataclass(frozen=True)
class SensorLevels:
    """Imperfections of the seven joints' sensors; `SensorLevels()` is the real arm, `.ideal()` has none.

    Attributes
    ----------
    torque_noise, torque_vibration: N m per joint, white, and narrow-banded at 35 Hz.
    velocity_noise, velocity_lag: rad/s, white; s, of a first-order filter on dq.
    position_noise, position_step: rad, white, and of the encoder.
    joint_offset: rad, std of each joint's constant encoder offset.

    Raises
    ------
    ArgumentError: a level is negative or not finite, or not one for each of seven joints.
    """

    torque_noise: tuple[float, ...] = TORQUE_NOISE
    torque_vibration: tuple[float, ...] = TORQUE_VIBRATION
    velocity_noise: float = 0.004
    velocity_lag: float = 0.005
    position_noise: float = 2e-5
    position_step: float = 1e-5
    joint_offset: float = 3e-4

    def __post_init__(self) -> None:
        for name in ("torque_noise", "torque_vibration"):
            for level in checks.exactly(getattr(self, name), (len(TORQUE_NOISE),), name):
                checks.number(level, name, minimum=0.0)
        for name in ("velocity_noise", "velocity_lag", "position_noise", "position_step", "joint_offset"):
            checks.number(getattr(self, name), name, minimum=0.0)

    @classmethod
    def ideal(cls) -> SensorLevels:
        """Sensors without noise, lag or offset."""
        return cls((0.0,) * 7, (0.0,) * 7, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass
class Sensors:
    """Measurements (q, dq, tau) of true values (q, dq, tau), sample after sample."""

    levels: SensorLevels
    joint_offset: FloatArray
    timestep: float
    rng: np.random.Generator
    _filtered_dq: FloatArray | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        levels = self.levels
        self._white = np.repeat((levels.position_noise, levels.velocity_noise, 1.0), len(self.joint_offset))
        self._white[-len(self.joint_offset) :] = levels.torque_noise
        self._vibration = OrnsteinUhlenbeck(
            levels.torque_vibration, VIBRATION_TIME, self.timestep, self.rng, VIBRATION_FREQUENCY
        )
        lag = levels.velocity_lag
        self._gain = -math.expm1(-self.timestep / lag) if lag > 0.0 else 1.0

    def measure(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is reported (three (n,) arrays) of the true q, dq and link-side torque."""
        n = q.size
        noise = self._white * self.rng.standard_normal(3 * n)
        if self._filtered_dq is None:
            self._filtered_dq = dq.copy()
        self._filtered_dq += self._gain * (dq - self._filtered_dq)
        q = q + self.joint_offset + noise[:n]
        step = self.levels.position_step
        if step > 0.0:
            q = step * np.rint(q / step)
        return q, self._filtered_dq + noise[n : 2 * n], tau + noise[2 * n :] + self._vibration.step()

    def measure_rows(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is reported of a whole motion, true q, dq and link-side torque (N, n), from its first sample on."""
        from scipy.signal import lfilter

        rows, n = q.shape
        noise = self._white * self.rng.standard_normal((rows, 3 * n))
        lagging, _ = lfilter([self._gain], [1.0, self._gain - 1.0], dq, axis=0, zi=(1.0 - self._gain) * dq[:1])
        q = q + self.joint_offset + noise[:, :n]
        step = self.levels.position_step
        if step > 0.0:
            q = step * np.rint(q / step)
        return q, lagging + noise[:, n : 2 * n], tau + noise[:, 2 * n :] + self._vibration.rows(rows)


@dataclass(frozen=True)
class Realism:
    """Imperfections of the simulated arm; `Realism()` is at the real arm's level, `Realism.ideal()` has none.

    The torque that the model leaves unexplained has the RMS `residual * robot.residual.std` per joint, in
    two parts: `disturbance_share` of it (in std) is a coloured disturbance that no model explains, the rest
    comes from wrong inertias, friction and offsets and repeats with the motion. One half agrees with the real
    log: a model identified on the very motion leaves .128 .205 .141 .140 .070 .029 .046 N m of the published
    model's .257 .576 .238 .293 .149 .096 .067, a median of 0.48. What such a model leaves is quicker than the whole:
    on held-out blocks of the real log it stays the same for a median of 0.2 s (`benchmarks/identification.py` prints
    that), where what the published model leaves does so for 0.4 to 0.9 s.

    Attributes
    ----------
    residual: scale of the whole, 1 for the real level; 0 for a plant that is the model.
    disturbance_share: 0..1.
    disturbance_time: correlation time of the disturbance, in units of `robot.residual.correlation_time`.
    mass_error, shape_error: relative std of each link's mass and of its extension in each direction.
    com_error: m, std of each coordinate of each link's centre of mass. The three are scaled down together
        where they alone would exceed the residual.
    link_friction: whether there is friction between torque sensor and link at all.
    sensors: levels of noise, lag and offsets.

    Raises
    ------
    ArgumentError: a level is negative, not finite, or a share above 1.
    """

    residual: float = 1.0
    disturbance_share: float = 0.5
    disturbance_time: float = 0.4
    mass_error: float = 0.03
    shape_error: float = 0.03
    com_error: float = 0.003
    link_friction: bool = True
    sensors: SensorLevels = field(default_factory=SensorLevels)

    def __post_init__(self) -> None:
        checks.number(self.residual, "residual", minimum=0.0)
        checks.number(self.disturbance_share, "disturbance_share", minimum=0.0, maximum=1.0)
        checks.number(self.disturbance_time, "disturbance_time", minimum=0.01, maximum=10.0)
        for name in ("mass_error", "shape_error", "com_error"):
            checks.number(getattr(self, name), name, minimum=0.0, maximum=0.3)

    @classmethod
    def ideal(cls) -> Realism:
        """The model itself, without link-side friction, and sensors without noise, lag or offset."""
        return cls(residual=0.0, disturbance_share=0.0, link_friction=False, sensors=SensorLevels.ideal())

    @classmethod
    def repeating(cls) -> Realism:
        """An arm whose model error repeats when it repeats a motion, as the arm of the public log does.

        Two passes of one motion, 13 s apart, leave of each other, below 3 Hz and for one pass, .11 .03 .09 .03 .04 .08
        .06 of the residual of joints 1 to 7, for 0.2 to 0.4 s (`python -m benchmarks.paired_runs`): a tenth of the
        whole is the disturbance here, the rest repeats.
        """
        return cls(disturbance_share=0.1, disturbance_time=0.5)
