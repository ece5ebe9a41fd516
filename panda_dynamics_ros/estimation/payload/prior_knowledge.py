# SPDX-License-Identifier: Apache-2.0
"""Prior knowledge of the user about a payload: its mass, its shape, the heaviest payload of the arm.

It is applied to the published estimate only and not fed back into the filter: a wrong mass or shape affects what is
published while it is set, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

_MASS_STD = 1e-3  # of a known mass: a kitchen scale's
_SHAPE_STD = 0.1  # of a known shape's inertia: bodies are not quite homogeneous, nor quite aligned
_SIZES = {"box": "LX LY LZ", "cylinder": "RADIUS HEIGHT", "sphere": "RADIUS"}


@dataclass(frozen=True)
class Shape:
    """A homogeneous body, aligned with the flange; a cylinder's axis is the flange's z.

    Attributes
    ----------
    name: "box", "cylinder" or "sphere".
    sizes: m, the lengths along x, y, z; radius and height; radius.

    Raises
    ------
    ArgumentError: another name, or not as many positive sizes as it has.
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
        """(3, 3), m^2: inertia about the centre of mass per kg."""
        if self.name == "box":
            x, y, z = np.square(self.sizes) / 12.0
            return np.diag([y + z, x + z, x + y])
        if self.name == "cylinder":
            radius, height = np.square(self.sizes)
            across = radius / 4.0 + height / 12.0
            return np.diag([across, across, radius / 2.0])
        return np.eye(3) * 0.4 * self.sizes[0] ** 2


def with_known_mass(mean: FloatArray, covariance: FloatArray, known: float) -> tuple[FloatArray, FloatArray]:
    """Mean (10,) and covariance (10, 10), given that what is carried weighs `known` kg (0: unknown).

    A carried payload is one of more than half of the known mass. Then the mass counts as one more measurement,
    which tells about the centre of mass, too, as far as the two are correlated.
    """
    if known == 0.0 or mean[0] < 0.5 * known:
        return mean, covariance
    gain = covariance[0] / (covariance[0, 0] + (_MASS_STD * known) ** 2)
    return mean + gain * (known - mean[0]), covariance - np.outer(gain, covariance[0])


def no_heavier(vector: FloatArray, most: float) -> FloatArray:
    """The body (10,), if need be of less density, such that it weighs no more than `most` kg."""
    return vector * min(1.0, most / vector[0])


def with_known_shape(vector: FloatArray, covariance: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Vector (10,) and covariance (10, 10) with the inertia that mass, centre of mass and shape make.

    About the flange I = m K + (h'h 1 - h h') / m, K the shape's inertia per kg and h = m c; its covariance is that of
    (m, h) to first order, and a tenth of m K.
    """
    mass, h, K = vector[0], vector[1:4], shape.unit_inertia
    upper = np.triu_indices(3)
    steiner = (h @ h * np.eye(3) - np.outer(h, h)) / mass
    slope = np.zeros((10, 4))
    slope[:4] = np.eye(4)
    slope[4:, 0] = (K - steiner / mass)[upper]
    for axis, e in enumerate(np.eye(3)):
        slope[4:, 1 + axis] = ((2.0 * h[axis] * np.eye(3) - np.outer(e, h) - np.outer(h, e)) / mass)[upper]
    variance = np.concatenate((np.zeros(4), _SHAPE_STD * mass * np.max(K) * np.ones(6)))
    body = np.concatenate((vector[:4], (mass * K + steiner)[upper]))
    return body, slope @ covariance[:4, :4] @ slope.T + np.diag(variance**2)
