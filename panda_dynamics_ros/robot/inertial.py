# SPDX-License-Identifier: Apache-2.0
"""The ten inertial parameters of a rigid body."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError

PARAMETER_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""The entries of an inertial vector, in order."""

PARAMETERS = len(PARAMETER_NAMES)

_UPPER = np.triu_indices(3)


def symmetric_from_six(six: ArrayLike) -> FloatArray:
    """The symmetric 3x3 matrix of (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = np.asarray(six, dtype=np.float64).tolist()
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_from_symmetric(matrix: FloatArray) -> FloatArray:
    """(xx, xy, xz, yy, yz, zz) of a symmetric 3x3 matrix."""
    return np.ascontiguousarray(matrix[_UPPER])


def about_com(vector: FloatArray) -> FloatArray:
    """(m, c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) about the centre of mass, of an inertial vector (10,) with a mass.

    Both are not checked. Entry by entry, by Steiner's theorem: an estimator asks for it all the time.
    """
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = vector.tolist()
    x, y, z = hx / m, hy / m, hz / m
    xx, yy, zz = xx - hy * y - hz * z, yy - hx * x - hz * z, zz - hx * x - hy * y
    return np.array([m, x, y, z, xx, xy + hx * y, xz + hx * z, yy, yz + hy * z, zz])


def _pseudo_inertia(vector: FloatArray) -> FloatArray:
    """[[Sigma, m c], [m c', m]] (4, 4) of an inertial vector, in which it is linear."""
    inertia = symmetric_from_six(vector[4:])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = vector[1:4]
    J[3, 3] = vector[0]
    return J


UNIT_PSEUDO_INERTIAS = np.array([_pseudo_inertia(unit) for unit in np.eye(PARAMETERS)])
"""(10, 4, 4): the pseudo-inertia is the sum of these, times the entries of the inertial vector."""


def inertial_transport(T_a_b: FloatArray) -> FloatArray:
    """Lambda (10, 10): the inertial vector of a body in frame a is Lambda times that in frame b.

    Its transpose is lambda of Gautier and Khalil 1988, eqs. (17), (19) (document 004); this is eq. (22) with the first
    moment and the mass: the pseudo-inertia becomes T P T'.
    """
    moved = T_a_b @ UNIT_PSEUDO_INERTIAS @ T_a_b.T
    sigma = moved[:, :3, :3]
    J = np.trace(sigma, axis1=1, axis2=2)[:, None, None] * np.eye(3) - sigma
    return np.vstack([moved[:, 3, 3], moved[:, :3, 3].T, J[:, _UPPER[0], _UPPER[1]].T])


@dataclass(frozen=True, eq=False, init=False)
class InertialParameters(checks.Frozen):
    """Mass, centre of mass and inertia of one rigid body, in some frame.

    mass: kg. Any finite number: an estimate may be negative, `is_physical` tells.
    com: (3,), m, the centre of mass in the body's frame.
    inertia: (3, 3), kg m^2, **about the centre of mass**, along the axes of the body's frame.
    Raises ArgumentError: a shape is wrong, a value is not finite, or the inertia is not symmetric. Whether a body can
        exist is not asked here: see `is_physical`.
    """

    mass: float
    com: FloatArray
    inertia: FloatArray

    def __init__(self, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        matrix = checks.exactly(inertia, (3, 3), "inertia")
        if (asymmetry := np.abs(matrix - matrix.T).max()) > 1e-9 + 1e-6 * np.abs(matrix).max():
            raise ArgumentError(f"inertia: expected a symmetric matrix, got an asymmetry of {asymmetry:.3g}")
        object.__setattr__(self, "mass", checks.number(mass, "mass"))
        object.__setattr__(self, "com", checks.read_only(checks.exactly(com, (3,), "com")))
        object.__setattr__(self, "inertia", checks.read_only(0.5 * (matrix + matrix.T)))

    @classmethod
    def zero(cls) -> InertialParameters:
        """No body at all."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    @classmethod
    def from_vector(cls, vector: ArrayLike) -> InertialParameters:
        """The body of an inertial vector (10,): (m, m c, inertia about the frame's origin).

        Raises ArgumentError: `vector` is not a finite (10,) array, or has a first moment without a mass.
        """
        v = checks.exactly(vector, (10,), "vector")
        if v[0] == 0.0 and v[1:4].any():
            raise ArgumentError(f"vector: expected a zero first moment with zero mass, got {v[1:4].tolist()}")
        numbers = about_com(v) if v[0] else v + 0.0  # no -0
        return cls(numbers[0], numbers[1:4], symmetric_from_six(numbers[4:]))

    @property
    def vector(self) -> FloatArray:
        """Inertial vector (10,): (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz), inertia about the frame's origin.

        This is pi_i of De Luca (document 003, slide 4); the inertia follows by Steiner's theorem (slide 3).
        """
        about_origin = self.inertia + self.mass * (self.com @ self.com * np.eye(3) - np.outer(self.com, self.com))
        return np.concatenate(([self.mass], self.mass * self.com, six_from_symmetric(about_origin)))

    def is_physical(self, tolerance: float = 1e-3) -> bool:
        """Whether some distribution of non-negative mass has these parameters.

        The smallest second moment about the centre of mass may be negative by `tolerance` times the
        largest: published tables are rounded (Ledezma and Haddadin's, document 000, has four decimals), and link 2 of
        Gaz et al. lies on the boundary of the cone. A point mass may be one of a micrometre: its moments are rounding.
        """
        (smallest, _, largest), _ = second_moments(self.inertia)
        if self.mass <= 0.0:
            return self.mass == 0.0 and not self.inertia.any()
        return bool(smallest >= -tolerance * abs(largest) - 1e-12 * self.mass)

    def transformed(self, T_a_b: ArrayLike) -> InertialParameters:
        """The same body, given in frame b, expressed in frame a.

        Reference: document 000, S_c = S_H_i i_c and S_I = S_R_i i_I S_R_i^T. Its table has m c and the inertia about
        the joint's origin (docs/sources.md), which `from_vector` turns into c and the inertia about c.

        Raises ArgumentError: `T_a_b` is not a (4, 4) rigid transform.
        """
        T = checks.exactly(checks.rigid_transform(T_a_b, "T_a_b"), (4, 4), "T_a_b")
        R = T[:3, :3]
        return InertialParameters(self.mass, R @ self.com + T[:3, 3], R @ self.inertia @ R.T)

    def __add__(self, other: InertialParameters) -> InertialParameters:
        """Two bodies of one frame joined into one (De Luca, document 003, slide 20: how a payload changes its link)."""
        if not isinstance(other, InertialParameters):
            return NotImplemented
        return InertialParameters.from_vector(self.vector + other.vector)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InertialParameters):
            return NotImplemented
        return bool(np.array_equal(self.vector, other.vector))

    def __hash__(self) -> int:
        return hash(tuple(self.vector.tolist()))  # not of the bytes: 0.0 == -0.0 differ there


def second_moments(inertia: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal second moments of mass (3,), kg m^2, ascending, and their axes as columns (3, 3).

    Those of Sigma = tr(I)/2 1 - I; the triangle inequality of the inertia I (3, 3) says that none is negative.
    """
    return np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)


def require_physical(body: InertialParameters, name: str, *, strict: bool = True) -> InertialParameters:
    """`body`, if some distribution of mass has it (see `InertialParameters.is_physical`).

    Otherwise a RobotDescriptionError where `strict`, or the mass is negative; else the nearest one that has, with a
    warning that states the change: negative second moments about the CoM become zero (Sigma is projected on the
    positive semi-definite matrices), and an inertia without mass becomes no body at all.
    """
    if body.is_physical():
        return body
    moments, axes = second_moments(body.inertia)
    nearest = np.maximum(moments, 0.0)
    before, after = (values.round(6).tolist() for values in (moments, nearest))
    if strict or body.mass < 0.0:
        got = f"mass {body.mass:g} kg and second moments about the CoM of {before} kg m^2"
        raise RobotDescriptionError(f"{name}: expected a body that some distribution of mass has, got {got}")
    change = f"its second moments about the CoM, {before} kg m^2, are taken as {after}"
    change = change if body.mass else "its inertia without mass is left out"
    warnings.warn(f"{name}: no distribution of mass has this body; {change}", stacklevel=2)
    sigma = axes @ np.diag(nearest) @ axes.T
    inertia = np.trace(sigma) * np.eye(3) - sigma
    return InertialParameters(body.mass, body.com, inertia) if body.mass else InertialParameters.zero()
