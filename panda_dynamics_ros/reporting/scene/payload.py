# SPDX-License-Identifier: Apache-2.0
"""The estimated payload as primitives: its centre of mass with the uncertainty, and the box of equal inertia."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.estimation.estimate import com_covariance
from panda_dynamics_ros.reporting.scene.primitives import (
    Box,
    Colour,
    Cylinder,
    Ellipsoid,
    Label,
    Primitive,
    along,
    placed,
    translation,
)

SMALLEST, LARGEST = 0.005, 0.5  # m, of anything drawn
ELLIPSOID_95 = 2.795  # sqrt of the 95 % quantile of chi squared with 3 degrees of freedom
LABEL_HEIGHT = 0.035  # m
CENTRE: Colour = (0.85, 0.20, 0.10, 1.0)
UNCERTAINTY: Colour = (0.95, 0.55, 0.10, 0.30)
BODY: Colour = (0.20, 0.45, 0.85, 0.40)
MOMENTS = [4, 7, 9]  # Ixx, Iyy, Izz in the inertial vector
TEXT: Colour = (0.10, 0.12, 0.15, 1.0)


def payload_primitives(estimate: PayloadEstimate) -> tuple[Primitive, ...]:
    """CoM, its 95 % ellipsoid, the equivalent box and the mass in words, in the flange frame; layer `payload`.

    Nothing is drawn where nothing is carried (`PayloadEstimate.is_carried`), and no box before the moments of inertia
    are identifiable.
    """
    if not estimate.is_carried:
        return ()
    com = estimate.com
    variances, axes = _principal(com_covariance(estimate.mass, com, estimate.covariance))
    half_axes = np.clip(ELLIPSOID_95 * np.sqrt(np.maximum(variances, 0.0)), SMALLEST, LARGEST)
    length = float(np.linalg.norm(com))
    mass = f"{estimate.mass:.2f} ± {estimate.mass_margin:.2f} kg"
    primitives: list[Primitive] = [
        Ellipsoid("payload/com", "flange", translation(com), CENTRE, np.full(3, 0.011)),
        Ellipsoid("payload/uncertainty", "flange", placed(axes, com), UNCERTAINTY, half_axes),
        Label("payload/mass", "flange", translation(com + np.array([0.0, 0.0, 0.08])), TEXT, mass, LABEL_HEIGHT),
    ]
    if estimate.identifiable[MOMENTS].all():
        axes, edges = equivalent_box(estimate.inertia, estimate.mass)
        primitives.append(Box("payload/box", "flange", placed(axes, com), BODY, edges))
    if length > SMALLEST:
        primitives.append(Cylinder("payload/lever", "flange", along(com, 0.5 * com), CENTRE, 0.004, length))
    return tuple(primitives)


def equivalent_box(inertia: FloatArray, mass: float) -> tuple[FloatArray, FloatArray]:
    """Axes (3, 3) and edge lengths (3,), m, of the homogeneous box with this mass and inertia about its centre.

    With principal second moments s = tr(I)/2 - I_k the edges are sqrt(12 s / m).
    """
    moments, axes = _principal(inertia)
    second = 0.5 * moments.sum() - moments
    return axes, np.clip(np.sqrt(12.0 * np.maximum(second, 0.0) / mass), SMALLEST, LARGEST)


def _principal(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and right-handed eigenvectors of a symmetric matrix (3, 3)."""
    values, axes = np.linalg.eigh(matrix)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return values, axes
