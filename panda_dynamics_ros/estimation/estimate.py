# SPDX-License-Identifier: Apache-2.0
"""The payload estimate after a sample, and the payload of a stretch of a recording."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.inertial import PARAMETERS, InertialParameters, about_com

WAITING = "waiting for samples"
SETTLING = "filters settling"
CHANGED = "something changed"
ESTIMATING = "estimating"
STANDSTILL = "standing still, holding"
UNDECIDED = "a weight or a steady push"
TOUCHED = "something touches the arm"
SMOOTHED = "smoothed"
SHORT, STOOD_STILL = "too little motion", "stood still"

NORMAL_95 = 1.96  # standard deviations to either side of a mean that hold 95 % of a normal distribution
LIGHTEST_PAYLOAD = 0.1  # kg: the error of an arm's model looks like a payload of up to about this mass
LARGEST_COM_MARGIN = 0.1  # m: a centre of mass that is known no better than this is not worth stating
STEP = 1e-6  # of an inertial vector, for derivatives


@dataclass(frozen=True, eq=False)
class ChangeEvent:
    """A change that the estimator detected.

    stamp: s, when it was detected.
    kind: "pick", "release", "contact" (a torque that no payload explains), or "load": a weight or a steady push on an
        arm at rest, until motion decides; then a "pick" follows, or a "contact" if it is none.
    onset: s, estimated time of the change; long ago for a payload that was there from the start.
    """

    stamp: float
    kind: str
    onset: float = math.nan


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """The payload in the flange frame: a physically consistent body and its uncertainty.

    Standard deviations are one sigma; margins are half the width of the 95 % interval (1.96 sigma).

    stamp: s, the sample that it belongs to.
    vector: (10,), inertial vector about the flange origin (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz).
    covariance: (10, 10), of it.
    identifiable: (10,) booleans: parameters that the data has narrowed to a third of a usual payload's spread.
    status: what the estimator is doing.
    event: a change detected at this very sample, or None.
    problem: one sentence with cause and remedy where the samples contradict the arm or the user; else empty.
    """

    stamp: float
    vector: FloatArray
    covariance: FloatArray
    identifiable: np.ndarray
    status: str
    event: ChangeEvent | None = None
    problem: str = ""

    @cached_property
    def payload(self) -> InertialParameters:
        """The body, in the flange frame: inertia about its CoM, along flange axes."""
        return InertialParameters.from_vector(self.vector)

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self.vector[0])

    @property
    def com(self) -> FloatArray:
        """Centre of mass (3,), m, in the flange frame."""
        return self.payload.com

    @property
    def inertia(self) -> FloatArray:
        """Inertia (3, 3), kg m^2, about the centre of mass, along flange axes."""
        return self.payload.inertia

    @cached_property
    def std(self) -> FloatArray:
        """Standard deviations (10,) of the inertial vector: the square roots of the covariance's diagonal."""
        return np.sqrt(np.diag(self.covariance))

    @cached_property
    def com_std(self) -> FloatArray:
        """Standard deviations (3,), m, of the centre of mass, to first order; infinite without a mass."""
        if self.mass <= self.std[0]:
            return np.full(3, np.inf)
        return np.sqrt(np.diag(com_covariance(self.mass, self.com, self.covariance)))

    @cached_property
    def inertia_std(self) -> FloatArray:
        """Standard deviations (6,), kg m^2, of the inertia about the CoM (xx, xy, xz, yy, yz, zz), to first order."""
        if self.mass <= self.std[0]:
            return np.full(6, np.inf)
        slope = np.array([about_com(self.vector + h) - about_com(self.vector - h) for h in STEP * np.eye(10)])[:, 4:]
        return np.sqrt(np.maximum(np.diag(slope.T @ self.covariance @ slope), 0.0)) / (2.0 * STEP)

    @property
    def mass_margin(self) -> float:
        """Half the width, kg, of the mass's 95 % interval."""
        return float(NORMAL_95 * self.std[0])

    @property
    def com_margin(self) -> FloatArray:
        """Half the widths (3,), m, of the 95 % intervals of the centre of mass."""
        return NORMAL_95 * self.com_std

    @property
    def is_undecided(self) -> bool:
        """Whether a hand, or what seems to be one, is in doubt with a payload: the interval of the mass holds both."""
        return self.status in (UNDECIDED, TOUCHED)

    @property
    def is_carried(self) -> bool:
        """Whether something is carried: the 95 % interval of the mass lies above `LIGHTEST_PAYLOAD`."""
        return self.mass - self.mass_margin > LIGHTEST_PAYLOAD

    @property
    def com_is_known(self) -> bool:
        """Whether something is carried, and its CoM is known to better than `LARGEST_COM_MARGIN` in each axis."""
        return self.is_carried and bool(self.com_margin.max() < LARGEST_COM_MARGIN)


def com_covariance(mass: float, com: FloatArray, covariance: FloatArray) -> FloatArray:
    """Covariance (3, 3), m^2, of a centre of mass, to first order: d c = (d(m c) - c dm) / m.

    mass: kg, above zero. com: (3,), m. covariance: (10, 10), of the inertial vector about the origin of `com`.
    """
    by_mass = com[:, None] * (covariance[0, 1:4] - 0.5 * covariance[0, 0] * com)
    return np.asarray((covariance[1:4, 1:4] - by_mass - by_mass.T) / mass**2)


@dataclass(frozen=True, eq=False)
class ArmMemory:
    """What an estimator has learnt about its arm, in the units of its filter (`arm_errors`).

    mean: (10 + m,), of all that is carried, the arm's errors and, if tared, the tare (10). covariance: of them.
    noise_ratio: (n,), standard deviation of the disturbance in units of its prior's.
    Raises ArgumentError: a shape is wrong, or a number is one that no estimator has.
    """

    mean: FloatArray
    covariance: FloatArray
    noise_ratio: FloatArray

    def __post_init__(self) -> None:
        size, n = np.size(self.mean), np.size(self.noise_ratio)
        checks.freeze(self, {"mean": (size,), "covariance": (size, size), "noise_ratio": (n,)}, "memory.arm.")
        _check_range(self.noise_ratio, 1e-3, 30.0, "memory.arm.noise_ratio")
        _check_range(self.mean[PARAMETERS:], -30.0, 30.0, "memory.arm.mean")
        _check_range(self.covariance.diagonal()[PARAMETERS:], 1e-9, 30.0, "memory.arm.covariance")
        _check_payload(self.covariance, "memory.arm.covariance", self.mean, "memory.arm.mean")


@dataclass(frozen=True, eq=False)
class PayloadMemory:
    """State of an estimator that `PayloadEstimator.restore` continues from: the estimate before its projection.

    vector, covariance: (10,) and (10, 10), mean and covariance of the inertial vector, relative to the tare.
    tare: (10,), what counts as no payload.
    arm: what was learnt about the arm, if it is known.
    stamp: s, of the last estimate: what has happened since then nobody has seen. -inf where it is not known.
    Raises ArgumentError: a shape is wrong, or a number is one that no estimator has: the filter would keep it.
    """

    vector: FloatArray
    covariance: FloatArray
    tare: FloatArray
    arm: ArmMemory | None = None
    stamp: float = -math.inf

    def __post_init__(self) -> None:
        shapes = {"vector": (PARAMETERS,), "covariance": (PARAMETERS, PARAMETERS), "tare": (PARAMETERS,)}
        checks.freeze(self, shapes, "memory.")
        _check_payload(self.covariance, "memory.covariance", self.vector, "memory.vector")
        _check_range(self.tare, -100.0, 100.0, "memory.tare")


def _check_payload(covariance: FloatArray, name: str, mean: FloatArray, mean_name: str) -> None:
    """Refuse a covariance that is none, and a payload (the first ten entries) that no arm has measured."""
    checks.covariance(covariance, len(mean), name)
    _check_range(mean[:PARAMETERS], -100.0, 100.0, mean_name)
    # A mass to 0.1 mg and an inertia to 1e-7 kg m^2 are beyond any arm.
    _check_range(np.linalg.eigvalsh(covariance[:PARAMETERS, :PARAMETERS]), 1e-14, 1e6, name)


def _check_range(values: NDArray[np.floating], least: float, most: float, name: str) -> None:
    if not ((values > least) & (values < most)).all():
        raise ArgumentError(f"{name}: expected {least:g} to {most:g}, got {values.min():g} to {values.max():g}")


@dataclass(frozen=True, eq=False)
class PayloadSegment:
    """One payload, or none, between two changes.

    start, end: s, stamps of its onset and of the next one (or of the recording's first and last sample).
    estimate: the last one; or that from later samples, too, whose status is "smoothed", or says why little is known.
    motion_s: s in motion that the latter is from; nan for the former.
    """

    start: float
    end: float
    estimate: PayloadEstimate
    motion_s: float = math.nan
