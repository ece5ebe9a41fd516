# SPDX-License-Identifier: Apache-2.0
"""Three-vectors and rotations of expressions; a rotation is a chain of turns about z and x, most of them trivial."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from panda_dynamics_ros.codegen.graph import Expression, Scalar

Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]

ZERO: Vector = (0.0, 0.0, 0.0)


def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def scale(s: Scalar, a: Vector) -> Vector:
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a: Vector, b: Vector) -> Scalar:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


class Turn(NamedTuple):
    """A rotation about x (axis 0) or z (axis 2) by an angle with this cosine and sine."""

    axis: int
    cosine: Scalar
    sine: Scalar

    def rotate(self, a: Vector) -> Vector:
        """R a."""
        return self._turned(a, self.sine)

    def rotate_back(self, a: Vector) -> Vector:
        """R' a."""
        return self._turned(a, -self.sine)

    def _turned(self, a: Vector, s: Scalar) -> Vector:
        c = self.cosine
        if self.axis == 2:
            return (c * a[0] - s * a[1], s * a[0] + c * a[1], a[2])
        return (a[0], c * a[1] - s * a[2], s * a[1] + c * a[2])


def is_zero(a: Scalar) -> bool:
    """Whether an entry is the number zero."""
    return a.is_constant(0.0) if isinstance(a, Expression) else a == 0.0
