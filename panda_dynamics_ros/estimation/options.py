# SPDX-License-Identifier: Apache-2.0
"""What a user may say to an estimator: options, and the mass or shape of a payload.

Mass and shape are applied to the published estimate only and not fed back into the filter: if they are wrong, they
affect what is published while they are set, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeVar

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.hypotheses import nothing_is_carried
from panda_dynamics_ros.estimation.kalman_filter import GaussianState
from panda_dynamics_ros.robot.inertial import six_from_symmetric

Options = TypeVar("Options", bound="PositiveOptions")

_MASS_STD, _RIGHT_ODDS = 1e-3, 99.0  # of a known mass: a kitchen scale's; odds that it is that of what is carried
_SHAPE_STD = 0.1  # of a known shape's inertia: bodies are not quite homogeneous, nor quite aligned
_DENSITIES = (3.0, 23e3)  # kg/m^3: less than packaging foam, as much as osmium
_MISFIT = 25.0  # chi-square of six, the freedom of the inertia; delays of 30 ms reach 22
_TOLD = 0.1  # information, in units of the prior's, below which the data tells nothing in a direction
_FORMS = {
    "box": ("LX LY LZ", (0, 1, 2), (12.0, 12.0, 12.0), 1.0),
    "cylinder": ("RADIUS HEIGHT", (0, 0, 1), (4.0, 4.0, 12.0), math.pi),
    "sphere": ("RADIUS", (0, 0, 0), (5.0, 5.0, 5.0), 4.0 / 3.0 * math.pi),
}
"""Sizes in words; which of them counts along x, y and z; its square over the second moment per kg; volume over the
product of the three."""


@dataclass(frozen=True)
class PositiveOptions:
    """Base class of frozen dataclasses of positive numbers; one may also be zero where zero is its default.

    Raises ArgumentError: a value is not a positive number.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value = checks.number(getattr(self, field.name), field.name)
            if value < 0.0 or value == 0.0 != field.default:
                raise ArgumentError(f"{field.name}: expected a positive number, got {value:g}")

    @classmethod
    def of(cls: type[Options], options: dict[str, float], *others: str) -> Options:
        """From keyword arguments of a function that takes `others`, too.

        Raises ArgumentError: one of them is unknown, or its value is not a positive number.
        """
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(options) - set(known)):
            raise ArgumentError(f"options: expected any of {', '.join([*known, *others])}, got {', '.join(unknown)}")
        return cls(**options)


@dataclass(frozen=True)
class EstimatorOptions(PositiveOptions):
    """Options of the payload estimator; the defaults suit a Panda.

    mass_std: kg, prior standard deviation of the mass, whose prior mean is zero (the Panda carries 3 kg).
    com_std: m, distance of the centre of mass from the flange at one sigma; mass_std com_std is the prior of m c.
    inertia_std: kg m^2, prior standard deviation of each entry of the inertia about the flange origin: 1.5 kg at 0.2 m.
    max_mass: kg, the heaviest payload; a larger torque has another cause.
    known_mass: kg, mass of the payload where it has been weighed; 0: unknown.
    bandwidth_hz: pole of the two low-pass filters; beyond 1 to 10 Hz intervals do not hold.
    update_period_s: of the Kalman filter; samples in between pass the low-pass filters only.
    memory_s: time in motion after which the payload's information has leaked to 1/e toward the prior.
    arm_memory_s: time in motion after which what was learnt about the arm has leaked to 1/e toward the prior.
    arm_error_ratio: factor on the lasting errors expected of the arm's model (see `ResidualModel.error_ratio`).
    max_gap_s: a longer silence restarts the filters.
    Raises ArgumentError: a value is not a positive number (`known_mass`: negative).
    """

    mass_std: float = 1.5
    com_std: float = 0.1
    inertia_std: float = 0.06
    max_mass: float = 3.0
    known_mass: float = 0.0
    bandwidth_hz: float = 3.0
    update_period_s: float = 0.02
    memory_s: float = 30.0
    arm_memory_s: float = 100.0
    arm_error_ratio: float = 1.0
    max_gap_s: float = 0.5

    @cached_property
    def prior_std(self) -> FloatArray:
        """Prior standard deviations (10,) of the inertial vector about the flange origin; the prior mean is zero."""
        m = self.mass_std
        return checks.read_only(np.array([m, *[m * self.com_std] * 3, *[self.inertia_std] * 6]))


@dataclass(frozen=True)
class Shape:
    """A homogeneous body, aligned with the flange; a cylinder's axis is the flange's z.

    name: "box", "cylinder" or "sphere".
    sizes: m, the lengths along x, y, z; radius and height; radius.
    Raises ArgumentError: another name, or not as many positive sizes as it has.
    """

    name: str
    sizes: tuple[float, ...]

    def __post_init__(self) -> None:
        expected = _FORMS.get(self.name, ("",))[0].split()
        if len(self.sizes) != len(expected) or not expected or not all(0.0 < size < 10.0 for size in self.sizes):
            forms = ", ".join(f'"{name} {sizes}"' for name, (sizes, *_) in _FORMS.items())
            raise ArgumentError(f'shape: expected one of {forms} with positive sizes in m, got "{self}"')

    @classmethod
    def of(cls, shape: Shape | str | None) -> Shape | None:
        """A shape from text such as "box 0.1 0.05 0.2", or as it is; None for an unknown shape."""
        if shape is None or isinstance(shape, Shape):
            return shape
        try:
            name, *words = shape.split() or [""]
            sizes = tuple(float(word) for word in words)
        except (AttributeError, ValueError) as error:
            raise ArgumentError(f'shape: expected a name and sizes in m, got "{shape}"') from error
        return cls(name, sizes)

    @property
    def unit_inertia(self) -> FloatArray:
        """(3, 3), m^2: inertia about the centre of mass per kg, tr(S) 1 - S of the second moments S."""
        _, along, divisors, _ = _FORMS[self.name]
        second = np.take(self.sizes, along) ** 2 / divisors
        return np.diag(second.sum() - second)

    @property
    def volume(self) -> float:
        """m^3."""
        _, along, _, factor = _FORMS[self.name]
        return factor * math.prod(np.take(self.sizes, along))

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{size:g}" for size in self.sizes)])


def with_known_mass(mean: FloatArray, covariance: FloatArray, known: float) -> tuple[FloatArray, FloatArray]:
    """Mean (10,) and covariance (10, 10), given that what is carried weighs `known` kg (0: unknown).

    A carried payload is one of more than half of the known mass. Then the mass counts as one more measurement,
    which tells about the centre of mass, too, as far as the two are correlated. One in a hundred is declared wrongly.
    """
    if known == 0.0 or mean[0] < 0.5 * known:
        return mean, covariance
    variance = covariance[0, 0] + (_MASS_STD * known) ** 2
    gain, right = covariance[0] / variance, nothing_is_carried(abs(known - mean[0]), variance, _RIGHT_ODDS)
    given = GaussianState(mean + gain * (known - mean[0]), covariance - np.outer(gain, covariance[0]))
    state = GaussianState(mean, covariance).mixed(given, right)
    return state.mean, state.covariance


def with_known_shape(vector: FloatArray, covariance: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Vector (10,) and covariance (10, 10) with the inertia that mass, centre of mass and shape make.

    The covariance of the inertia is that of mass and first moments to first order, and a tenth of m K.
    """
    vector, slope = _with_shape(vector, shape)
    std = np.repeat((0.0, _SHAPE_STD * vector[0] * np.max(shape.unit_inertia)), (4, 6))
    return vector, slope @ covariance[:4, :4] @ slope.T + np.diag(std**2)


def shape_problem(shape: Shape, mean: FloatArray, covariance: FloatArray, prior_std: FloatArray) -> str:
    """One sentence, if the declared shape is not that of the payload; else empty.

    Its density is that of no material, or its inertia contradicts the data: the information of the data alone,
    L = P^-1 - P0^-1, tells how far the nearest vector with this shape is, (theta - theta_s)' L (theta - theta_s),
    where mass and first moments are chosen best. The prior of the inertia has no say.

    mean (10,), covariance (10, 10): of the estimate. prior_std: (10,), of the prior, whose mean is zero.
    """
    mass, std = float(mean[0]), float(np.sqrt(covariance[0, 0]))
    if mass < 3.0 * std:
        return ""
    if mass + 2.0 * std < _DENSITIES[0] * shape.volume or mass - 2.0 * std > _DENSITIES[1] * shape.volume:
        return (
            f'shape "{shape}" and {mass:.2f} kg are {mass / shape.volume:.2g} kg/m3, the density of no payload: '
            "expected sizes in m; correct it, or leave it out"
        )
    information = np.linalg.inv(covariance / np.outer(prior_std, prior_std))
    L = information - np.eye(len(mean))
    told, directions = np.linalg.eigh(0.5 * (L + L.T))
    shaped, slope = (values.T / prior_std for values in _with_shape(mean, shape))
    left = information @ (mean / prior_std) - L @ shaped
    along, free = directions.T[told > _TOLD] @ left, slope @ left
    misfit = float(along**2 @ (1.0 / told[told > _TOLD]) - free @ np.linalg.pinv(slope @ L @ slope.T) @ free)
    if misfit < _MISFIT:
        return ""
    return f'the torques contradict the inertia of shape "{shape}": expected sizes in m; correct it, or leave it out'


def _with_shape(vector: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Vector (10,) of the same mass m and first moments h, and its derivatives (10, 4) with respect to them.

    The inertia about the flange origin is I = m K + (h'h 1 - h h') / m.
    """
    mass, h, K, one = vector[0], vector[1:4], shape.unit_inertia, np.eye(3)
    steiner = (h @ h * one - np.outer(h, h)) / mass
    by_h = [(2.0 * (h @ e) * one - np.outer(e, h) - np.outer(h, e)) / mass for e in one]
    inertia, *slope = (six_from_symmetric(each) for each in (mass * K + steiner, K - steiner / mass, *by_h))
    return np.concatenate((vector[:4], inertia)), np.vstack((np.eye(4), np.transpose(slope)))
