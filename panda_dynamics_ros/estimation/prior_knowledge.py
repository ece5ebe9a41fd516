# SPDX-License-Identifier: Apache-2.0
"""Prior knowledge of the user about a payload: its mass, its shape, the heaviest payload of the arm.

It is applied to the published estimate only and not fed back into the filter: a wrong mass or shape affects what is
published while it is set, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

_MASS_STD = 1e-3  # of a known mass: a kitchen scale's
_SHAPE_STD = 0.1  # of a known shape's inertia: bodies are not quite homogeneous, nor quite aligned
_DENSITIES = (3.0, 23e3)  # kg/m^3: less than packaging foam, as much as osmium
_MISFIT = 25.0  # chi-square of six, the freedom of the inertia; delays of 30 ms reach 22
_TOLD = 0.1  # information, in units of the prior's, below which the data tells nothing in a direction
_UPPER = np.triu_indices(3)
_SIZES = {"box": "LX LY LZ", "cylinder": "RADIUS HEIGHT", "sphere": "RADIUS"}


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
        expected = _SIZES.get(self.name)
        if expected is None or len(self.sizes) != len(expected.split()) or not all(0.0 < s < 10.0 for s in self.sizes):
            forms = ", ".join(f'"{name} {sizes}"' for name, sizes in _SIZES.items())
            got = " ".join([self.name, *(f"{size:g}" for size in self.sizes)])
            raise ArgumentError(f'shape: expected one of {forms} with positive sizes in m, got "{got}"')

    @classmethod
    def parse(cls, text: str) -> Shape:
        """From text such as "box 0.1 0.05 0.2"."""
        name, *sizes = text.split() or [""]
        try:
            return cls(name, tuple(float(size) for size in sizes))
        except ValueError as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(f'shape: expected a name and sizes in m, got "{text}"') from None

    @classmethod
    def of(cls, shape: Shape | str | None) -> Shape | None:
        """A shape as it is, or from text; None for an unknown shape."""
        return cls.parse(shape) if isinstance(shape, str) else shape

    @property
    def unit_inertia(self) -> FloatArray:
        """(3, 3), m^2: inertia about the centre of mass per kg, tr(S) 1 - S of the second moments S."""
        if self.name == "box":
            second = np.square(self.sizes) / 12.0
        elif self.name == "cylinder":
            radius, height = np.square(self.sizes)
            second = np.array([radius / 4.0, radius / 4.0, height / 12.0])
        else:
            second = np.full(3, self.sizes[0] ** 2 / 5.0)
        return np.diag(second.sum() - second)

    @property
    def volume(self) -> float:
        """m^3."""
        if self.name == "box":
            return math.prod(self.sizes)
        if self.name == "cylinder":
            return math.pi * self.sizes[0] ** 2 * self.sizes[1]
        return 4.0 / 3.0 * math.pi * self.sizes[0] ** 3

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{size:g}" for size in self.sizes)])


def with_known_mass(mean: FloatArray, covariance: FloatArray, known: float) -> tuple[FloatArray, FloatArray]:
    """Mean (10,) and covariance (10, 10), given that what is carried weighs `known` kg (0: unknown).

    A carried payload is one of more than half of the known mass. Then the mass counts as one more measurement,
    which tells about the centre of mass, too, as far as the two are correlated.
    """
    if known == 0.0 or mean[0] < 0.5 * known:
        return mean, covariance
    gain = covariance[0] / (covariance[0, 0] + (_MASS_STD * known) ** 2)
    return mean + gain * (known - mean[0]), covariance - np.outer(gain, covariance[0])


def with_known_shape(vector: FloatArray, covariance: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Vector (10,) and covariance (10, 10) with the inertia that mass, centre of mass and shape make.

    The covariance of the inertia is that of mass and first moments to first order, and a tenth of m K.
    """
    slope = _shape_slope(vector, shape)
    variance = np.concatenate((np.zeros(4), _SHAPE_STD * vector[0] * np.max(shape.unit_inertia) * np.ones(6)))
    return _with_shape(vector, shape), slope @ covariance[:4, :4] @ slope.T + np.diag(variance**2)


def shape_problem(shape: Shape, mean: FloatArray, covariance: FloatArray, prior_covariance: FloatArray) -> str:
    """One sentence, if the declared shape is not that of the payload; else empty.

    Its density is that of no material, or its inertia contradicts the data: the information of the data alone,
    L = P^-1 - P0^-1, tells how far the nearest vector with this shape is, (theta - theta_s)' L (theta - theta_s),
    where mass and first moments are chosen best. The prior of the inertia has no say.

    mean (10,), covariance (10, 10): of the estimate. prior_covariance: (10, 10), diagonal; its mean is zero.
    """
    mass, std = float(mean[0]), float(np.sqrt(covariance[0, 0]))
    if mass < 3.0 * std:
        return ""
    if mass + 2.0 * std < _DENSITIES[0] * shape.volume or mass - 2.0 * std > _DENSITIES[1] * shape.volume:
        return (
            f'shape "{shape}" and {mass:.2f} kg are {mass / shape.volume:.2g} kg/m3, the density of no payload: '
            "expected sizes in m; correct it, or leave it out"
        )
    scale = np.sqrt(prior_covariance.diagonal())
    information = np.linalg.inv(covariance / np.outer(scale, scale))
    L = information - np.eye(len(mean))
    told, directions = np.linalg.eigh(0.5 * (L + L.T))
    slope = _shape_slope(mean, shape) / scale[:, None]
    left = information @ (mean / scale) - L @ (_with_shape(mean, shape) / scale)
    along = directions.T[told > _TOLD] @ left
    free = slope.T @ left
    misfit = float(along**2 @ (1.0 / told[told > _TOLD]) - free @ np.linalg.pinv(slope.T @ L @ slope) @ free)
    if misfit < _MISFIT:
        return ""
    return f'the torques contradict the inertia of shape "{shape}": expected sizes in m; correct it, or leave it out'


def _with_shape(vector: FloatArray, shape: Shape) -> FloatArray:
    """Vector (10,) of the same mass and first moments h: I = m K + (h'h 1 - h h') / m, K the inertia per kg."""
    mass, h = vector[0], vector[1:4]
    inertia = mass * shape.unit_inertia + (h @ h * np.eye(3) - np.outer(h, h)) / mass
    return np.concatenate((vector[:4], inertia[_UPPER]))


def _shape_slope(vector: FloatArray, shape: Shape) -> FloatArray:
    """Derivatives (10, 4) of `_with_shape` with respect to mass and first moments."""
    mass, h, K = vector[0], vector[1:4], shape.unit_inertia
    slope = np.zeros((10, 4))
    slope[:4] = np.eye(4)
    slope[4:, 0] = (K - (h @ h * np.eye(3) - np.outer(h, h)) / mass**2)[_UPPER]
    for axis, e in enumerate(np.eye(3)):
        slope[4:, 1 + axis] = ((2.0 * h[axis] * np.eye(3) - np.outer(e, h) - np.outer(h, e)) / mass)[_UPPER]
    return slope
